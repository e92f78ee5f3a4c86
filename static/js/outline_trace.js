// A line traced by hand, and the few corners it becomes. Its raw points are kept, so that it can be made finer or
// coarser afterwards without losing anything.

import { checkOutline, crossingsOf, MAX_CORNERS, segmentsMeet, simplify } from "./geometry.js";
import * as drawings from "./outline_drawing.js";

/** @import { Line, Point } from "./geometry_plane.js" */
/** @import { Drawing, Size } from "./outline_drawing.js" */
/** @import { ModelEvents, OutlineModel } from "./outline_model.js" */
/** @typedef {{drawing: Drawing, tolerance: number, corners: number}} TracedDrawing with the tolerance in image pixels */

// How far a traced line may lie from its corners, in pixels of a picture of REFERENCE_SIDE.
export const TOLERANCES = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6];
const FINEST = TOLERANCES[0];
const COARSEST = TOLERANCES[TOLERANCES.length - 1];
export const REFERENCE_SIDE = 299;
const HALVINGS = 6;

/**
 * The tolerance next to one, finer or coarser; the same one at either end.
 * @param {number} tolerance
 * @param {boolean} coarser
 */
export function nextTolerance(tolerance, coarser) {
  if (coarser) return TOLERANCES.find((one) => one > tolerance) ?? COARSEST;
  return TOLERANCES.findLast((one) => one < tolerance) ?? FINEST;
}

/** Traces lines into a model, and draws the last one again with fewer corners or more. */
export class Tracer {
  #model;
  #image;
  #on;
  #tolerance = 1;
  /** @type {TracedDrawing & {trace: Trace} | null} */
  #last = null;

  /**
   * @param {OutlineModel} model
   * @param {Size} image
   * @param {ModelEvents} on
   */
  constructor(model, image, on) {
    this.#model = model;
    this.#image = image;
    this.#on = on;
  }

  /** How far a traced line may lie from its corners, in pixels of a picture of REFERENCE_SIDE. */
  get tolerance() {
    return this.#tolerance;
  }

  set tolerance(tolerance) {
    this.#tolerance = Math.min(COARSEST, Math.max(FINEST, tolerance));
  }

  /** The line traced last, as long as nothing was changed after it. */
  get last() {
    return this.#last?.drawing === this.#model.present ? this.#last : null;
  }

  /**
   * Show a line while it is traced.
   * @param {Line} points
   */
  preview(points) {
    const line = simplify(points, this.#inPixels(this.#tolerance));
    this.#model.preview(drawings.withAdded(this.#model.present, line), null);
  }

  /**
   * Draw a traced line; it closes its ring where both ends lie within `reach` image pixels and it was away in between.
   * @param {Line} points
   * @param {number} reach
   */
  draw(points, reach) {
    const before = this.#model.present;
    const line = [...before.open, ...simplify(points, this.#inPixels(1))];
    const [start, end] = [line[0], line[line.length - 1]];
    const closes = line.length > 3 && Math.hypot(start[0] - end[0], start[1] - end[1]) <= reach;
    const { corners } = this.#commit(new Trace(before, points, closes));
    if (closes) this.#on.say("closed", { ring: before.rings.length + 1, corners });
    else this.#on.say("placed", { corner: corners, point: points[points.length - 1] });
  }

  /**
   * Draw the last line with fewer corners or more; returns whether there is one.
   * @param {boolean} coarser
   */
  refine(coarser) {
    const { last } = this;
    if (!last) return false;
    this.#tolerance = nextTolerance(this.#tolerance, coarser);
    const { corners, tolerance } = this.#commit(last.trace);
    this.#on.say("fine", { corners, tolerance });
    return true;
  }

  /** Leave the last line as it is. */
  end() {
    this.#last = null;
    this.#on.redraw();
  }

  /**
   * Drawn again with another tolerance, a line is still the same step of the history.
   * @param {Trace} trace
   */
  #commit(trace) {
    const traced = trace.drawn(this.#inPixels(this.#tolerance));
    this.#last = { trace, ...traced };
    this.#model.deselect();
    this.#model.commit(traced.drawing, trace);
    return traced;
  }

  /**
   * Pixels of this picture for pixels of one that is REFERENCE_SIDE wide.
   * @param {number} value
   */
  #inPixels(value) {
    return (value * Math.max(this.#image.width, this.#image.height)) / REFERENCE_SIDE;
  }
}

export class Trace {
  /**
   * @param {Drawing} before what was traced upon
   * @param {Line} points the raw line
   * @param {boolean} closes whether it ends where it began
   */
  constructor(before, points, closes) {
    this.before = before;
    this.closes = closes;
    this.points = closes && !before.open.length ? withoutOverlap(points) : points;
    const ys = this.points.map(([, y]) => y);
    /** Where the line is highest and lowest, in image pixels. */
    this.span = /** @type {const} */ ([Math.min(...ys), Math.max(...ys)]);
  }

  /**
   * The ring with as few corners as lie within `wanted` image pixels of the line, and no crossing that the hand did not
   * make: where one would appear, the tolerance is made smaller until it is gone.
   * @param {number} wanted
   * @returns {TracedDrawing}
   */
  drawn(wanted) {
    /** @type {{line: Line, tolerance: number, faults: number} | null} */
    let best = null;
    for (const tolerance of smallerAndSmaller(wanted)) {
      const line = this.#line(tolerance);
      const faults = this.#faults(line);
      if (!best || faults < best.faults) best = { line, tolerance, faults };
      if (!faults) break;
    }
    const { line, tolerance } = /** @type {NonNullable<typeof best>} */ (best);
    const open = { ...this.before, open: line };
    return { drawing: this.closes ? drawings.closed(open) : open, tolerance, corners: line.length };
  }

  /** @param {number} tolerance */
  #line(tolerance) {
    const { open } = this.before;
    if (!this.closes) return [...open, ...simplify(this.points, tolerance)];
    const backAtStart = [...this.points, open[0] ?? this.points[0]];
    return [...open, ...simplify(backAtStart, tolerance).slice(0, -1)];
  }

  /**
   * How many crossings there are; without end where the ring could not be sent for another reason.
   * @param {Line} line
   */
  #faults(line) {
    const { rings } = this.before;
    if (line.length > MAX_CORNERS - rings.flat().length) return Infinity;
    if (!this.closes) return crossingsOf(line, false).length;
    const { code, crossings } = checkOutline([line], Infinity, Infinity);
    return code && !crossings.length ? Infinity : crossings.length;
  }
}

/** @param {number} tolerance */
function* smallerAndSmaller(tolerance) {
  for (let halving = 0; halving <= HALVINGS; halving += 1) yield tolerance / 2 ** halving;
  yield 0;
}

/**
 * A hand that goes past its start crosses its own first strokes: the loose ends beyond the crossing go.
 * @param {Line} points
 */
function withoutOverlap(points) {
  const reach = Math.min(points.length / 4, 200);
  for (let start = 0; start < reach; start += 1) {
    for (let end = points.length - 2; end > points.length - 2 - reach; end -= 1) {
      const meet = end > start + 2 && segmentsMeet(points[start], points[start + 1], points[end], points[end + 1]);
      if (meet) return points.slice(start + 1, end + 1);
    }
  }
  return points;
}

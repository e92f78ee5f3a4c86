// A line traced by hand, and the few corners it becomes. Its raw points are kept, so that it can be made finer or
// coarser afterwards without losing anything.

import { checkOutline, crossingsOf, MAX_CORNERS, segmentsMeet, simplify } from "./geometry.js";
import * as model from "./outline_model.js";

// How far a traced line may lie from its corners, in pixels of a picture of REFERENCE_SIDE.
export const TOLERANCES = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6];
export const REFERENCE_SIDE = 299;
const HALVINGS = 6;

/** The tolerance next to one, finer or coarser; the same one at either end. */
export function nextTolerance(tolerance, coarser) {
  if (coarser) return TOLERANCES.find((one) => one > tolerance) ?? TOLERANCES.at(-1);
  return TOLERANCES.findLast((one) => one < tolerance) ?? TOLERANCES[0];
}

export class Trace {
  /** `before`: the drawing that was traced upon; `points`: the raw line; `closes`: whether it ends where it began. */
  constructor(before, points, closes) {
    this.before = before;
    this.closes = closes;
    this.points = closes && !before.open.length ? withoutOverlap(points) : points;
    const ys = this.points.map(([, y]) => y);
    /** Where the line is highest and lowest, in image pixels. */
    this.span = [Math.min(...ys), Math.max(...ys)];
  }

  /**
   * {drawing, tolerance, corners}: the ring with as few corners as lie within `wanted` image pixels of the line, and
   * no crossing that the hand did not make: where one would appear, the tolerance is made smaller until it is gone.
   */
  drawn(wanted) {
    let best = { faults: Infinity };
    for (const tolerance of smallerAndSmaller(wanted)) {
      const line = this.#line(tolerance);
      const faults = this.#faults(line);
      if (!best.line || faults < best.faults) best = { line, tolerance, faults };
      if (!faults) break;
    }
    const open = { ...this.before, open: best.line };
    return { drawing: this.closes ? model.closed(open) : open, tolerance: best.tolerance, corners: best.line.length };
  }

  #line(tolerance) {
    const { open } = this.before;
    if (!this.closes) return [...open, ...simplify(this.points, tolerance)];
    const backAtStart = [...this.points, open[0] ?? this.points[0]];
    return [...open, ...simplify(backAtStart, tolerance).slice(0, -1)];
  }

  /** How many crossings there are; without end where the ring could not be sent for another reason. */
  #faults(line) {
    const { rings } = this.before;
    if (line.length > MAX_CORNERS - rings.flat().length) return Infinity;
    if (!this.closes) return crossingsOf(line, false).length;
    const { code, crossings } = checkOutline([line], Infinity, Infinity);
    return code && !crossings.length ? Infinity : crossings.length;
  }
}

function* smallerAndSmaller(tolerance) {
  for (let halving = 0; halving <= HALVINGS; halving += 1) yield tolerance / 2 ** halving;
  yield 0;
}

/** A hand that goes past its start crosses its own first strokes: the loose ends beyond the crossing go. */
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

// Gestures: what a press on something becomes while it moves and when it ends.

import * as drawings from "./outline_drawing.js";
import { CORNER_REACH } from "./outline_hits.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { Place } from "./outline_drawing.js" */
/** @import { EdgeHit } from "./outline_hits.js" */
/** @import { OutlineModel } from "./outline_model.js" */
/** @import { Tracer } from "./outline_trace.js" */
/** @import { Interaction, OutlineView } from "./outline_view.js" */
/**
 * @typedef {object} Gesture
 * @property {(to: Point, event: PointerEvent) => void} move to a screen point
 * @property {(at: Point, event: PointerEvent) => void} end
 * @property {() => void} [cancel]
 * @property {() => void} [lift] one of several fingers; only a pinch has it
 */
/** @typedef {{model: OutlineModel, tracer: Tracer, view: OutlineView, interaction: Interaction}} EditorParts */

// Screen pixels a press may wander before it is a drag.
/** @type {Record<string, number>} */
const SLOP = { mouse: 3, pen: 6, touch: 10 };
const LONG_PRESS_MS = 600;
const DOUBLE_CLICK_MS = 400;
const DOUBLE_CLICK_PX = 4;

/** The gestures of one pointer in one editor. Each begins with the press that it is made for. */
export class Gestures {
  #model;
  #tracer;
  #view;
  #interaction;
  #onLongPress;
  /** @type {{time: number, screen: Point}} */
  #lastPlaced = { time: -Infinity, screen: [0, 0] };

  /**
   * @param {EditorParts} parts
   * @param {(place: Place) => void} onLongPress on a corner
   */
  constructor({ model, tracer, view, interaction }, onLongPress) {
    this.#model = model;
    this.#tracer = tracer;
    this.#view = view;
    this.#interaction = interaction;
    this.#onLongPress = onLongPress;
  }

  /**
   * @param {Place} place
   * @param {Point} screen
   * @param {PointerEvent} event
   * @returns {Gesture}
   */
  dragCorner(place, screen, event) {
    const before = this.#model.present;
    const corner = /** @type {Point} */ (drawings.cornerAt(before, place));
    const grip = this.#view.viewport.toImage(...screen);
    const press = pressed(screen, event);
    const timer = event.pointerType === "mouse" ? 0 : setTimeout(() => this.#onLongPress(place), LONG_PRESS_MS);
    this.#view.magnify(corner, screen, event);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        clearTimeout(timer);
        const [x, y] = this.#view.viewport.toImage(...to);
        const point = this.#model.inside([corner[0] + x - grip[0], corner[1] + y - grip[1]]);
        this.#model.preview(drawings.withCorner(before, place, point), place);
        this.#view.magnify(point, to, event);
      },
      end: (_, up) => {
        clearTimeout(timer);
        if (press.moved) this.#model.keepMoved();
        else this.#clickCorner(place, screen, up);
      },
      cancel: () => clearTimeout(timer),
    };
  }

  /**
   * @param {Place} place
   * @param {Point} screen
   * @param {PointerEvent} event
   */
  #clickCorner(place, screen, event) {
    const { present } = this.#model;
    const inOpen = drawings.isOpen(present, place.ring) && present.open.length >= 3;
    const isLast = place.corner === present.open.length - 1;
    if (inOpen && (place.corner === 0 || (isLast && this.#isDoubleClick(screen, event)))) this.#model.close();
    else this.#model.select(place);
  }

  /**
   * The same place within a moment. Two quick clicks near one another are two corners, or one and its choice.
   * @param {Point} at
   * @param {PointerEvent} event
   */
  #isDoubleClick([x, y], { timeStamp }) {
    const { time, screen } = this.#lastPlaced;
    return timeStamp - time < DOUBLE_CLICK_MS && Math.hypot(x - screen[0], y - screen[1]) <= DOUBLE_CLICK_PX;
  }

  /**
   * @param {EdgeHit} edge
   * @param {Point} screen
   * @param {PointerEvent} event
   * @returns {Gesture}
   */
  dragEdge({ place, point: onEdge }, screen, event) {
    const before = this.#model.present;
    const press = pressed(screen, event);
    this.#view.magnify(onEdge, screen, event);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        const point = this.#view.imagePoint(to);
        this.#model.preview(drawings.withInserted(before, place, point), place);
        this.#view.magnify(point, to, event);
      },
      end: (to) => this.#model.insert(place, press.moved ? this.#view.imagePoint(to) : this.#model.inside(onEdge)),
    };
  }

  /**
   * Trace a line, or place a corner where the pointer does not move.
   * @param {Point} screen
   * @param {PointerEvent} event
   * @returns {Gesture}
   */
  trace(screen, event) {
    const press = pressed(screen, event);
    const points = [this.#view.imagePoint(screen)];
    this.#view.magnify(points[0], screen, event);
    return {
      move: (to, moved) => {
        if (!press.movedTo(to)) return;
        const steps = moved.getCoalescedEvents?.() ?? [];
        const screens = steps.length ? steps.map((step) => this.#view.screenPoint(step)) : [to];
        points.push(...screens.map((step) => this.#view.imagePoint(step)));
        this.#tracer.preview(points);
        this.#view.magnify(points[points.length - 1], to, event);
      },
      end: (_, up) => {
        // The hand need not meet the start of its ring exactly.
        if (press.moved) this.#tracer.draw(points, (2 * CORNER_REACH[event.pointerType]) / this.#view.viewport.scale);
        else this.#placeAt(points[0], screen, up);
      },
    };
  }

  /**
   * @param {Point} point
   * @param {Point} screen
   * @param {PointerEvent} event
   */
  #placeAt(point, screen, { timeStamp }) {
    this.#lastPlaced = { time: timeStamp, screen };
    this.#model.place(point);
  }

  /**
   * Move the picture, or place a corner where the pointer does not move.
   * @param {Point} screen
   * @param {PointerEvent} event
   * @returns {Gesture}
   */
  panOrPlace(screen, event) {
    const point = this.#view.imagePoint(screen);
    return this.panOr(screen, event, (up) => this.#placeAt(point, screen, up));
  }

  /**
   * Move the picture; a press that goes nowhere does something else.
   * @param {Point} screen
   * @param {PointerEvent} event
   * @param {(up: PointerEvent) => void} act
   * @returns {Gesture}
   */
  panOr(screen, event, act) {
    const press = pressed(screen, event);
    const pan = this.pan(screen);
    return {
      move: (to) => press.movedTo(to) && pan.move(to),
      end: (_, up) => {
        pan.end();
        if (!press.moved) act(up);
      },
      cancel: pan.cancel,
    };
  }

  /**
   * Move the picture: what is under the pointer stays under it.
   * @param {Point} screen
   */
  pan(screen) {
    const { viewport, surface } = this.#view;
    const held = viewport.toImage(...screen);
    if (this.#interaction.space) this.#interaction.space.panned = true;
    surface.classList.add("is-panning");
    const stop = () => surface.classList.remove("is-panning");
    const move = (/** @type {Point} */ to) => {
      viewport.place(held, ...to, viewport.scale);
      this.#view.look();
    };
    return { move, end: stop, cancel: stop };
  }
}

/**
 * A press that has not moved yet: a shaking hand is no drag.
 * @param {Point} start
 * @param {PointerEvent} event
 */
function pressed(start, { pointerType }) {
  const slop = SLOP[pointerType] ?? SLOP.mouse;
  return {
    moved: false,
    /** @param {Point} to */
    movedTo([x, y]) {
      this.moved ||= Math.hypot(x - start[0], y - start[1]) > slop;
      return this.moved;
    },
  };
}

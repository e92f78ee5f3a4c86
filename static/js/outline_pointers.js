// Mouse, pen and fingers on the surface of an editor: which gesture a press begins, and who follows it.

import { Gestures } from "./outline_gestures.js";
import { listenToMouse } from "./outline_mouse.js";
import { pinch } from "./outline_touch.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { EditorParts } from "./outline_gestures.js" */

export class Pointers {
  #model;
  #view;
  #interaction;
  #gestures;
  #onIgnored;
  /** @type {Map<number, Point>} */
  #down = new Map(); // pointers that are down: id -> screen point

  /**
   * @param {EditorParts} parts
   * @param {() => void} onIgnored hears of a press that would place a corner, were the editor enabled
   * @param {AbortSignal} signal ends the listening
   */
  constructor(parts, onIgnored, signal) {
    this.#onIgnored = onIgnored;
    this.#model = parts.model;
    this.#view = parts.view;
    this.#interaction = parts.interaction;
    this.#gestures = new Gestures(parts, (corner) => {
      this.abandon();
      this.#model.remove(corner);
    });
    const { surface } = this.#view;
    surface.addEventListener("pointerdown", (event) => this.#press(event), { signal });
    surface.addEventListener("pointermove", (event) => this.#move(event), { signal });
    surface.addEventListener("pointerup", (event) => this.#lift(event), { signal });
    surface.addEventListener("pointercancel", (event) => this.#lose(event), { signal });
    surface.addEventListener("lostpointercapture", (event) => this.#lose(event), { signal });
    surface.addEventListener("pointerleave", () => this.#leave(), { signal });
    listenToMouse(this.#view, signal);
  }

  /** Drop what a gesture has changed so far. The pointers stay known until they are lifted. */
  abandon() {
    this.#interaction.gesture?.cancel?.();
    this.#interaction.gesture = null;
    this.#view.loupe.hide();
    this.#model.dropPreview();
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const screen = this.#view.screenPoint(event);
    this.#interaction.crosshair = false;
    this.#view.surface.setPointerCapture(event.pointerId);
    this.#down.set(event.pointerId, screen);
    if (this.#down.size > 1) {
      this.abandon();
      this.#interaction.gesture = pinch(this.#view.viewport, this.#down, () => this.#view.look());
      return;
    }
    this.#interaction.gesture = this.#gestureFor(event, screen);
    this.#view.redraw();
  }

  /**
   * @param {PointerEvent} event
   * @param {Point} screen
   */
  #gestureFor(event, screen) {
    const { enabled, panning, space } = this.#interaction;
    if (event.button === 1 || space) return this.#gestures.pan(screen);
    if (!enabled) return this.#gestures.panOr(screen, event, this.#onIgnored);
    const hit = this.#view.hit(screen, event.pointerType);
    if (event.button === 2 || (event.button === 0 && event.ctrlKey)) {
      if (hit.kind === "corner") this.#model.remove(hit.place);
      return null;
    }
    if (event.button !== 0) return null;
    if (hit.kind === "corner") return this.#gestures.dragCorner(hit.place, screen, event);
    if (hit.kind === "edge") return this.#gestures.dragEdge(hit, screen, event);
    return panning ? this.#gestures.panOrPlace(screen, event) : this.#gestures.trace(screen, event);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const screen = this.#view.screenPoint(event);
    if (this.#down.has(event.pointerId)) this.#down.set(event.pointerId, screen);
    this.#interaction.hover = event.pointerType === "touch" ? null : screen;
    if (this.#interaction.gesture) this.#interaction.gesture.move(screen, event);
    else this.#view.redraw();
  }

  /** @param {PointerEvent} event */
  #lift(event) {
    if (!this.#down.delete(event.pointerId)) return;
    const { gesture } = this.#interaction;
    // A pinch lasts until the last finger is gone, so that lifting them one by one never draws.
    if (gesture?.lift && this.#down.size) {
      gesture.lift();
      return;
    }
    this.#interaction.gesture = null;
    gesture?.end(this.#view.screenPoint(event), event);
    this.#view.loupe.hide();
    this.#view.redraw();
  }

  /** @param {PointerEvent} event */
  #lose(event) {
    if (!this.#down.delete(event.pointerId)) return;
    const { gesture } = this.#interaction;
    if (gesture?.lift && this.#down.size) gesture.lift();
    else this.abandon();
  }

  #leave() {
    this.#interaction.hover = null;
    this.#view.redraw();
  }
}

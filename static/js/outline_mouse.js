// What only a mouse or a touchpad has: a wheel, and buttons with a meaning of their own in browsers.

/** @import { OutlineView } from "./outline_view.js" */

// A wheel turned by this much is one step of zoom; a line of a wheel that counts lines; a pinch on a touchpad.
const WHEEL_STEP_PX = 100;
const WHEEL_LINE_PX = 40;
const TOUCHPAD_PINCH = 5;

/**
 * Let the wheel zoom, and keep the browser from what its buttons do elsewhere.
 * @param {OutlineView} view
 * @param {AbortSignal} signal
 */
export function listenToMouse(view, signal) {
  const wheel = new Wheel();
  const { surface } = view;
  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const steps = wheel.stepsOf(event);
      if (!steps) return;
      view.viewport.zoomBy(steps, ...view.screenPoint(event));
      view.look();
    },
    { passive: false, signal },
  );
  surface.addEventListener("contextmenu", (event) => event.preventDefault(), { signal });
  surface.addEventListener("dragstart", (event) => event.preventDefault(), { signal });
  // The middle button would start the browser's own scrolling.
  surface.addEventListener("mousedown", (event) => event.button === 1 && event.preventDefault(), { signal });
}

/** Steps of zoom: a notch of a wheel is one; on a touchpad, as much movement as a notch. */
export class Wheel {
  #turned = 0; // what is left over from the last step

  /** @param {{deltaY: number, deltaMode: number, ctrlKey: boolean}} event */
  stepsOf({ deltaY, deltaMode, ctrlKey }) {
    // Browsers report a pinch on a touchpad as a wheel with Ctrl and small numbers. 1 is WheelEvent.DOM_DELTA_LINE.
    const unit = deltaMode === 1 ? WHEEL_LINE_PX : ctrlKey ? TOUCHPAD_PINCH : 1;
    const turn = (-deltaY * unit) / WHEEL_STEP_PX;
    const turned = turn * this.#turned < 0 ? turn : this.#turned + turn;
    const steps = Math.trunc(turned);
    this.#turned = turned - steps;
    return steps;
  }
}

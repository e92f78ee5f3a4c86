// Two fingers on the picture.

import { middle } from "./outline_hits.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { Gesture } from "./outline_gestures.js" */
/** @import { Viewport } from "./outline_viewport.js" */

/**
 * Two fingers zoom freely; lifted, they leave the nearest whole number.
 * @param {Viewport} viewport
 * @param {Map<number, Point>} pointers those that are down, by id
 * @param {() => void} onMove follows each step
 * @returns {Gesture}
 */
export function pinch(viewport, pointers, onMove) {
  let grip = gripOf(viewport, pointers);
  const settle = () => {
    viewport.settle(...grip.between);
    onMove();
  };
  return {
    move: () => {
      const { between, spread } = fingers(pointers);
      const scale = grip.spread ? (grip.scale * spread) / grip.spread : grip.scale;
      grip.between = between;
      viewport.place(grip.held, ...between, scale);
      onMove();
    },
    lift: () => {
      settle();
      grip = gripOf(viewport, pointers);
    },
    end: settle,
    cancel: settle,
  };
}

/**
 * @param {Viewport} viewport
 * @param {Map<number, Point>} pointers
 */
function gripOf(viewport, pointers) {
  const { between, spread } = fingers(pointers);
  return { between, spread, held: viewport.toImage(...between), scale: viewport.scale };
}

/** @param {Map<number, Point>} pointers */
function fingers(pointers) {
  const [one, other] = [...pointers.values()];
  if (!other) return { between: one, spread: 0 };
  return { between: middle(one, other), spread: Math.hypot(one[0] - other[0], one[1] - other[1]) };
}

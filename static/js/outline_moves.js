// Gestures that show another part of the picture and leave the drawing alone.

import { middle } from "./outline_hits.js";

/** What is under the pointer stays under it. `onMove()` follows each step; `surface` says that it is held. */
export function pan(viewport, screen, surface, onMove) {
  const held = viewport.toImage(...screen);
  surface.classList.add("is-panning");
  const stop = () => surface.classList.remove("is-panning");
  return {
    move: (to) => {
      viewport.place(held, ...to, viewport.scale);
      onMove();
    },
    end: stop,
    cancel: stop,
  };
}

/** Two fingers zoom freely; lifted, they leave the nearest whole number. `pointers`: those that are down, by id. */
export function pinch(viewport, pointers, onMove) {
  let grip = gripOf(viewport, pointers);
  const settle = () => {
    viewport.settle(...grip.between);
    onMove();
  };
  return {
    isPinch: true,
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

function gripOf(viewport, pointers) {
  const { between, spread } = fingers(pointers);
  return { between, spread, held: viewport.toImage(...between), scale: viewport.scale };
}

function fingers(pointers) {
  const [one, other] = [...pointers.values()];
  if (!other) return { between: one, spread: 0 };
  return { between: middle(one, other), spread: Math.hypot(one[0] - other[0], one[1] - other[1]) };
}

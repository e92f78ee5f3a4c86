// What lies under a screen point: a corner before an edge before the canvas.

import { distanceToSegment, nearestOnSegment } from "./geometry.js";
import * as model from "./outline_model.js";

// Screen pixels. A finger gets 44 px: 22 in every direction.
export const CORNER_REACH = { mouse: 8, pen: 12, touch: 22 };
const EDGE_REACH = { mouse: 6, pen: 8, touch: 12 };
const SHORTEST_EDGE_WITH_GHOST = 56;

/**
 * {kind: "corner", place}, {kind: "edge", place, point} or {kind: "canvas"}: for an edge, the place that a
 * new corner would take and the image point where it would lie.
 */
export function under(drawing, selected, viewport, screen, pointerType) {
  const point = viewport.toImage(...screen);
  const cornerReach = CORNER_REACH[pointerType] ?? CORNER_REACH.mouse;
  const edgeReach = EDGE_REACH[pointerType] ?? EDGE_REACH.mouse;
  const place = cornerNear(drawing, viewport, point, cornerReach);
  if (place) return { kind: "corner", place };
  const ghost = ghosts(drawing, selected, viewport).find((one) => viewport.apart(one.point, point) <= cornerReach);
  const edge = ghost ?? edgeNear(drawing, point, edgeReach / viewport.scale);
  return edge ? { kind: "edge", ...edge } : { kind: "canvas" };
}

/** Handles in the middle of the edges beside the selected corner, for fingers that cannot hover. */
export function ghosts(drawing, selected, viewport) {
  if (!selected) return [];
  return insertable(drawing)
    .filter(({ place, ends }) => place.ring === selected.ring && ends.includes(selected.corner))
    .filter(({ from, to }) => viewport.apart(from, to) >= SHORTEST_EDGE_WITH_GHOST)
    .map(({ place, from, to }) => ({ place, point: middle(from, to) }));
}

export function middle([ax, ay], [bx, by]) {
  return [(ax + bx) / 2, (ay + by) / 2];
}

function cornerNear(drawing, viewport, point, reach) {
  let best = { place: null, distance: reach };
  model.lines(drawing).forEach((line, ring) =>
    line.forEach((corner, index) => {
      const apart = viewport.apart(corner, point);
      // Where corners crowd together, the one that closes the ring is meant.
      const closes = index === 0 && model.isOpen(drawing, ring) && line.length >= 3 && apart <= reach;
      const distance = closes ? -1 : apart;
      if (distance <= best.distance) best = { place: { ring, corner: index }, distance };
    }),
  );
  return best.place;
}

function edgeNear(drawing, point, reach) {
  let best = { edge: null, distance: reach };
  for (const edge of insertable(drawing)) {
    const distance = distanceToSegment(point, edge.from, edge.to);
    if (distance <= best.distance) best = { edge, distance };
  }
  return best.edge && { place: best.edge.place, point: nearestOnSegment(point, best.edge.from, best.edge.to) };
}

/** The edges that take a corner by pointer: while a ring is drawn only its own, so that rings can lie close. */
function insertable(drawing) {
  return model.edges(drawing).filter(({ place }) => !drawing.open.length || model.isOpen(drawing, place.ring));
}

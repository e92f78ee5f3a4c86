// What lies under a screen point: a corner before an edge before the canvas.

import { distanceToSegment, nearestOnSegment } from "./geometry.js";
import * as drawings from "./outline_drawing.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { Drawing, Place } from "./outline_drawing.js" */
/** @import { Viewport } from "./outline_viewport.js" */
/** @typedef {{place: Place, point: Point}} EdgeHit the place that a new corner would take, and where it would lie */
/** @typedef {{kind: "corner", place: Place} | {kind: "edge"} & EdgeHit | {kind: "canvas"}} Hit what lies under a point */

// Screen pixels. A finger gets 44 px: 22 in every direction.
/** @type {Record<string, number>} */
export const CORNER_REACH = { mouse: 8, pen: 12, touch: 22 };
/** @type {Record<string, number>} */
const EDGE_REACH = { mouse: 6, pen: 8, touch: 12 };
const MIN_EDGE_WITH_GHOST_PX = 56;

/**
 * What lies under a point of the screen.
 * @param {Drawing} drawing
 * @param {Place | null} selected
 * @param {Viewport} viewport
 * @param {Point} screen
 * @param {string} pointerType
 * @returns {Hit}
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

/**
 * Handles in the middle of the edges beside the selected corner, for fingers that cannot hover.
 * @param {Drawing} drawing
 * @param {Place | null} selected
 * @param {Viewport} viewport
 * @returns {EdgeHit[]}
 */
export function ghosts(drawing, selected, viewport) {
  if (!selected) return [];
  return insertable(drawing)
    .filter(({ place, ends }) => place.ring === selected.ring && ends.includes(selected.corner))
    .filter(({ from, to }) => viewport.apart(from, to) >= MIN_EDGE_WITH_GHOST_PX)
    .map(({ place, from, to }) => ({ place, point: middle(from, to) }));
}

/**
 * @param {Point} a
 * @param {Point} b
 * @returns {Point}
 */
export function middle([ax, ay], [bx, by]) {
  return [(ax + bx) / 2, (ay + by) / 2];
}

/**
 * @param {Drawing} drawing
 * @param {Viewport} viewport
 * @param {Point} point
 * @param {number} reach
 */
function cornerNear(drawing, viewport, point, reach) {
  /** @type {{place: Place | null, distance: number}} */
  let best = { place: null, distance: reach };
  drawings.lines(drawing).forEach((line, ring) =>
    line.forEach((corner, index) => {
      const apart = viewport.apart(corner, point);
      // Where corners crowd together, the one that closes the ring is meant.
      const closes = index === 0 && drawings.isOpen(drawing, ring) && line.length >= 3 && apart <= reach;
      const distance = closes ? -1 : apart;
      if (distance <= best.distance) best = { place: { ring, corner: index }, distance };
    }),
  );
  return best.place;
}

/**
 * @param {Drawing} drawing
 * @param {Point} point
 * @param {number} reach
 * @returns {EdgeHit | null}
 */
function edgeNear(drawing, point, reach) {
  /** @type {{edge: drawings.DrawnEdge | null, distance: number}} */
  let best = { edge: null, distance: reach };
  for (const edge of insertable(drawing)) {
    const distance = distanceToSegment(point, edge.from, edge.to);
    if (distance <= best.distance) best = { edge, distance };
  }
  return best.edge && { place: best.edge.place, point: nearestOnSegment(point, best.edge.from, best.edge.to) };
}

/**
 * The edges that take a corner by pointer: while a ring is drawn only its own, so that rings can lie close.
 * @param {Drawing} drawing
 */
function insertable(drawing) {
  return drawings.edges(drawing).filter(({ place }) => !drawing.open.length || drawings.isOpen(drawing, place.ring));
}

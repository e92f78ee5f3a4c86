// The outline rules of the browser: the same checks, codes and rounding as labeling/outlines.py (R11).
// Both sides run tests/geometry_vectors.json. Inside this module coordinates are whole hundredths of a
// pixel; no corner lies further than MAX_COORDINATE_PX, so every product stays below 2**53 and is exact.

import { boxOf, clip, crossings, doubledArea, intersection, onOneLine, withoutRepeats } from "./geometry_plane.js";

/** @import { Box, Line, Point } from "./geometry_plane.js" */
/**
 * @typedef {object} Check what keeps an outline from being sent
 * @property {string | null} code null when it can be sent
 * @property {number | null} ring from 1; null for the whole outline
 * @property {Point[]} crossings in pixels
 * @property {Box | null} box in hundredths after clipping to the image; null when refused
 * @property {number | null} area twice the sum of the rings' areas, in hundredths after clipping; null when refused
 */
/** @typedef {{code: string, ring?: number, crossings?: Point[]}} Problem */

export const MAX_RINGS = 20;
export const MAX_CORNERS = 1000;
export const MAX_COORDINATE_PX = 100000;
const HUNDREDTHS = 100;

/**
 * Pixels to whole hundredths, halves towards plus infinity, by the decimal digits of the number.
 * @param {number} value
 */
export function quantise(value) {
  if (!Number.isFinite(value)) throw new RangeError("A coordinate must be a finite number.");
  const [mantissa, exponent] = String(Math.abs(value)).split("e");
  // JavaScript writes exponents below 1e-6, which is nothing, and from 1e21, which is whole.
  if (exponent !== undefined) return Number(exponent) < 0 ? 0 : value * HUNDREDTHS;
  const [whole, part = ""] = mantissa.split(".");
  const size = Number(whole) * HUNDREDTHS + Number(part.padEnd(2, "0").slice(0, 2));
  const rest = part.slice(2);
  const up = value < 0 ? /^(5.*[1-9]|[6-9])/.test(rest) : /^[5-9]/.test(rest);
  const rounded = up ? size + 1 : size;
  return value < 0 && rounded !== 0 ? -rounded : rounded;
}

/**
 * Check an outline given in image pixels.
 * @param {Line[]} rings
 * @param {number} width
 * @param {number} height
 * @returns {Check}
 */
export function checkOutline(rings, width, height) {
  const refused = shapeProblem(rings);
  if (refused) return { ...EMPTY, ...refused };
  const drawn = rings.map((ring) => withoutRepeats(ring.map(inHundredths)));
  for (const [index, ring] of drawn.entries()) {
    const problem = ringProblem(ring);
    if (problem) return { ...EMPTY, ring: index + 1, ...problem };
  }
  const inside = drawn.flatMap((ring) => clip(ring, width * HUNDREDTHS, height * HUNDREDTHS));
  if (!inside.length) return { ...EMPTY, code: "outline_outside" };
  const area = inside.reduce((sum, ring) => sum + Math.abs(doubledArea(ring)), 0);
  return { ...EMPTY, box: boxOf(inside), area };
}

/** @type {Check} */
const EMPTY = { code: null, ring: null, crossings: [], box: null, area: null };

/**
 * Where the edges of a ring, or of an open line of corners, meet: [x, y] in pixels.
 * @param {Line} corners
 * @param {boolean} closed
 */
export function crossingsOf(corners, closed) {
  const line = withoutRepeats(corners.map(inHundredths));
  return crossings(line, closed).map(inPixels);
}

/**
 * @param {Point} corner
 * @returns {Point}
 */
function inHundredths([x, y]) {
  return [quantise(x), quantise(y)];
}

/**
 * @param {Point} corner
 * @returns {Point}
 */
function inPixels([x, y]) {
  return [x / HUNDREDTHS, y / HUNDREDTHS];
}

/**
 * Douglas-Peucker: those of the given points that keep the line within `tolerance` of what it was. Every dropped
 * point lies that near to the segment drawn in its place, so neither line strays further from the other.
 * @param {Line} points
 * @param {number} tolerance
 */
export function simplify(points, tolerance) {
  if (points.length < 3) return points.slice();
  const kept = new Set([0, points.length - 1]);
  const spans = [[0, points.length - 1]];
  for (let span = spans.pop(); span; span = spans.pop()) {
    const [from, to] = span;
    const [index, distance] = farthest(points, from, to);
    if (distance <= tolerance) continue;
    kept.add(index);
    spans.push([from, index], [index, to]);
  }
  return points.filter((_, index) => kept.has(index));
}

/**
 * @param {Line} points
 * @param {number} from
 * @param {number} to
 */
function farthest(points, from, to) {
  let best = [from, 0];
  for (let index = from + 1; index < to; index += 1) {
    const distance = distanceToSegment(points[index], points[from], points[to]);
    if (distance > best[1]) best = [index, distance];
  }
  return best;
}

/**
 * Whether the segments a-b and c-d have a point in common; all in pixels.
 * @param {...Point} ends
 */
export function segmentsMeet(...ends) {
  const [a, b, c, d] = ends.map(inHundredths);
  return intersection({ a, b }, { a: c, b: d }) !== null;
}

/**
 * How far a point lies from the segment a-b.
 * @param {Point} point
 * @param {Point} a
 * @param {Point} b
 */
export function distanceToSegment(point, a, b) {
  const [x, y] = nearestOnSegment(point, a, b);
  return Math.hypot(point[0] - x, point[1] - y);
}

/**
 * The point of the segment a-b nearest to the given one.
 * @param {Point} point
 * @param {Point} a
 * @param {Point} b
 * @returns {Point}
 */
export function nearestOnSegment([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return [ax + along * dx, ay + along * dy];
}

// Refusals, in the order of the server.

/**
 * @param {unknown} rings
 * @returns {Problem | null}
 */
function shapeProblem(rings) {
  if (!Array.isArray(rings)) return { code: "outline_shape" };
  if (!rings.length) return { code: "outline_too_few_corners" };
  if (rings.length > MAX_RINGS) return { code: "outline_too_many_corners" };
  const misshapen = rings.findIndex((ring) => !Array.isArray(ring));
  if (misshapen >= 0) return { code: "outline_shape", ring: misshapen + 1 };
  const lengths = rings.map((/** @type {unknown[]} */ ring) => ring.length);
  if (lengths.reduce((sum, length) => sum + length, 0) > MAX_CORNERS) {
    return { code: "outline_too_many_corners", ring: lengths.indexOf(Math.max(...lengths)) + 1 };
  }
  return firstCornerProblem(rings);
}

/**
 * @param {unknown[][]} rings
 * @returns {Problem | null}
 */
function firstCornerProblem(rings) {
  for (const [index, ring] of rings.entries()) {
    for (const corner of ring) {
      const code = cornerProblem(corner);
      if (code) return { code, ring: index + 1 };
    }
  }
  return null;
}

/** @param {unknown} corner */
function cornerProblem(corner) {
  const isPair = Array.isArray(corner) && corner.length === 2 && corner.every((n) => typeof n === "number");
  if (!isPair) return "outline_shape";
  if (!corner.every(Number.isFinite)) return "outline_non_finite";
  return Math.max(...corner.map(Math.abs)) > MAX_COORDINATE_PX ? "outline_outside" : null;
}

/**
 * @param {Line} ring
 * @returns {Problem | null}
 */
function ringProblem(ring) {
  if (new Set(ring.map(String)).size < 3) return { code: "outline_too_few_corners" };
  if (onOneLine(ring)) return { code: "outline_zero_area" };
  const found = crossings(ring, true);
  if (!found.length) return null;
  return { code: "outline_self_crossing", crossings: found.map(inPixels) };
}

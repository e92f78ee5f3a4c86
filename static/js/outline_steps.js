// The steps of a history as changes, each from the drawing before it: small enough to be kept with a draft.

import { lines } from "./outline_drawing.js";

/** @import { Line } from "./geometry_plane.js" */
/** @import { Drawing } from "./outline_drawing.js" */
/** @typedef {{line: number, drop: number, lines: Line[]}} ChangedLines lines that take the place of `drop` lines */
/** @typedef {{line: number, corner: number, drop: number, corners: Line}} ChangedCorners the same within one line */
/** @typedef {ChangedLines | ChangedCorners} Change */
/** @typedef {{past: Change[], future: Change[]}} Steps from the present drawing, the nearest step first */
/** @typedef {{past: Drawing[], future: Drawing[]}} History the nearest step last */

// With a corner of about 15 bytes, the steps in one direction stay below 50 kB.
const MAX_STEPS = 200;
const MAX_KEPT_CORNERS = 2000;

/**
 * As many steps as fit, the nearest ones.
 * @param {Drawing} present
 * @param {History} history
 * @returns {Steps}
 */
export function packed(present, { past, future }) {
  return { past: changes(present, past.toReversed()), future: changes(present, future.toReversed()) };
}

/**
 * The steps as drawings again; null where this is not what was packed.
 * @param {Drawing} present
 * @param {unknown} steps
 * @returns {History | null}
 */
export function unpacked(present, steps) {
  try {
    const { past, future } = /** @type {Steps} */ (steps);
    return { past: drawingsAfter(present, past).toReversed(), future: drawingsAfter(present, future).toReversed() };
  } catch {
    return null;
  }
}

/**
 * @param {Drawing} first
 * @param {Drawing[]} steps
 */
function changes(first, steps) {
  const found = [];
  let before = first;
  let room = MAX_KEPT_CORNERS;
  for (const step of steps.slice(0, MAX_STEPS)) {
    const change = changeBetween(lines(before), lines(step));
    room -= "corners" in change ? change.corners.length : change.lines.flat().length;
    if (room < 0) break;
    found.push(change);
    before = step;
  }
  return found;
}

/**
 * @param {Line[]} before
 * @param {Line[]} after
 * @returns {Change}
 */
function changeBetween(before, after) {
  const { at: line, drop, put } = replaced(before, after, isSameLine);
  if (drop !== 1 || put.length !== 1) return { line, drop, lines: put };
  const { at: corner, drop: corners, put: added } = replaced(before[line], put[0], isSameCorner);
  return { line, corner, drop: corners, corners: added };
}

/**
 * What stands between the beginning and the end that two lists have in common.
 * @template Item
 * @param {Item[]} before
 * @param {Item[]} after
 * @param {(one: Item, other: Item) => boolean} isSame
 */
function replaced(before, after, isSame) {
  const most = Math.min(before.length, after.length);
  let at = 0;
  while (at < most && isSame(before[at], after[at])) at += 1;
  let end = 0;
  while (end < most - at && isSame(before[before.length - 1 - end], after[after.length - 1 - end])) end += 1;
  return { at, drop: before.length - at - end, put: after.slice(at, after.length - end) };
}

/**
 * @param {Line} one
 * @param {Line} other
 */
function isSameLine(one, other) {
  return one === other || (one.length === other.length && one.every((corner, at) => isSameCorner(corner, other[at])));
}

/**
 * @param {number[]} one
 * @param {number[]} other
 */
function isSameCorner(one, other) {
  return one === other || (one[0] === other[0] && one[1] === other[1]);
}

/**
 * @param {Drawing} first
 * @param {Change[]} steps
 */
function drawingsAfter(first, steps) {
  let all = lines(first);
  return steps.map((change) => {
    all = changed(all, change);
    return { rings: all.slice(0, -1), open: all[all.length - 1] };
  });
}

/**
 * @param {Line[]} all
 * @param {Change} change
 */
function changed(all, change) {
  if (!("corners" in change)) return all.toSpliced(change.line, change.drop, ...change.lines);
  return all.with(change.line, all[change.line].toSpliced(change.corner, change.drop, ...change.corners));
}

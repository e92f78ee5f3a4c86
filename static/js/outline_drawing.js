// What is drawn, without a screen: closed rings, the ring being drawn, and every step back and forth. A drawing is never
// changed in place, so a step of the history is a reference and costs nothing.

import { checkOutline, crossingsOf } from "./geometry.js";

/** @import { Line, Point } from "./geometry_plane.js" */
/** @typedef {{rings: Line[], open: Line}} Drawing closed rings and the unfinished one, in image pixels */
/** @typedef {{ring: number, corner: number}} Place a corner; `ring` equal to rings.length means the open one */
/** @typedef {{width: number, height: number}} Size in image pixels */
/** @typedef {{place: Place, ends: number[], from: Point, to: Point}} DrawnEdge with the place of a corner on it */
/**
 * @typedef {object} Problem what keeps a drawing from being sent
 * @property {string} code the server's
 * @property {string} label the name of the words for it
 * @property {number | null} ring from 1; null for the whole outline
 */
/** @typedef {{crossings: Point[], problem: Problem | null}} Findings */

/** @type {Drawing} */
export const NOTHING = Object.freeze({ rings: [], open: [] });

/**
 * All lines of corners: the closed rings, then the open one.
 * @param {Drawing} drawing
 */
export function lines({ rings, open }) {
  return [...rings, open];
}

/**
 * All edges: their ends, and the place a corner between them would take.
 * @param {Drawing} drawing
 * @returns {DrawnEdge[]}
 */
export function edges(drawing) {
  return lines(drawing).flatMap((line, ring) => {
    const count = isOpen(drawing, ring) ? Math.max(0, line.length - 1) : line.length;
    return line.slice(0, count).map((from, index) => {
      const next = (index + 1) % line.length;
      return { place: { ring, corner: index + 1 }, ends: [index, next], from, to: line[next] };
    });
  });
}

/**
 * The edge that starts at a corner; undefined at the end of the open ring.
 * @param {Drawing} drawing
 * @param {Place} place
 */
export function edgeAfter(drawing, { ring, corner }) {
  return edges(drawing).find(({ place, ends }) => place.ring === ring && ends[0] === corner);
}

/**
 * @param {Drawing} drawing
 * @param {number} ring
 */
export function isOpen(drawing, ring) {
  return ring === drawing.rings.length;
}

/**
 * @param {Drawing} drawing
 * @param {Place | null | undefined} place
 * @returns {Point | undefined}
 */
export function cornerAt(drawing, place) {
  return place ? lines(drawing)[place.ring]?.[place.corner] : undefined;
}

/**
 * @param {Drawing} drawing
 * @param {Place} place
 * @param {Point} point
 */
export function withCorner(drawing, { ring, corner }, point) {
  return withLine(drawing, ring, lines(drawing)[ring].with(corner, point));
}

/**
 * @param {Drawing} drawing
 * @param {Place} place
 * @param {Point} point
 */
export function withInserted(drawing, { ring, corner }, point) {
  return withLine(drawing, ring, lines(drawing)[ring].toSpliced(corner, 0, point));
}

/**
 * The drawing with points added to the ring that is being drawn.
 * @param {Drawing} drawing
 * @param {Line} points
 */
export function withAdded(drawing, points) {
  return { ...drawing, open: [...drawing.open, ...points] };
}

/**
 * The drawing without a corner; a closed ring that would keep fewer than three goes as a whole.
 * @param {Drawing} drawing
 * @param {Place} place
 */
export function withoutCorner(drawing, { ring, corner }) {
  const rest = lines(drawing)[ring].toSpliced(corner, 1);
  if (isOpen(drawing, ring) || rest.length >= 3) return withLine(drawing, ring, rest);
  return { ...drawing, rings: drawing.rings.toSpliced(ring, 1) };
}

/**
 * The open ring becomes the last closed one.
 * @param {Drawing} drawing
 * @returns {Drawing}
 */
export function closed(drawing) {
  return { rings: [...drawing.rings, drawing.open], open: [] };
}

/**
 * @param {Drawing} drawing
 * @returns {Drawing}
 */
export function copyOf({ rings, open }) {
  return { rings: rings.map(copyOfLine), open: copyOfLine(open) };
}

/**
 * @param {Line} line
 * @returns {Line}
 */
function copyOfLine(line) {
  return line.map(([x, y]) => [x, y]);
}

/**
 * @param {Drawing} drawing
 * @param {number} ring
 * @param {Line} line
 * @returns {Drawing}
 */
function withLine(drawing, ring, line) {
  if (isOpen(drawing, ring)) return { ...drawing, open: line };
  return { ...drawing, rings: drawing.rings.with(ring, line) };
}

/**
 * Where the lines of a drawing meet, and what keeps it from being sent.
 * @param {Drawing} drawing
 * @param {Size} image
 * @returns {Findings}
 */
export function findings({ rings, open }, image) {
  const inOpen = crossingsOf(open, false);
  const crossings = [...rings.flatMap((ring) => crossingsOf(ring, true)), ...inOpen];
  return { crossings, problem: problemOfRings(rings, image) ?? problemOfOpen(rings, open, inOpen) };
}

/**
 * @param {Line[]} rings
 * @param {Size} image
 * @returns {Problem | null}
 */
function problemOfRings(rings, { width, height }) {
  if (!rings.length) return null;
  const { code, ring } = checkOutline(rings, width, height);
  return code === null ? null : { code, label: code, ring };
}

/**
 * @param {Line[]} rings
 * @param {Line} open
 * @param {Point[]} crossings of the open ring
 * @returns {Problem | null}
 */
function problemOfOpen(rings, open, crossings) {
  const crossing = "outline_self_crossing";
  if (crossings.length) return { code: crossing, label: crossing, ring: rings.length + 1 };
  if (open.length) return { code: "outline_unfinished", label: "outline_unfinished", ring: null };
  if (!rings.length) return { code: "outline_too_few_corners", label: "outline_empty", ring: null };
  return null;
}

/**
 * Undo and redo without a limit. A burst of like changes, such as arrow presses, is one step.
 * @template Step
 */
export class History {
  /** @type {Step[]} */
  #past = [];
  /** @type {Step[]} */
  #future = [];
  /** @type {unknown} */
  #burst = null;

  /** @param {Step} present */
  constructor(present) {
    this.present = present;
  }

  /** All steps but the present one, the nearest last. */
  get steps() {
    return { past: this.#past, future: this.#future };
  }

  set steps({ past, future }) {
    this.#past = past;
    this.#future = future;
    this.#burst = null;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /**
   * Make a step the present one; with the same `burst` key as the step before, in place of it.
   * @param {Step} step
   * @param {unknown} burst
   */
  commit(step, burst = null) {
    if (burst === null || burst !== this.#burst) this.#past.push(this.present);
    this.#future = [];
    this.#burst = burst;
    this.present = step;
  }

  /** The next change is a step of its own. */
  endBurst() {
    this.#burst = null;
  }

  /** Go a step back; returns whether there was one. */
  undo() {
    return this.#move(this.#past, this.#future);
  }

  /** Go a step forth; returns whether there was one. */
  redo() {
    return this.#move(this.#future, this.#past);
  }

  /**
   * @param {Step[]} from
   * @param {Step[]} to
   */
  #move(from, to) {
    this.#burst = null;
    if (!from.length) return false;
    to.push(this.present);
    this.present = /** @type {Step} */ (from.pop());
    return true;
  }
}

// What has been drawn, without a screen: closed rings, the ring being drawn, and every step back and forth.
// A drawing is never changed in place, so a step of the history is a reference and costs nothing.

/** @typedef {{rings: number[][][], open: number[][]}} Drawing closed rings and the unfinished one, in pixels */
/** @typedef {{ring: number, corner: number}} Place a corner; `ring` equal to rings.length means the open one */

export const NOTHING = Object.freeze({ rings: [], open: [] });

/** All lines of corners: the closed rings, then the open one. */
export function lines({ rings, open }) {
  return [...rings, open];
}

/** All edges: their ends, and the place a corner between them would take. */
export function edges(drawing) {
  return lines(drawing).flatMap((line, ring) => {
    const count = isOpen(drawing, ring) ? Math.max(0, line.length - 1) : line.length;
    return line.slice(0, count).map((from, index) => {
      const next = (index + 1) % line.length;
      return { place: { ring, corner: index + 1 }, ends: [index, next], from, to: line[next] };
    });
  });
}

/** The edge that starts at a corner; undefined at the end of the open ring. */
export function edgeAfter(drawing, { ring, corner }) {
  return edges(drawing).find(({ place, ends }) => place.ring === ring && ends[0] === corner);
}

export function isOpen(drawing, ring) {
  return ring === drawing.rings.length;
}

export function cornerAt(drawing, place) {
  return place ? lines(drawing)[place.ring]?.[place.corner] : undefined;
}

export function withCorner(drawing, { ring, corner }, point) {
  return withLine(drawing, ring, lines(drawing)[ring].with(corner, point));
}

export function withInserted(drawing, { ring, corner }, point) {
  return withLine(drawing, ring, lines(drawing)[ring].toSpliced(corner, 0, point));
}

/** The drawing with points added to the ring that is being drawn. */
export function withAdded(drawing, points) {
  return { ...drawing, open: [...drawing.open, ...points] };
}

/** The drawing without a corner; a closed ring that would keep fewer than three goes as a whole. */
export function withoutCorner(drawing, { ring, corner }) {
  const rest = lines(drawing)[ring].toSpliced(corner, 1);
  if (isOpen(drawing, ring) || rest.length >= 3) return withLine(drawing, ring, rest);
  return { ...drawing, rings: drawing.rings.toSpliced(ring, 1) };
}

/** The open ring becomes the last closed one. */
export function closed(drawing) {
  return { rings: [...drawing.rings, drawing.open], open: [] };
}

export function copyOf({ rings, open }) {
  return { rings: rings.map(copyOfLine), open: copyOfLine(open) };
}

function copyOfLine(line) {
  return line.map(([x, y]) => [x, y]);
}

function withLine(drawing, ring, line) {
  if (isOpen(drawing, ring)) return { ...drawing, open: line };
  return { ...drawing, rings: drawing.rings.with(ring, line) };
}

/** Undo and redo without a limit. A burst of like changes, such as arrow presses, is one step. */
export class History {
  #past = [];
  #future = [];
  #burst = null;

  constructor(drawing) {
    this.present = drawing;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  /** Make `drawing` the present one; with the same `burst` key as the step before, in place of it. */
  commit(drawing, burst = null) {
    if (burst === null || burst !== this.#burst) this.#past.push(this.present);
    this.#future = [];
    this.#burst = burst;
    this.present = drawing;
  }

  /** The next change is a step of its own. */
  endBurst() {
    this.#burst = null;
  }

  undo() {
    return this.#step(this.#past, this.#future);
  }

  redo() {
    return this.#step(this.#future, this.#past);
  }

  #step(from, to) {
    this.#burst = null;
    if (!from.length) return false;
    to.push(this.present);
    this.present = from.pop();
    return true;
  }
}

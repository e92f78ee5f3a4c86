// Plane geometry of rings whose coordinates are whole hundredths of a pixel: every product stays exact.

/** @typedef {[x: number, y: number]} Point */
/** @typedef {Point[]} Line corners of a ring, or of an open line */
/** @typedef {{xmin: number, ymin: number, xmax: number, ymax: number}} Box */
/** @typedef {Box & {index: number, a: Point, b: Point}} Edge */
/** @typedef {{axis: 0 | 1, at: number, sign: number}} Border of a half plane */
/** @typedef {{chain: number, entry: boolean, at: number}} ChainEnd where a chain meets the border */

/** @param {Line} ring */
export function withoutRepeats(ring) {
  const kept = ring.filter((corner, index) => index === 0 || !same(corner, ring[index - 1]));
  while (kept.length > 1 && same(kept[0], kept[kept.length - 1])) kept.pop();
  return kept;
}

/**
 * @param {Point} a
 * @param {Point} b
 */
export function same(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}

/**
 * Positive when c lies to one side of a-b, negative on the other, zero on the line.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 */
export function side([ax, ay], [bx, by], [cx, cy]) {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/** @param {Line} ring */
export function onOneLine(ring) {
  const far = ring.find((corner) => !same(corner, ring[0]));
  return !far || ring.every((corner) => side(ring[0], far, corner) === 0);
}

/**
 * Twice the signed area. Summed around the first corner in big integers: a partial sum may pass 2**53.
 * @param {Line} ring
 */
export function doubledArea(ring) {
  let sum = 0n;
  for (let index = 1; index + 1 < ring.length; index += 1) {
    sum += BigInt(side(ring[0], ring[index], ring[index + 1]));
  }
  return Number(sum);
}

/**
 * @param {Line[]} rings
 * @returns {Box}
 */
export function boxOf(rings) {
  const xs = rings.flatMap((ring) => ring.map(([x]) => x));
  const ys = rings.flatMap((ring) => ring.map(([, y]) => y));
  return { xmin: Math.min(...xs), ymin: Math.min(...ys), xmax: Math.max(...xs), ymax: Math.max(...ys) };
}

/**
 * Where edges meet that should not: crossing, touching, or running back over one another.
 * @param {Line} line
 * @param {boolean} closed
 */
export function crossings(line, closed) {
  const count = closed ? line.length : line.length - 1;
  /** @type {Edge[]} */
  const edges = [];
  for (let index = 0; index < count; index += 1) edges.push(edge(line, index));
  edges.sort((one, other) => one.xmin - other.xmin);
  /** @type {Map<string, Point>} */
  const found = new Map();
  edges.forEach((one, index) => {
    // Sorted by their left ends: once an edge starts beyond this one, all later ones do.
    for (let next = index + 1; next < edges.length && edges[next].xmin <= one.xmax; next += 1) {
      const point = meeting(one, edges[next], line.length, closed);
      if (point) found.set(String(point), point);
    }
  });
  return [...found.values()];
}

/**
 * @param {Line} line
 * @param {number} index
 * @returns {Edge}
 */
function edge(line, index) {
  const [a, b] = [line[index], line[(index + 1) % line.length]];
  const [xmin, xmax] = a[0] < b[0] ? [a[0], b[0]] : [b[0], a[0]];
  const [ymin, ymax] = a[1] < b[1] ? [a[1], b[1]] : [b[1], a[1]];
  return { index, a, b, xmin, xmax, ymin, ymax };
}

/**
 * @param {Edge} one
 * @param {Edge} other
 * @param {number} count
 * @param {boolean} closed
 */
function meeting(one, other, count, closed) {
  if (one.ymin > other.ymax || other.ymin > one.ymax || one.xmin > other.xmax) return null;
  const [first, second] = one.index < other.index ? [one, other] : [other, one];
  if (second.index === first.index + 1) return spike(first.a, first.b, second.b);
  if (closed && first.index === 0 && second.index === count - 1) return spike(second.a, first.a, first.b);
  return intersection(first, second);
}

/**
 * Neighbours share their corner; they meet elsewhere only by running back over themselves.
 * @param {Point} before
 * @param {Point} corner
 * @param {Point} after
 */
function spike(before, corner, after) {
  if (side(before, corner, after) !== 0) return null;
  const along = (corner[0] - before[0]) * (after[0] - corner[0]) + (corner[1] - before[1]) * (after[1] - corner[1]);
  return along < 0 ? corner : null;
}

/**
 * @param {{a: Point, b: Point}} one
 * @param {{a: Point, b: Point}} other
 * @returns {Point | null}
 */
export function intersection({ a, b }, { a: c, b: d }) {
  const [sc, sd, sa, sb] = [side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)];
  if (sc === 0 && within(a, b, c)) return c;
  if (sd === 0 && within(a, b, d)) return d;
  if (sa === 0 && within(c, d, a)) return a;
  if (sb === 0 && within(c, d, b)) return b;
  if (Math.sign(sc) * Math.sign(sd) >= 0 || Math.sign(sa) * Math.sign(sb) >= 0) return null;
  const along = sa / (sa - sb);
  return [Math.round(a[0] + along * (b[0] - a[0])), Math.round(a[1] + along * (b[1] - a[1]))];
}

/**
 * @param {Point} a
 * @param {Point} b
 * @param {Point} point
 */
function within(a, b, point) {
  const onAxis = (/** @type {0 | 1} */ axis) =>
    Math.min(a[axis], b[axis]) <= point[axis] && point[axis] <= Math.max(a[axis], b[axis]);
  return onAxis(0) && onAxis(1);
}

// Clipping: the image is four half planes, and a ring is cut by one after the other.

/**
 * @param {Line} ring
 * @param {number} width
 * @param {number} height
 */
export function clip(ring, width, height) {
  const box = boxOf([ring]);
  if (box.xmin >= 0 && box.ymin >= 0 && box.xmax <= width && box.ymax <= height) return [ring];
  /** @type {Border[]} */
  const borders = [
    { axis: 0, at: 0, sign: 1 },
    { axis: 0, at: width, sign: -1 },
    { axis: 1, at: 0, sign: 1 },
    { axis: 1, at: height, sign: -1 },
  ];
  const parts = borders.reduce((rings, border) => rings.flatMap((part) => cut(part, border)), [ring]);
  return parts.map(onGrid).filter((part) => part.length >= 3 && !onOneLine(part));
}

/** @param {Line} part */
function onGrid(part) {
  return withoutRepeats(part.map(([x, y]) => /** @type {Point} */ ([Math.round(x), Math.round(y)])));
}

/**
 * The parts of a simple ring on one side of a border. Every way in ends in a way out; sorted along the
 * border, crossings 1-2, 3-4, ... bound the inside, so each way out goes on at its neighbour's way in.
 * A corner on the border counts as outside, so that edges along it need no case of their own.
 * @param {Line} ring
 * @param {Border} border
 */
function cut(ring, border) {
  const depth = ring.map((corner) => border.sign * (corner[border.axis] - border.at));
  if (depth.every((d) => d > 0)) return [ring];
  const chains = chainsInside(ring, depth, border);
  const other = border.axis ? 0 : 1;
  const ends = chains.flatMap((chain, index) => [
    { chain: index, entry: true, at: chain[0][other] },
    { chain: index, entry: false, at: chain[chain.length - 1][other] },
  ]);
  ends.sort((one, next) => one.at - next.at);
  return joined(chains, paired(ends));
}

/**
 * The stretches of the ring inside the border, each from its way in to its way out.
 * @param {Line} ring
 * @param {number[]} depth
 * @param {Border} border
 */
function chainsInside(ring, depth, border) {
  const start = depth.findIndex((d) => d <= 0);
  /** @type {Line[]} */
  const chains = [];
  for (let step = 0; step < ring.length; step += 1) {
    const here = (start + step) % ring.length;
    const next = (here + 1) % ring.length;
    const [inside, goesInside] = [depth[here] > 0, depth[next] > 0];
    if (inside !== goesInside) {
      const point = onBorder(ring[here], ring[next], depth[here], depth[next], border);
      if (goesInside) chains.push([point]);
      else chains[chains.length - 1].push(point);
    }
    if (goesInside) chains[chains.length - 1].push(ring[next]);
  }
  return chains;
}

/**
 * @param {Point} from
 * @param {Point} to
 * @param {number} depthFrom
 * @param {number} depthTo
 * @param {Border} border
 */
function onBorder(from, to, depthFrom, depthTo, border) {
  const along = depthFrom / (depthFrom - depthTo);
  const other = border.axis ? 0 : 1;
  /** @type {Point} */
  const point = [0, 0];
  point[border.axis] = border.at;
  point[other] = from[other] + along * (to[other] - from[other]);
  return point;
}

/**
 * Which chain follows which: neighbours on the border are a way out and a way in.
 * @param {ChainEnd[]} ends
 */
function paired(ends) {
  /** @type {Map<number, number>} */
  const follows = new Map();
  for (let index = 0; index + 1 < ends.length; index += 2) {
    // A corner that touches the border leaves and enters in one place; the sort cannot know the order.
    const tied = ends[index].entry === ends[index + 1].entry && index + 2 < ends.length;
    if (tied) ends.splice(index + 1, 2, ends[index + 2], ends[index + 1]);
    const [one, next] = [ends[index], ends[index + 1]];
    const [exit, entry] = one.entry ? [next, one] : [one, next];
    follows.set(exit.chain, entry.chain);
  }
  return follows;
}

/**
 * @param {Line[]} chains
 * @param {Map<number, number>} follows
 */
function joined(chains, follows) {
  const left = new Set(chains.keys());
  const rings = [];
  while (left.size) {
    /** @type {Line} */
    const ring = [];
    /** @type {number | undefined} */
    let chain = left.values().next().value;
    while (chain !== undefined && left.delete(chain)) {
      ring.push(...chains[chain]);
      chain = follows.get(chain);
    }
    rings.push(ring);
  }
  return rings;
}

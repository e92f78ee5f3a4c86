// The outline rules of the browser: the same checks, codes and rounding as labeling/outlines.py (R11).
// Both sides run tests/geometry_vectors.json. Inside this module coordinates are whole hundredths of a
// pixel; no corner lies further than FARTHEST_PX, so every product stays below 2**53 and is exact.

export const MAX_RINGS = 20;
export const MAX_CORNERS = 1000;
export const FARTHEST_PX = 100000;
const HUNDREDTHS = 100;

/** Pixels to whole hundredths, halves towards plus infinity, by the decimal digits of the number. */
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
 * Answers {code, ring, crossings, box, area}: code and ring (from 1; null for the whole outline) are null
 * when the outline can be sent; crossings are [x, y] in pixels; box is {xmin, ymin, xmax, ymax} and area
 * twice the sum of the rings' areas, both in hundredths after clipping to the image, null when refused.
 */
export function checkOutline(rings, width, height) {
  const refused = shapeProblem(rings);
  if (refused) return { ...EMPTY, ...refused };
  const drawn = rings.map((ring) => withoutRepeats(ring.map(([x, y]) => [quantise(x), quantise(y)])));
  for (const [index, ring] of drawn.entries()) {
    const problem = ringProblem(ring);
    if (problem) return { ...EMPTY, ring: index + 1, ...problem };
  }
  const inside = drawn.flatMap((ring) => clip(ring, width * HUNDREDTHS, height * HUNDREDTHS));
  if (!inside.length) return { ...EMPTY, code: "outline_outside" };
  const area = inside.reduce((sum, ring) => sum + Math.abs(doubledArea(ring)), 0);
  return { ...EMPTY, box: boxOf(inside), area };
}

const EMPTY = { code: null, ring: null, crossings: [], box: null, area: null };

/** Where the edges of a ring, or of an open line of corners, meet: [x, y] in pixels. */
export function crossingsOf(corners, closed) {
  const line = withoutRepeats(corners.map(([x, y]) => [quantise(x), quantise(y)]));
  return crossings(line, closed).map(([x, y]) => [x / HUNDREDTHS, y / HUNDREDTHS]);
}

/**
 * Douglas-Peucker: those of the given points that keep the line within `tolerance` of what it was. Every dropped
 * point lies that near to the segment drawn in its place, so neither line strays further from the other.
 */
export function simplify(points, tolerance) {
  if (points.length < 3) return points.slice();
  const kept = new Set([0, points.length - 1]);
  const spans = [[0, points.length - 1]];
  while (spans.length) {
    const [from, to] = spans.pop();
    const [index, distance] = farthest(points, from, to);
    if (distance <= tolerance) continue;
    kept.add(index);
    spans.push([from, index], [index, to]);
  }
  return points.filter((_, index) => kept.has(index));
}

function farthest(points, from, to) {
  let best = [from, 0];
  for (let index = from + 1; index < to; index += 1) {
    const distance = distanceToSegment(points[index], points[from], points[to]);
    if (distance > best[1]) best = [index, distance];
  }
  return best;
}

/** Whether the segments a-b and c-d have a point in common; all in pixels. */
export function segmentsMeet(...ends) {
  const [a, b, c, d] = ends.map(([x, y]) => [quantise(x), quantise(y)]);
  return intersection({ a, b }, { a: c, b: d }) !== null;
}

/** How far a point lies from the segment a-b. */
export function distanceToSegment(point, a, b) {
  const [x, y] = nearestOnSegment(point, a, b);
  return Math.hypot(point[0] - x, point[1] - y);
}

/** The point of the segment a-b nearest to the given one. */
export function nearestOnSegment([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return [ax + along * dx, ay + along * dy];
}

// Refusals, in the order of the server.

function shapeProblem(rings) {
  if (!Array.isArray(rings)) return { code: "outline_shape" };
  if (!rings.length) return { code: "outline_too_few_corners" };
  if (rings.length > MAX_RINGS) return { code: "outline_too_many_corners" };
  const misshapen = rings.findIndex((ring) => !Array.isArray(ring));
  if (misshapen >= 0) return { code: "outline_shape", ring: misshapen + 1 };
  const lengths = rings.map((ring) => ring.length);
  if (lengths.reduce((sum, length) => sum + length, 0) > MAX_CORNERS) {
    return { code: "outline_too_many_corners", ring: lengths.indexOf(Math.max(...lengths)) + 1 };
  }
  return firstCornerProblem(rings);
}

function firstCornerProblem(rings) {
  for (const [index, ring] of rings.entries()) {
    for (const corner of ring) {
      const code = cornerProblem(corner);
      if (code) return { code, ring: index + 1 };
    }
  }
  return null;
}

function cornerProblem(corner) {
  const isPair = Array.isArray(corner) && corner.length === 2 && corner.every((n) => typeof n === "number");
  if (!isPair) return "outline_shape";
  if (!corner.every(Number.isFinite)) return "outline_non_finite";
  return Math.max(...corner.map(Math.abs)) > FARTHEST_PX ? "outline_outside" : null;
}

function ringProblem(ring) {
  if (new Set(ring.map(String)).size < 3) return { code: "outline_too_few_corners" };
  if (onOneLine(ring)) return { code: "outline_zero_area" };
  const found = crossings(ring, true);
  if (!found.length) return null;
  return { code: "outline_self_crossing", crossings: found.map(([x, y]) => [x / HUNDREDTHS, y / HUNDREDTHS]) };
}

// Plane geometry in whole hundredths.

function withoutRepeats(ring) {
  const kept = ring.filter((corner, index) => index === 0 || !same(corner, ring[index - 1]));
  while (kept.length > 1 && same(kept[0], kept[kept.length - 1])) kept.pop();
  return kept;
}

function same(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}

/** Positive when c lies to one side of a-b, negative on the other, zero on the line. */
function side([ax, ay], [bx, by], [cx, cy]) {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

function onOneLine(ring) {
  const far = ring.find((corner) => !same(corner, ring[0]));
  return !far || ring.every((corner) => side(ring[0], far, corner) === 0);
}

/** Twice the signed area. Summed around the first corner in big integers: a partial sum may pass 2**53. */
function doubledArea(ring) {
  let sum = 0n;
  for (let index = 1; index + 1 < ring.length; index += 1) {
    sum += BigInt(side(ring[0], ring[index], ring[index + 1]));
  }
  return Number(sum);
}

function boxOf(rings) {
  const xs = rings.flatMap((ring) => ring.map(([x]) => x));
  const ys = rings.flatMap((ring) => ring.map(([, y]) => y));
  return { xmin: Math.min(...xs), ymin: Math.min(...ys), xmax: Math.max(...xs), ymax: Math.max(...ys) };
}

/** Where edges meet that should not: crossing, touching, or running back over one another. */
function crossings(line, closed) {
  const count = closed ? line.length : line.length - 1;
  const edges = [];
  for (let index = 0; index < count; index += 1) edges.push(edge(line, index));
  edges.sort((one, other) => one.xmin - other.xmin);
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

function edge(line, index) {
  const [a, b] = [line[index], line[(index + 1) % line.length]];
  const [xmin, xmax] = a[0] < b[0] ? [a[0], b[0]] : [b[0], a[0]];
  const [ymin, ymax] = a[1] < b[1] ? [a[1], b[1]] : [b[1], a[1]];
  return { index, a, b, xmin, xmax, ymin, ymax };
}

function meeting(one, other, count, closed) {
  if (one.ymin > other.ymax || other.ymin > one.ymax || one.xmin > other.xmax) return null;
  const [first, second] = one.index < other.index ? [one, other] : [other, one];
  if (second.index === first.index + 1) return spike(first.a, first.b, second.b);
  if (closed && first.index === 0 && second.index === count - 1) return spike(second.a, first.a, first.b);
  return intersection(first, second);
}

/** Neighbours share their corner; they meet elsewhere only by running back over themselves. */
function spike(before, corner, after) {
  if (side(before, corner, after) !== 0) return null;
  const along = (corner[0] - before[0]) * (after[0] - corner[0]) + (corner[1] - before[1]) * (after[1] - corner[1]);
  return along < 0 ? corner : null;
}

function intersection({ a, b }, { a: c, b: d }) {
  const [sc, sd, sa, sb] = [side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)];
  if (sc === 0 && within(a, b, c)) return c;
  if (sd === 0 && within(a, b, d)) return d;
  if (sa === 0 && within(c, d, a)) return a;
  if (sb === 0 && within(c, d, b)) return b;
  if (Math.sign(sc) * Math.sign(sd) >= 0 || Math.sign(sa) * Math.sign(sb) >= 0) return null;
  const along = sa / (sa - sb);
  return [Math.round(a[0] + along * (b[0] - a[0])), Math.round(a[1] + along * (b[1] - a[1]))];
}

function within(a, b, point) {
  const onAxis = (axis) => Math.min(a[axis], b[axis]) <= point[axis] && point[axis] <= Math.max(a[axis], b[axis]);
  return onAxis(0) && onAxis(1);
}

// Clipping: the image is four half planes, and a ring is cut by one after the other.

function clip(ring, width, height) {
  const box = boxOf([ring]);
  if (box.xmin >= 0 && box.ymin >= 0 && box.xmax <= width && box.ymax <= height) return [ring];
  const borders = [
    { axis: 0, at: 0, sign: 1 },
    { axis: 0, at: width, sign: -1 },
    { axis: 1, at: 0, sign: 1 },
    { axis: 1, at: height, sign: -1 },
  ];
  const parts = borders.reduce((rings, border) => rings.flatMap((part) => cut(part, border)), [ring]);
  return parts.map(onGrid).filter((part) => part.length >= 3 && !onOneLine(part));
}

function onGrid(part) {
  return withoutRepeats(part.map(([x, y]) => [Math.round(x), Math.round(y)]));
}

/**
 * The parts of a simple ring on one side of a border. Every way in ends in a way out; sorted along the
 * border, crossings 1-2, 3-4, ... bound the inside, so each way out goes on at its neighbour's way in.
 * A corner on the border counts as outside, so that edges along it need no case of their own.
 */
function cut(ring, border) {
  const depth = ring.map((corner) => border.sign * (corner[border.axis] - border.at));
  if (depth.every((d) => d > 0)) return [ring];
  const chains = chainsInside(ring, depth, border);
  const other = 1 - border.axis;
  const ends = chains.flatMap((chain, index) => [
    { chain: index, entry: true, at: chain[0][other] },
    { chain: index, entry: false, at: chain[chain.length - 1][other] },
  ]);
  ends.sort((one, next) => one.at - next.at);
  return joined(chains, paired(ends));
}

/** The stretches of the ring inside the border, each from its way in to its way out. */
function chainsInside(ring, depth, border) {
  const start = depth.findIndex((d) => d <= 0);
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

function onBorder(from, to, depthFrom, depthTo, border) {
  const along = depthFrom / (depthFrom - depthTo);
  const other = 1 - border.axis;
  const point = [0, 0];
  point[border.axis] = border.at;
  point[other] = from[other] + along * (to[other] - from[other]);
  return point;
}

/** Which chain follows which: neighbours on the border are a way out and a way in. */
function paired(ends) {
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

function joined(chains, follows) {
  const left = new Set(chains.keys());
  const rings = [];
  while (left.size) {
    const ring = [];
    let [chain] = left;
    while (left.delete(chain)) {
      ring.push(...chains[chain]);
      chain = follows.get(chain);
    }
    rings.push(ring);
  }
  return rings;
}

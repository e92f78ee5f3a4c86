// The rules of geometry, the same as on the server (R11); the table is the one that the server's tests read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as geometry from "../../static/js/geometry.js";
import { nextTolerance, Trace } from "../../static/js/outline_trace.js";

const { cases } = JSON.parse(readFileSync(new URL("../geometry_vectors.json", import.meta.url), "utf8"));
const NUMBERS = { NaN, Infinity, "-Infinity": -Infinity };
const circle = (count) =>
  Array.from({ length: count }, (_, i) => (2 * Math.PI * i) / count).map((a) => [
    150 + 80 * Math.cos(a),
    150 + 80 * Math.sin(a),
  ]);

/** The rings of the table, where text stands for numbers that JSON lacks. */
function numbers(item) {
  if (Array.isArray(item)) return item.map(numbers);
  return Object.hasOwn(NUMBERS, item) ? NUMBERS[item] : item;
}

for (const { name, rings, width, height, code, ring, box, doubled_area } of cases) {
  test(`the shared table: ${name}`, () => {
    const found = geometry.checkOutline(numbers(rings), width, height);
    const sides = found.box && [found.box.xmin, found.box.ymin, found.box.xmax, found.box.ymax];
    assert.deepEqual([found.code, found.ring, sides, found.area], [code, ring ?? null, box ?? null, doubled_area ?? null]);
  });
}

for (const [value, hundredths, why] of [
  [1.005, 101, "a half that binary numbers write as less"],
  [2.675, 268, "another one"],
  [0.0049, 0, "less than a half"],
  [-0.005, 0, "a half goes up, also below zero"],
  [-0.0051, -1, "more than a half below zero"],
  [-0.015, -1, "a half below zero"],
  [1e-9, 0, "so small that it is written with an exponent"],
  [1e21, 1e23, "so large that it is"],
]) {
  test(`halves round as on the server: ${why}`, () => assert.equal(geometry.quantise(value), hundredths));
}

test("a crossing is found where it is, in a ring and in an open line", () => {
  const line = [[50, 50], [250, 250], [250, 50], [50, 250]];
  assert.deepEqual(geometry.crossingsOf(line, false), [[150, 150]]);
  assert.equal(geometry.checkOutline([line], 299, 299).code, "outline_self_crossing");
});

test("a trace has few corners, near the hand's line, and loses nothing when made finer again", () => {
  const line = new Trace({ rings: [], open: [] }, circle(90), true);
  const [fine, coarse] = [line.drawn(0.25), line.drawn(4)];
  assert.ok(coarse.corners < fine.corners && fine.corners < 90);
  for (const [x, y] of coarse.drawing.rings[0]) assert.ok(Math.abs(Math.hypot(x - 150, y - 150) - 80) < 0.01);
  assert.deepEqual(line.drawn(0.25), fine);
});

test("a hand that goes past its start has not crossed its line", () => {
  const line = new Trace({ rings: [], open: [] }, [...circle(90), [231, 151], [228, 154]], true);
  const { rings } = line.drawn(1).drawing;
  assert.equal(geometry.checkOutline(rings, 299, 299).code, null);
});

test("tolerances go step by step and end at either end", () => {
  assert.deepEqual([nextTolerance(1, true), nextTolerance(1, false)], [1.5, 0.75]);
  assert.deepEqual([nextTolerance(6, true), nextTolerance(0.25, false)], [6, 0.25]);
});

// What has been drawn, without a screen: corners that come and go, and every step back and forth.
import assert from "node:assert/strict";
import { test } from "node:test";

import * as drawings from "../../static/js/outline_drawing.js";

const SQUARE = [[50, 50], [250, 50], [250, 250], [50, 250]];
const DRAWN = { rings: [SQUARE], open: [[9, 9], [19, 9]] };

test("an edge says which place a corner on it takes, also the one that closes a ring", () => {
  const places = drawings.edges(DRAWN).map(({ place }) => [place.ring, place.corner]);
  assert.deepEqual(places, [[0, 1], [0, 2], [0, 3], [0, 4], [1, 1]]);
  assert.equal(drawings.edgeAfter(DRAWN, { ring: 1, corner: 1 }), undefined, "there is none after the last open corner");
});

test("a corner is moved, inserted and removed without changing the drawing of before", () => {
  const before = structuredClone(DRAWN);
  assert.deepEqual(drawings.withCorner(DRAWN, { ring: 0, corner: 1 }, [7, 7]).rings[0][1], [7, 7]);
  assert.deepEqual(drawings.withInserted(DRAWN, { ring: 0, corner: 1 }, [150, 50]).rings[0].length, 5);
  assert.deepEqual(drawings.withoutCorner(DRAWN, { ring: 0, corner: 3 }).rings[0], SQUARE.slice(0, 3));
  assert.deepEqual(DRAWN, before);
});

test("a ring that would keep two corners goes as a whole; the open one does not", () => {
  const triangle = { rings: [SQUARE.slice(0, 3)], open: [[9, 9]] };
  assert.deepEqual(drawings.withoutCorner(triangle, { ring: 0, corner: 0 }), { rings: [], open: [[9, 9]] });
  assert.deepEqual(drawings.withoutCorner(triangle, { ring: 1, corner: 0 }), { rings: triangle.rings, open: [] });
});

test("undo and redo go all the way, also in the middle, and a new step ends what could be done again", () => {
  const history = new drawings.History(0);
  for (let step = 1; step <= 12; step += 1) history.commit(step);
  for (let back = 0; back < 5; back += 1) history.undo();
  assert.equal(history.present, 7);
  history.redo();
  assert.equal(history.present, 8);
  while (history.undo());
  assert.deepEqual([history.present, history.canUndo, history.canRedo], [0, false, true]);
  while (history.redo());
  assert.deepEqual([history.present, history.canRedo], [12, false]);
  history.undo();
  history.commit(99);
  assert.equal(history.canRedo, false);
});

test("a burst of like changes is one step, until something else or a pause", () => {
  const history = new drawings.History("start");
  for (const at of ["a", "b", "c"]) history.commit(at, "arrows");
  history.endBurst();
  history.commit("d", "arrows");
  history.undo();
  assert.equal(history.present, "c");
  history.undo();
  assert.equal(history.present, "start");
});

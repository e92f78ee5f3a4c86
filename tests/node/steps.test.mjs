// The steps of a history, packed to be kept with a draft and unpacked in another browser.
import assert from "node:assert/strict";
import { test } from "node:test";

import { OutlineModel } from "../../static/js/outline_model.js";
import { packed, unpacked } from "../../static/js/outline_steps.js";

const IMAGE = { width: 299, height: 299 };
const silent = { redraw() {}, change() {}, say() {}, reveal() {} };
const model = () => new OutlineModel(IMAGE, silent);
const carried = (value) => JSON.parse(JSON.stringify(value));
const square = [[10, 10], [200, 10], [200, 200], [10, 200]];

/** A model after what a hand does. */
function drawn(...acts) {
  const one = model();
  for (const act of acts) act(one);
  return one;
}

const corner = (point) => (one) => one.place(point);
const outline = [...square.map(corner), (one) => one.close()];

/** All drawings that undo and redo lead to, from the oldest to the newest. */
function everyStep(one) {
  const steps = [];
  while (one.canUndo) one.undo();
  for (;;) {
    steps.push(carried(one.present));
    if (!one.canRedo) return steps;
    one.redo();
  }
}

for (const [acts, why] of [
  [[], "nothing is drawn"],
  [[corner([1, 2])], "one corner"],
  [outline, "a closed outline"],
  [[...outline, ...square.map(([x, y]) => corner([x / 2, y / 2])), (one) => one.close()], "two outlines"],
  [[...outline, (one) => one.insert({ ring: 0, corner: 2 }, [200, 100])], "a corner inserted"],
  [[...outline, (one) => one.remove({ ring: 0, corner: 0 })], "a corner removed"],
  [[...outline, (one) => one.clear()], "all removed"],
  [[...outline, (one) => one.undo(), (one) => one.undo()], "two steps undone"],
  [[...outline, (one) => one.select({ ring: 0, corner: 1 }), (one) => one.nudge([1, 0], 0)], "a corner moved"],
  [[...outline, (one) => one.commit({ rings: [], open: square })], "everything replaced in one step"],
]) {
  test(`every step comes back in another browser: ${why}`, () => {
    const here = drawn(...acts);
    const there = model();
    there.reset(carried(here.present), carried(here.steps));
    assert.deepEqual(there.present, here.present);
    assert.deepEqual([there.canUndo, there.canRedo], [here.canUndo, here.canRedo]);
    assert.deepEqual(everyStep(there), everyStep(here));
  });
}

test("steps stay small: a corner costs its own bytes, and the oldest steps go first", () => {
  const points = Array.from({ length: 1000 }, (_, i) => [i % 299, Math.floor(i / 3)]);
  const here = drawn(...points.map(corner));
  const text = JSON.stringify(here.steps);
  assert.ok(text.length < 50_000, `${text.length} bytes`);
  const there = model();
  there.reset(carried(here.present), JSON.parse(text));
  for (let step = 0; step < 200; step += 1) there.undo();
  assert.deepEqual([there.present.open.length, there.canUndo], [800, false]);
});

test("large steps stay below the limit too", () => {
  const large = (shift) => ({ rings: [Array.from({ length: 900 }, (_, i) => [i % 299, shift])], open: [] });
  const here = drawn(...[1, 2, 3, 4, 5].map((shift) => (one) => one.commit(large(shift))));
  assert.ok(JSON.stringify(here.steps).length < 50_000);
  assert.equal(here.steps.past.length, 2);
});

const garbled = [undefined, 7, {}, { past: 3 }, { past: [{}], future: [] }, { past: [{ line: 9, corners: [] }] }];
for (const steps of [null, ...garbled]) {
  test(`what was not packed is no history: ${JSON.stringify(steps)}`, () => {
    const one = model();
    one.reset({ rings: [square], open: [] }, steps);
    assert.deepEqual([one.present.rings.length, one.canUndo, one.canRedo], [1, false, false]);
  });
}

test("a draft that began with what is drawn here replaces it, with its steps", () => {
  const [here, there] = [drawn(...outline), drawn(...outline, (one) => one.remove({ ring: 0, corner: 0 }))];
  here.adopt(carried(there.present), carried(there.steps));
  assert.deepEqual(everyStep(here), everyStep(there));
});

test("a draft that did not is one step: an undo brings back what was drawn here", () => {
  const [here, there] = [drawn(...outline), drawn(corner([5, 5]))];
  here.adopt(carried(there.present), carried(there.steps));
  assert.deepEqual(here.present, there.present);
  here.undo();
  assert.deepEqual(carried(here.present), { rings: [square], open: [] });
});

test("packing leaves the history as it is", () => {
  const history = { past: [{ rings: [], open: [] }], future: [] };
  assert.deepEqual(unpacked({ rings: [], open: [[1, 1]] }, packed({ rings: [], open: [[1, 1]] }, history)), history);
});

// The model of the editor: what each input does to the drawing, the selection and the history, and what is said of it.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { OutlineModel } from "../../static/js/outline_model.js";

const SQUARE = [[50, 50], [250, 50], [250, 250], [50, 250]];
let model, said, settled;

beforeEach(() => {
  [said, settled] = [[], []];
  model = new OutlineModel(
    { width: 299, height: 299 },
    { redraw: () => {}, change: (done) => settled.push(done), say: (label) => said.push(label), reveal: () => {} },
  );
});

function drawSquare() {
  SQUARE.forEach((corner) => model.place(corner));
  assert.equal(model.close(), true);
}

test("four corners and closing make a ring; each is one step back", () => {
  drawSquare();
  assert.deepEqual(model.drawing, { rings: [SQUARE], open: [] });
  assert.deepEqual(said, ["placed", "placed", "placed", "placed", "closed"]);
  model.undo();
  assert.deepEqual(model.drawing, { rings: [], open: SQUARE });
  for (let step = 0; step < 4; step += 1) model.undo();
  assert.deepEqual([model.drawing, model.canUndo], [{ rings: [], open: [] }, false]);
  for (let step = 0; step < 5; step += 1) model.redo();
  assert.deepEqual([model.drawing.rings, model.canRedo], [[SQUARE], false]);
});

test("two corners are no ring", () => {
  SQUARE.slice(0, 2).forEach((corner) => model.place(corner));
  assert.equal(model.close(), false);
  assert.deepEqual([model.drawing.rings, said.at(-1)], [[], "needsThree"]);
});

for (const [given, expected, why] of [
  [[-3, 400], [0, 299], "outside"],
  [[10.126, 20.001], [10.13, 20], "to a hundredth"],
  [[299, 0], [299, 0], "on the frame"],
]) {
  test(`a point is kept inside the picture: ${why}`, () => assert.deepEqual(model.inside(given), expected));
}

test("a gesture is a preview until it is kept or dropped", () => {
  drawSquare();
  const moved = { rings: [[[60, 60], ...SQUARE.slice(1)]], open: [] };
  model.preview(moved, { ring: 0, corner: 0 });
  assert.deepEqual([model.drawing, model.isPreview, settled.at(-1)], [moved, true, false]);
  model.dropPreview();
  assert.deepEqual([model.drawing.rings[0], settled.at(-1)], [SQUARE, true]);
  model.preview(moved, { ring: 0, corner: 0 });
  model.keepMoved();
  assert.deepEqual([model.present, model.isPreview, said.at(-1)], [moved, false, "moved"]);
});

test("moves of the selected corner within a second are one step, and a pause begins another", () => {
  drawSquare();
  model.select({ ring: 0, corner: 2 });
  for (const time of [0, 500, 1200]) model.nudge([1, 0], time);
  model.nudge([1, 0], 2300);
  assert.deepEqual(model.selectedPoint, [254, 250]);
  model.undo();
  assert.deepEqual(model.drawing.rings[0][2], [253, 250]);
  model.undo();
  assert.deepEqual(model.drawing.rings[0][2], [250, 250]);
});

test("the keyboard goes from corner to corner, round and back, and inserts after the one it is on", () => {
  assert.equal(model.selectNext(1), false, "there is none yet");
  drawSquare();
  model.selectNext(-1);
  assert.deepEqual(model.selected, { ring: 0, corner: 3 });
  model.selectNext(1);
  assert.deepEqual([model.selected, model.cursor], [{ ring: 0, corner: 0 }, [50, 50]]);
  assert.equal(model.insertAfterSelected(), true);
  assert.deepEqual([model.selected, model.selectedPoint], [{ ring: 0, corner: 1 }, [150, 50]]);
});

test("removing takes the selected corner, else the last open one, and a ring of three as a whole", () => {
  assert.equal(model.removeSelectedOrLast(), false);
  drawSquare();
  model.place([9, 9]);
  assert.equal(model.removeSelectedOrLast(), true);
  assert.deepEqual([model.drawing.open, said.at(-1)], [[], "removed"]);
  for (let corner = 0; corner < 2; corner += 1) {
    model.select({ ring: 0, corner: 0 });
    model.removeSelectedOrLast();
  }
  assert.deepEqual([model.drawing.rings, said.at(-1), model.selected], [[], "ringRemoved", null]);
});

test("what keeps the drawing from being sent follows each change", () => {
  assert.equal(model.findings.problem.label, "outline_empty");
  SQUARE.forEach((corner) => model.place(corner));
  assert.equal(model.findings.problem.label, "outline_unfinished");
  model.close();
  assert.equal(model.findings.problem, null);
  model.clear();
  assert.deepEqual([model.findings.problem.label, said.at(-1)], ["outline_empty", "cleared"]);
});

test("another picture begins with a history of its own", () => {
  drawSquare();
  model.reset({ rings: [], open: [[1, 1]] });
  assert.deepEqual([model.drawing.open, model.canUndo, model.selected], [[[1, 1]], false, null]);
});

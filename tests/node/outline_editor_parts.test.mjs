// The parts of the outline editor that need no page: the window upon the picture, what lies under a pointer, the keys,
// the words, and what keeps a drawing from being sent.
import assert from "node:assert/strict";
import { test } from "node:test";

import { findings } from "../../static/js/outline_drawing.js";
import { under } from "../../static/js/outline_hits.js";
import { Keys } from "../../static/js/outline_keys.js";
import { Viewport } from "../../static/js/outline_viewport.js";
import { LABELS, Words } from "../../static/js/outline_words.js";

const SIDE = 299;
const SQUARE = [[50, 50], [250, 50], [250, 250], [50, 250]];

function viewport({ width = 700, height = 640, density = 1, left = 0, top = 0, picture = [SIDE, SIDE] } = {}) {
  const view = new Viewport(...picture);
  view.resize({ left, top, width, height }, density);
  return view;
}

for (const [screen, expected, why] of [
  [{}, 2, "a desk"],
  [{ density: 1.25, height: 600 }, 2, "a laptop at 125 %: 600 CSS px are 750 device px"],
  [{ density: 1.5 }, 3, "a laptop at 150 %"],
  [{ density: 2 }, 4, "a fine desk screen"],
  [{ density: 3 }, 6, "a finer one"],
  [{ width: 374, height: 500 }, 1, "phone width"],
  [{ width: 374, height: 500, density: 3 }, 3, "a fine phone"],
  [{ width: 396, height: 500, density: 2.625 }, 3, "a broken ratio: 1.14 CSS px to an image pixel"],
  [{ width: 264, height: 400, density: 3 }, 2, "a narrow phone: two thirds of a CSS px"],
  [{ left: 8.5, top: 67.25 }, 2, "an editor that begins between two pixels"],
]) {
  test(`every image pixel is as wide as the next, and begins on a device pixel: ${why}`, () => {
    const view = viewport(screen);
    const { left = 0, top = 0, density = 1 } = screen;
    const begins = () => view.toScreen([0, 0]).map((at, axis) => (at + [left, top][axis]) * density);
    assert.ok(Math.abs(view.scale * density - expected) < 1e-6);
    for (const steps of [0, 1, 1, 1, -1, -1]) {
      view.zoomBy(steps, 123.4, 217.7);
      const ratio = view.scale * density;
      assert.ok(Math.abs(ratio - Math.round(ratio)) < 1e-6 && ratio > 0.99);
      for (const at of begins()) assert.ok(Math.abs(at - Math.round(at)) < 1e-6);
    }
  });
}

test("zoom goes by whole numbers, to the point under the pointer, and no further out than the picture's size", () => {
  const view = viewport();
  const seen = [1, 1, 1, 1, -1, -6].map((steps) => (view.zoomBy(steps, 350, 320), view.scale));
  assert.deepEqual(seen, [3, 4, 6, 8, 6, 1]);
  view.fit();
  const [x, y] = view.toImage(300, 280);
  view.zoomBy(3, 300, 280);
  const [nowX, nowY] = view.toImage(300, 280);
  assert.ok(Math.hypot(nowX - x, nowY - y) * view.scale < 1, "to a device pixel");
});

test("a picture larger than the window is shown whole, and then by whole parts", () => {
  const view = viewport({ picture: [2000, 1500] });
  const seen = [0, 1, -1].map((steps) => (view.zoomBy(steps, 350, 320), Math.round(view.scale * 100) / 100));
  assert.deepEqual(seen, [0.35, 0.5, 0.35]);
});

test("a window of another size fits again, or keeps its middle where it was zoomed", () => {
  const view = viewport();
  view.resize({ left: 0, top: 0, width: 1200, height: 920 }, 1);
  assert.equal(view.scale, 3);
  view.zoomBy(2, 600, 460);
  const middle = view.toImage(600, 460);
  view.resize({ left: 0, top: 0, width: 700, height: 640 }, 1);
  assert.ok(Math.hypot(...view.toImage(350, 320).map((at, axis) => at - middle[axis])) < 1);
});

test("a corner comes before an edge, an edge before the picture, and a finger reaches further than a mouse", () => {
  const view = viewport();
  const hit = (point, pointer, drawing = { rings: [SQUARE], open: [] }) => {
    return under(drawing, null, view, view.toScreen(point), pointer).kind;
  };
  assert.equal(hit([240, 50], "touch"), "corner", "20 px along the edge");
  assert.equal(hit([240, 50], "mouse"), "edge");
  assert.equal(hit([150, 55], "touch"), "edge", "10 px beside it");
  assert.equal(hit([150, 55], "mouse"), "canvas");
  assert.equal(hit([150, 50], "mouse", { rings: [SQUARE], open: [[9, 9]] }), "canvas", "while a ring is drawn");
});

test("what keeps a drawing from being sent is named, with its ring", () => {
  const of = (drawing) => findings(drawing, { width: SIDE, height: SIDE }).problem?.label ?? null;
  const bow = [[50, 50], [250, 250], [250, 50], [50, 250]];
  assert.equal(of({ rings: [], open: [] }), "outline_empty");
  assert.equal(of({ rings: [], open: SQUARE }), "outline_unfinished");
  assert.equal(of({ rings: [], open: bow }), "outline_self_crossing", "before the ring is closed");
  assert.equal(of({ rings: [SQUARE], open: [] }), null);
  const found = findings({ rings: [SQUARE, bow], open: [] }, { width: SIDE, height: SIDE });
  assert.deepEqual([found.problem.ring, found.crossings], [2, [[150, 150]]]);
});

test("every action takes another key, and one that is taken wins over a usual one", () => {
  const keys = new Keys({ place: ["p"], close: "x", right: "l", down: ["j", "ArrowDown"], fit: "c" });
  const pressed = ["p", "x", "L", "j", "ArrowDown", "c", "Enter", "?"].map((key) => keys.actionOf({ key }));
  assert.deepEqual(pressed, ["place", "close", "right", "down", "down", "fit", null, null]);
  assert.deepEqual([keys.nameOf("close"), keys.nameOf("next")], ["X", "]"]);
});

test("every word can be another language, which also writes the numbers", () => {
  const marked = Object.fromEntries(Object.keys(LABELS).map((name) => [name, `<${name}> {x} {corners} {close}`]));
  const problems = Object.fromEntries(Object.keys(LABELS.problems).map((code) => [code, `<${code}> {ring}`]));
  const words = new Words("de", new Keys(), { ...marked, problems });
  for (const name of Object.keys(LABELS).filter((each) => typeof LABELS[each] === "string")) {
    assert.equal(words.say(name, { point: [149.9, 150], corners: 1234 }), `<${name}> 149,9 1234 C`);
  }
  for (const code of Object.keys(LABELS.problems)) assert.equal(words.problem(code, 2), `<${code}> 2`);
});

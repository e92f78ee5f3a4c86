// Whether the page is in use: leases are renewed while it is, and after a long time without a pause a break is suggested.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { Use } from "../../static/js/label_use.js";

const MINUTE = 60_000;
const kept = new Map();
let heard;

beforeEach(() => {
  kept.clear();
  heard = {};
  globalThis.document = { visibilityState: "visible", addEventListener: (type, act) => (heard[type] = act) };
  globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
  mock.timers.reset();
  mock.timers.enable({ apis: ["setInterval", "Date"], now: 1_800_000_000_000 });
});

function used() {
  const told = { beats: 0, breaks: [] };
  const use = new Use({
    onBeat: () => (told.beats += 1),
    onBreak: (minutes) => told.breaks.push(minutes),
    breakMinutes: 50,
  });
  use.start();
  return told;
}

function works(minutes) {
  for (let passed = 0; passed < minutes; passed += 4) {
    heard.keydown();
    mock.timers.tick(4 * MINUTE);
  }
  heard.keydown();
}

test("a lease is renewed each minute while the page is in use, not when it is left, and at once on coming back", () => {
  const told = used();
  mock.timers.tick(10 * MINUTE);
  assert.equal(told.beats, 10);
  mock.timers.tick(15 * MINUTE);
  assert.equal(told.beats, 10);
  heard.pointerdown();
  assert.equal(told.beats, 11);
  globalThis.document.visibilityState = "hidden";
  mock.timers.tick(5 * MINUTE);
  assert.equal(told.beats, 11);
});

test("a break is suggested after fifty minutes, and again after as many", () => {
  const told = used();
  works(48);
  assert.deepEqual(told.breaks, []);
  mock.timers.tick(2 * MINUTE);
  heard.keydown();
  assert.deepEqual(told.breaks, [50]);
  works(52);
  assert.deepEqual(told.breaks, [50, 52]);
});

test("a pause of five minutes is a break, also in another window and where nothing can be kept", () => {
  const told = used();
  works(48);
  mock.timers.tick(5 * MINUTE);
  works(48);
  assert.deepEqual(told.breaks, []);
  localStorage.setItem = localStorage.getItem = () => {
    throw new Error("closed");
  };
  works(4);
  assert.deepEqual(told.breaks, [52]);
});

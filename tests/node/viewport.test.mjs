// How large a picture is shown, and where it lies in its window.

import assert from "node:assert/strict";
import test from "node:test";

import { Viewport } from "../../static/js/outline_viewport.js";

/**
 * A picture of 100 pixels in a window as wide and high as `window` CSS pixels.
 * @param {number} window
 * @param {number} density
 */
function shown(window, density = 1) {
  const viewport = new Viewport(100, 100);
  viewport.resize({ left: 0, top: 0, width: window, height: window }, density);
  return viewport;
}

/** @type {[number, number, number, string][]} */
const FITS = [
  [100, 1, 1, "its own size"],
  [133, 1, 1, "a whole number, where it wastes a quarter"],
  [140, 1, 1.4, "any, where the half step below is no larger than the whole one"],
  [150, 1, 1.5, "a half step, where a whole one wastes a third"],
  [199, 1, 1.5, "a half step below two"],
  [200, 1, 2, "two"],
  [266, 1, 2, "two, up to a quarter of waste"],
  [270, 1, 2.5, "a half step above that"],
  [299, 1, 2.5, "a half step below three"],
  [399, 1, 3, "three, which wastes less than a quarter"],
  [950, 1, 9, "whole numbers alone from three on"],
  [80, 1, 0.8, "smaller than itself: all there is"],
  [30, 1, 0.3, "much smaller than itself"],
  [100, 2, 2, "whole numbers of device pixels"],
  [95, 2, 1.5, "half steps of device pixels"],
];

for (const [window, density, ratio, why] of FITS) {
  test(`a window of ${window} px with ${density} device pixels each fits ${ratio}: ${why}`, () => {
    const { scale } = shown(window, density);
    assert.ok(Math.abs(scale * density - ratio) < 1e-9, `${scale * density}`);
    assert.ok(scale * 100 <= window + 1e-6, "all of the picture is in the window");
  });
}

test("no fit wastes more than a quarter of a window", () => {
  for (let window = 20; window < 2_000; window += 1) {
    assert.ok(shown(window).scale * 100 >= window * 0.75 - 1e-9, String(window));
  }
});

test("zoom goes on from a fit between two whole numbers to whole ones", () => {
  const viewport = shown(150);
  viewport.zoomBy(1, 75, 75);
  assert.equal(viewport.scale, 2);
  viewport.zoomBy(1, 75, 75);
  assert.equal(viewport.scale, 3);
  viewport.zoomBy(-2, 75, 75);
  assert.equal(viewport.scale, 1);
});

test("a fitted picture lies in the middle and begins on a device pixel", () => {
  const viewport = shown(151);
  const [left] = viewport.toScreen([0, 0]);
  assert.ok(Number.isInteger(left) || Math.abs(left - Math.round(left)) < 1e-9);
  assert.ok(Math.abs(left - (151 - 150) / 2) <= 0.5);
});

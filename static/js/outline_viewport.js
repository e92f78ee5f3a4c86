// The window upon the picture: which part of it is seen, and how large. Zoom goes by whole numbers of device pixels
// to an image pixel, and the picture begins on a device pixel: every image pixel is then as wide as the next one. Only
// the whole picture has a size between two whole numbers, where the smaller one would leave much of the window empty.

// Device pixels to an image pixel. Below one there is no whole number: a large picture is a whole part of its size.
const STEPS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
const MAX_ZOOM = 64;
// A fitted picture is at least this part of the width or height that there is.
const MIN_FILLED = 0.75;
const SIGHT_PX = 24;

/** @import { Point } from "./geometry_plane.js" */

/** `x`, `y`: the image point in the corner of the window; `scale`: CSS pixels to an image pixel. */
export class Viewport {
  /**
   * @param {number} imageWidth
   * @param {number} imageHeight
   */
  constructor(imageWidth, imageHeight) {
    this.image = { width: imageWidth, height: imageHeight };
    this.size = { left: 0, top: 0, width: 0, height: 0 };
    this.density = 1;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.fitted = true;
  }

  /**
   * A new size or place of the window, in CSS pixels, and the device pixels to one of them: a fitted picture is
   * fitted again, any other keeps its middle.
   * @param {{left: number, top: number, width: number, height: number}} box
   * @param {number} density
   */
  resize({ left, top, width, height }, density) {
    const middle = this.toImage(this.size.width / 2, this.size.height / 2);
    this.size = { left, top, width, height };
    this.density = density;
    if (this.fitted) this.fit();
    else this.place(middle, width / 2, height / 2, this.#whole(this.scale));
  }

  /** The whole picture, as large as a whole number makes it; where that wastes over a quarter, a half or any other. */
  fit() {
    this.scale = this.#fitting;
    const { width, height } = this.image;
    this.#begin((this.size.width - width * this.scale) / 2, (this.size.height - height * this.scale) / 2);
    this.fitted = true;
  }

  /**
   * @param {number} screenX
   * @param {number} screenY
   * @returns {Point}
   */
  toImage(screenX, screenY) {
    return [this.x + screenX / this.scale, this.y + screenY / this.scale];
  }

  /**
   * @param {Point} point
   * @returns {Point}
   */
  toScreen([x, y]) {
    return [(x - this.x) * this.scale, (y - this.y) * this.scale];
  }

  /**
   * How far two image points lie apart on the screen.
   * @param {Point} a
   * @param {Point} b
   */
  apart([ax, ay], [bx, by]) {
    return Math.hypot(ax - bx, ay - by) * this.scale;
  }

  /**
   * Zoom by whole-number steps, inwards when positive, so that what lies under a point of the screen stays there.
   * @param {number} steps
   * @param {number} screenX
   * @param {number} screenY
   */
  zoomBy(steps, screenX, screenY) {
    const point = this.toImage(screenX, screenY);
    let ratio = this.scale * this.density;
    for (let step = 0; step < Math.abs(steps); step += 1) ratio = neighbour(ratio, steps > 0);
    this.place(point, screenX, screenY, ratio / this.density);
  }

  /**
   * After fingers have zoomed freely: the nearest whole number, around a point of the screen.
   * @param {number} screenX
   * @param {number} screenY
   */
  settle(screenX, screenY) {
    if (this.fitted) return;
    this.place(this.toImage(screenX, screenY), screenX, screenY, this.#whole(this.scale));
  }

  /**
   * Bring an image point under a screen point at a given scale.
   * @param {Point} point
   * @param {number} screenX
   * @param {number} screenY
   * @param {number} scale
   */
  place(point, screenX, screenY, scale) {
    this.scale = Math.min(MAX_ZOOM, Math.max(this.#least, scale));
    this.fitted = false;
    this.#hold(point, screenX, screenY);
  }

  /** Whether all of the picture is in the window. */
  get showsAll() {
    const { width, height } = this.size;
    const [left, top] = this.toScreen([0, 0]);
    const [right, bottom] = this.toScreen([this.image.width, this.image.height]);
    return left >= -1 && top >= -1 && right <= width + 1 && bottom <= height + 1;
  }

  /**
   * Bring an image point to the middle of the window.
   * @param {Point} point
   */
  centre(point) {
    this.place(point, this.size.width / 2, this.size.height / 2, this.scale);
  }

  /**
   * Move just enough that an image point can be seen, with a little around it.
   * @param {Point} point
   */
  reveal(point) {
    const [x, y] = this.toScreen(point);
    const inX = Math.min(Math.max(x, SIGHT_PX), Math.max(SIGHT_PX, this.size.width - SIGHT_PX));
    const inY = Math.min(Math.max(y, SIGHT_PX), Math.max(SIGHT_PX, this.size.height - SIGHT_PX));
    if (!this.fitted && (inX !== x || inY !== y)) this.#hold(point, inX, inY);
  }

  get viewBox() {
    return `${this.x} ${this.y} ${this.size.width / this.scale} ${this.size.height / this.scale}`;
  }

  get #fitting() {
    const { width, height } = this.image;
    const free = Math.min(this.size.width / width, this.size.height / height) * this.density;
    return fittingRatio(free) / this.density;
  }

  /** No smaller than the picture is when it fits, and no need to go below its own size. */
  get #least() {
    return Math.min(this.#fitting, Math.max(1, Math.floor(this.density)) / this.density);
  }

  /** @param {number} scale */
  #whole(scale) {
    const ratio = scale * this.density;
    return ratio < 1 ? scale : Math.round(ratio) / this.density;
  }

  /**
   * The picture never leaves the window: its middle stays over the picture.
   * @param {Point} point
   * @param {number} screenX
   * @param {number} screenY
   */
  #hold([x, y], screenX, screenY) {
    const startX = clampMiddle(x - screenX / this.scale, this.size.width / this.scale, this.image.width);
    const startY = clampMiddle(y - screenY / this.scale, this.size.height / this.scale, this.image.height);
    this.#begin(-startX * this.scale, -startY * this.scale);
  }

  /**
   * Let the picture begin at a point of the window, or at the device pixel nearest to it.
   * @param {number} screenX
   * @param {number} screenY
   */
  #begin(screenX, screenY) {
    this.x = -this.#onDevicePixel(screenX, this.size.left) / this.scale;
    this.y = -this.#onDevicePixel(screenY, this.size.top) / this.scale;
  }

  /**
   * @param {number} offset
   * @param {number} origin
   */
  #onDevicePixel(offset, origin) {
    return Math.round((origin + offset) * this.density) / this.density - origin;
  }
}

/**
 * The ratio at which a picture is shown whole, of at most `free`.
 * @param {number} free
 */
function fittingRatio(free) {
  const halves = Math.floor(free * 2 + 1e-6) / 2;
  return [Math.floor(free + 1e-6), halves].find((ratio) => ratio >= free * MIN_FILLED) ?? free;
}

/**
 * @param {number} ratio
 * @param {boolean} inwards
 */
function neighbour(ratio, inwards) {
  if (inwards) return STEPS.find((step) => step > ratio + 1e-6) ?? STEPS[STEPS.length - 1];
  return STEPS.findLast((step) => step < ratio - 1e-6) ?? STEPS[0];
}

/**
 * @param {number} start
 * @param {number} seen
 * @param {number} whole
 */
function clampMiddle(start, seen, whole) {
  return Math.min(whole, Math.max(0, start + seen / 2)) - seen / 2;
}

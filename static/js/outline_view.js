// How the drawing is shown: an SVG whose viewBox is in image pixels, and the window upon it.
// Lines and dots keep their size on the screen by vector-effect; a dot is a line of no length with round caps.

const SVG = "http://www.w3.org/2000/svg";
const MOST_ZOOM = 64;
const LEAST_ZOOM = 0.05;
const CROSSING_PX = 9;
const CROSSHAIR_PX = [5, 18];
const MAGNIFIER_ZOOM = 2.5;

let scenes = 0;

/** The part of the image plane that is seen: `x`, `y` of its corner in pixels, `scale` in screen px per pixel. */
export class Viewport {
  constructor(imageWidth, imageHeight) {
    this.image = { width: imageWidth, height: imageHeight };
    this.size = { width: 0, height: 0 };
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.fitted = true;
  }

  /** A new size of the window: a fitted picture is fitted again, any other keeps its middle. */
  resize(width, height) {
    const middle = this.toImage(this.size.width / 2, this.size.height / 2);
    this.size = { width, height };
    if (this.fitted) this.fit();
    else this.#hold(middle, width / 2, height / 2);
  }

  /** The whole picture, in whole-number zoom where there is space for it. */
  fit() {
    const free = Math.min(this.size.width / this.image.width, this.size.height / this.image.height);
    this.scale = free >= 1 ? Math.floor(free) : Math.max(free, LEAST_ZOOM);
    // Whole screen pixels of margin, so that every image pixel is as wide as the next.
    this.x = -Math.floor((this.size.width - this.image.width * this.scale) / 2) / this.scale;
    this.y = -Math.floor((this.size.height - this.image.height * this.scale) / 2) / this.scale;
    this.fitted = true;
  }

  toImage(screenX, screenY) {
    return [this.x + screenX / this.scale, this.y + screenY / this.scale];
  }

  toScreen([x, y]) {
    return [(x - this.x) * this.scale, (y - this.y) * this.scale];
  }

  /** How far two image points lie apart on the screen. */
  apart([ax, ay], [bx, by]) {
    return Math.hypot(ax - bx, ay - by) * this.scale;
  }

  /** Zoom so that what lies under a point of the screen stays there. */
  zoomAt(factor, screenX, screenY) {
    this.place(this.toImage(screenX, screenY), screenX, screenY, this.scale * factor);
  }

  /** Bring an image point under a screen point at a given scale. */
  place(point, screenX, screenY, scale) {
    this.scale = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, scale));
    this.fitted = false;
    this.#hold(point, screenX, screenY);
  }

  /** Move just enough that an image point can be seen, with a little around it. */
  reveal(point) {
    const margin = 24;
    const [x, y] = this.toScreen(point);
    const inX = Math.min(Math.max(x, margin), Math.max(margin, this.size.width - margin));
    const inY = Math.min(Math.max(y, margin), Math.max(margin, this.size.height - margin));
    if (!this.fitted && (inX !== x || inY !== y)) this.#hold(point, inX, inY);
  }

  #hold([x, y], screenX, screenY) {
    this.x = clampMiddle(x - screenX / this.scale, this.size.width / this.scale, this.image.width);
    this.y = clampMiddle(y - screenY / this.scale, this.size.height / this.scale, this.image.height);
  }

  get viewBox() {
    return `${this.x} ${this.y} ${this.size.width / this.scale} ${this.size.height / this.scale}`;
  }
}

/** The picture never leaves the window: its middle stays over the picture. */
function clampMiddle(start, seen, whole) {
  return Math.min(whole, Math.max(0, start + seen / 2)) - seen / 2;
}

/** The SVG elements of one editor. Built once; `draw` sets paths. */
export class OutlineView {
  constructor(container, { imageUrl, width, height, name, describedBy }) {
    this.container = container;
    this.id = `outline-scene-${(scenes += 1)}`;
    this.svg = this.#surface(name, describedBy);
    this.scene = make("g", { id: this.id });
    this.image = make("image", { href: imageUrl, width, height, class: "outline-image is-pixelated" });
    this.paths = this.#paths();
    this.marks = make("g", { class: "outline-crossings" });
    this.scene.append(this.image, ...Object.values(this.paths), this.marks);
    this.svg.append(this.scene);
    this.magnifier = this.#magnifier();
    container.classList.add("outline-editor");
    container.append(this.svg, this.magnifier);
  }

  #surface(name, describedBy) {
    const svg = make("svg", { class: "outline-surface", role: "application", tabindex: "0" });
    svg.setAttribute("aria-label", name);
    svg.setAttribute("preserveAspectRatio", "none");
    if (describedBy) svg.setAttribute("aria-describedby", describedBy);
    return svg;
  }

  #magnifier() {
    const svg = make("svg", { class: "outline-magnifier", "aria-hidden": "true", hidden: "" });
    svg.append(make("use", { href: `#${this.id}` }));
    return svg;
  }

  #paths() {
    const names = [
      "fill", "line-halo", "line", "rubber-halo", "rubber", "corner-halo", "corner", "ghost-halo", "ghost",
      "first-halo", "first", "first-middle", "active-halo", "active", "active-middle", "crosshair-halo", "crosshair",
    ];
    return Object.fromEntries(names.map((name) => [name, make("path", { class: `outline-mark outline-${name}` })]));
  }

  destroy() {
    this.svg.remove();
    this.magnifier.remove();
    this.container.classList.remove("outline-editor");
  }

  /** Show lines, dots and marks; every argument is in image pixels, null or empty where there is nothing. */
  draw({ viewport, rings, open, rubber, corners, ghosts, first, firstIsTarget, active, crossings, crosshair }) {
    const closedPath = rings.map((ring) => `${polyline(ring)}Z`).join("");
    this.svg.setAttribute("viewBox", viewport.viewBox);
    this.#set("fill", closedPath);
    this.#setWithHalo("line", closedPath + polyline(open));
    this.#setWithHalo("rubber", polyline(rubber));
    this.#setWithHalo("corner", dots(corners));
    this.#setWithHalo("ghost", dots(ghosts));
    this.#setWithHalo("first", dots(first ? [first] : []));
    this.#set("first-middle", dots(first && !firstIsTarget ? [first] : []));
    this.#setWithHalo("active", dots(active ? [active] : []));
    this.#set("active-middle", dots(active ? [active] : []));
    this.#setWithHalo("crosshair", crosshair ? crosshairPath(crosshair, viewport.scale) : "");
    this.#markCrossings(crossings, viewport.scale);
  }

  #set(name, path) {
    this.paths[name].setAttribute("d", path);
  }

  #setWithHalo(name, path) {
    this.#set(`${name}-halo`, path);
    this.#set(name, path);
  }

  #markCrossings(crossings, scale) {
    const reach = CROSSING_PX / scale;
    const marks = crossings.slice(0, 50).map(([x, y]) => {
      const [left, right, top, bottom] = [x - reach, x + reach, y - reach, y + reach];
      const cross = `M${left} ${top}L${right} ${bottom}M${left} ${bottom}L${right} ${top}`;
      const ring = { cx: x, cy: y, r: reach * 1.6 };
      const mark = make("g", { class: "outline-crossing" });
      for (const name of ["outline-mark outline-crossing-halo", "outline-mark"]) {
        mark.append(make("circle", { ...ring, class: name }), make("path", { d: cross, class: name }));
      }
      return mark;
    });
    this.marks.replaceChildren(...marks);
  }

  /** Show what a finger hides, in the corner of the picture that is away from it; null puts it away. */
  magnify(point, viewport) {
    this.magnifier.toggleAttribute("hidden", !point);
    if (!point) return;
    const { width, height } = this.magnifier.getBoundingClientRect();
    const [seenX, seenY] = [width / viewport.scale / MAGNIFIER_ZOOM, height / viewport.scale / MAGNIFIER_ZOOM];
    this.magnifier.setAttribute("viewBox", `${point[0] - seenX / 2} ${point[1] - seenY / 2} ${seenX} ${seenY}`);
    const [screenX] = viewport.toScreen(point);
    this.magnifier.classList.toggle("is-right", screenX < viewport.size.width / 2);
  }
}

function make(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function polyline(points) {
  return points.length ? `M${points.map(([x, y]) => `${x} ${y}`).join("L")}` : "";
}

function dots(points) {
  return points.map(([x, y]) => `M${x} ${y}h0`).join("");
}

function crosshairPath([x, y], scale) {
  const [from, to] = CROSSHAIR_PX.map((length) => length / scale);
  return (
    `M${x - to} ${y}H${x - from}M${x + from} ${y}H${x + to}` +
    `M${x} ${y - to}V${y - from}M${x} ${y + from}V${y + to}M${x} ${y}h0`
  );
}

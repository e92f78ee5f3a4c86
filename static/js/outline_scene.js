// The drawing on the page: an SVG whose viewBox is in image pixels.
// Lines and dots keep their size on the screen by vector-effect; a dot is a line of no length with round caps.

const SVG = "http://www.w3.org/2000/svg";
const CROSSING_PX = 9;
const CROSSHAIR_PX = [5, 18];

/** @import { Line, Point } from "./geometry_plane.js" */
/** @import { Viewport } from "./outline_viewport.js" */
/** @typedef {{name: string, role: string, describedBy: string | null}} SurfaceNames for who does not see the surface */
/**
 * @typedef {object} Marks what is drawn over the picture, all of it in image pixels
 * @property {Line[]} rings
 * @property {Line} open
 * @property {Line} rubber from the last corner to where the next one would be
 * @property {Line} corners
 * @property {Line} ghosts where edges offer a new corner
 * @property {Point | null} first the corner that closes the open ring
 * @property {boolean} firstIsTarget whether a pointer is upon it
 * @property {Point | undefined} active the corner that is selected or under the pointer
 * @property {Point[]} crossings
 * @property {Point | null} crosshair
 * @property {Point | null} guides where the lines across the picture meet
 */

let scenes = 0;

/** The SVG elements of one editor. Built once; `draw` sets paths. */
export class Scene {
  /**
   * @param {HTMLElement} container
   * @param {{imageUrl: string, width: number, height: number}} picture
   * @param {SurfaceNames} names
   */
  constructor(container, { imageUrl, width, height }, names) {
    this.container = container;
    this.id = `outline-scene-${(scenes += 1)}`;
    this.svg = this.#surface(names);
    this.scene = make("g", { id: this.id });
    this.image = make("image", { href: imageUrl, width, height, class: "outline-image", id: `${this.id}-image` });
    this.paths = this.#paths();
    this.marks = make("g", { class: "outline-crossings" });
    this.scene.append(this.image, ...Object.values(this.paths), this.marks);
    this.svg.append(this.scene);
    container.classList.add("outline-editor");
    container.append(this.svg);
  }

  /** @param {SurfaceNames} names */
  #surface({ name, role, describedBy }) {
    const attributes = { class: "outline-surface is-pixelated", role: "application", tabindex: "0", dir: "ltr" };
    const svg = make("svg", attributes);
    svg.setAttribute("aria-label", name);
    svg.setAttribute("aria-roledescription", role);
    svg.setAttribute("preserveAspectRatio", "none");
    if (describedBy) svg.setAttribute("aria-describedby", describedBy);
    return svg;
  }

  #paths() {
    const names = [
      "guides-halo", "guides", "fill", "line-halo", "line", "rubber-halo", "rubber", "corner-halo", "corner", "ghost-halo", "ghost",
      "first-halo", "first", "first-middle", "active-halo", "active", "active-middle", "crosshair-halo", "crosshair",
    ];
    return Object.fromEntries(names.map((name) => [name, make("path", { class: `outline-mark outline-${name}` })]));
  }

  destroy() {
    this.svg.remove();
    this.container.classList.remove("outline-editor", "is-picture-only");
  }

  /**
   * Smooth, or every pixel a square. The loupe shows squares either way.
   * @param {boolean} smooth
   */
  smooth(smooth) {
    this.svg.classList.toggle("is-pixelated", !smooth);
  }

  /**
   * Change the light of the picture, in percent of its own. What is drawn over it stays as it is.
   * @param {number} brightness
   * @param {number} contrast
   */
  light(brightness, contrast) {
    const isOwn = brightness === 100 && contrast === 100;
    this.image.style.filter = isOwn ? "" : `brightness(${brightness}%) contrast(${contrast}%)`;
  }

  /**
   * Show another part of the picture, at once: what is clicked next is then clicked where it is seen.
   * @param {Viewport} viewport
   */
  look(viewport) {
    this.svg.setAttribute("viewBox", viewport.viewBox);
  }

  /**
   * @param {Viewport} viewport
   * @param {Marks} marks
   */
  draw(viewport, marks) {
    const { rings, open, rubber, corners, ghosts, first, firstIsTarget, active, crossings, crosshair, guides } = marks;
    const closedPath = rings.map((ring) => `${polyline(ring)}Z`).join("");
    this.look(viewport);
    this.#setWithHalo("guides", guides ? guidesPath(guides, viewport) : "");
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

  /**
   * @param {string} name
   * @param {string} path
   */
  #set(name, path) {
    this.paths[name].setAttribute("d", path);
  }

  /**
   * @param {string} name
   * @param {string} path
   */
  #setWithHalo(name, path) {
    this.#set(`${name}-halo`, path);
    this.#set(name, path);
  }

  /**
   * @param {Point[]} crossings
   * @param {number} scale
   */
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
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 */
export function make(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** @param {Line} points */
function polyline(points) {
  return points.length ? `M${points.map(([x, y]) => `${x} ${y}`).join("L")}` : "";
}

/** @param {Line} points */
function dots(points) {
  return points.map(([x, y]) => `M${x} ${y}h0`).join("");
}

/**
 * Lines across the whole picture.
 * @param {Point} point where they meet
 * @param {Viewport} viewport
 */
function guidesPath([x, y], { image }) {
  return `M0 ${y}H${image.width}M${x} 0V${image.height}`;
}

/**
 * @param {Point} point
 * @param {number} scale
 */
function crosshairPath([x, y], scale) {
  const [from, to] = CROSSHAIR_PX.map((length) => length / scale);
  return (
    `M${x - to} ${y}H${x - from}M${x + from} ${y}H${x + to}` +
    `M${x} ${y - to}V${y - from}M${x} ${y + from}V${y + to}M${x} ${y}h0`
  );
}

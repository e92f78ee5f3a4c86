// The view of one editor: the picture with the drawing over it, and the loupe, the bar after a trace and the list of
// corners beside them. It draws the model, and knows which part of the picture is seen.

import { CornerList } from "./outline_corner_list.js";
import * as drawings from "./outline_drawing.js";
import { Fineness } from "./outline_fineness.js";
import * as hits from "./outline_hits.js";
import { Loupe } from "./outline_loupe.js";
import { Minimap } from "./outline_minimap.js";
import { Scene } from "./outline_scene.js";

/** @import { Line, Point } from "./geometry_plane.js" */
/** @import { Drawing, Place } from "./outline_drawing.js" */
/** @import { FinenessEvents } from "./outline_fineness.js" */
/** @import { Gesture } from "./outline_gestures.js" */
/** @import { OutlineModel } from "./outline_model.js" */
/** @import { Trace, Tracer } from "./outline_trace.js" */
/** @import { Viewport } from "./outline_viewport.js" */
/** @import { Words } from "./outline_words.js" */
/**
 * @typedef {object} Interaction what the inputs are at; they write it, and the view shows it
 * @property {boolean} enabled false shows the picture alone
 * @property {boolean} panning whether a drag moves the picture in place of tracing
 * @property {Point | null} hover the screen point of a pointer that can hover
 * @property {Gesture | null} gesture
 * @property {boolean} crosshair whether the cursor of the keyboard is shown
 * @property {{panned: boolean} | null} space while the space bar is held
 */
/**
 * @typedef {FinenessEvents & {select: (place: Place | null) => void, zoom: (scale: number) => void}} ViewEvents what was
 *   chosen beside the drawing, and another size of the picture, in CSS pixels to one of its own
 */

export class OutlineView {
  #model;
  #tracer;
  #interaction;
  #words;
  #fineness;
  #list;
  #on;
  #frame = 0;
  #toldScale = 0;
  /** @type {Drawing | null} */
  #listed = null;
  #listening = new AbortController();
  #resizes;

  /**
   * @param {HTMLElement} container
   * @param {{imageUrl: string, width: number, height: number}} picture
   * @param {{model: OutlineModel, tracer: Tracer, viewport: Viewport, interaction: Interaction, words: Words}} parts
   * @param {ViewEvents} on
   */
  constructor(container, picture, { model, tracer, viewport, interaction, words }, on) {
    this.container = container;
    this.viewport = viewport;
    this.#model = model;
    this.#tracer = tracer;
    this.#interaction = interaction;
    this.#words = words;
    this.#on = on;
    /** Whether lines cross the picture where the pointer is. */
    this.hasGuides = false;
    this.scene = new Scene(container, picture, words.labels);
    this.loupe = new Loupe(container, this.scene.id, viewport);
    this.minimap = new Minimap(container, this.scene.image.id, viewport, () => this.look());
    this.#fineness = new Fineness(container, words.labels, on);
    const listWords = {
      name: words.labels.list,
      ring: (/** @type {number} */ ring, /** @type {number} */ corners, /** @type {boolean} */ open) =>
        words.say(open ? "listOpen" : "listRing", { ring: ring + 1, corners }),
      corner: (/** @type {number} */ _, /** @type {number} */ corner, /** @type {Point} */ point) =>
        words.say("listCorner", { corner: corner + 1, point }),
    };
    this.#list = new CornerList(container, listWords, on.select);
    this.#resizes = new ResizeObserver(() => this.#resized());
  }

  /** The element that takes the input. */
  get surface() {
    return this.scene.svg;
  }

  /** Begin to follow the size of the editor. */
  start() {
    this.#resizes.observe(this.surface);
    this.#watchDensity();
    this.#resized();
  }

  destroy() {
    this.#listening.abort();
    this.#resizes.disconnect();
    cancelAnimationFrame(this.#frame);
    for (const part of [this.#list, this.#fineness, this.loupe, this.minimap, this.scene]) part.destroy();
  }

  /** The page is zoomed, or moved to another screen: an image pixel is a whole number of other pixels. */
  #watchDensity() {
    const same = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    const changed = () => {
      this.#watchDensity();
      this.#resized();
    };
    same.addEventListener("change", changed, { once: true, signal: this.#listening.signal });
  }

  #resized() {
    const box = this.surface.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.viewport.resize(box, devicePixelRatio);
    // At once: a frame later the picture would have been seen squeezed.
    this.#draw();
  }

  // Where things are.

  /**
   * The screen point of an event, from the corner of the surface.
   * @param {MouseEvent} event
   * @returns {Point}
   */
  screenPoint(event) {
    const { left, top } = this.surface.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /**
   * The image point under a screen point, kept inside the picture and to 0.01 px.
   * @param {Point} screen
   */
  imagePoint(screen) {
    return this.#model.inside(this.viewport.toImage(...screen));
  }

  /**
   * What lies under a screen point.
   * @param {Point} screen
   * @param {string} pointerType
   */
  hit(screen, pointerType) {
    return hits.under(this.#model.drawing, this.#model.selected, this.viewport, screen, pointerType);
  }

  /** The screen point to zoom around: what is worked on, when it is in sight; else the middle. */
  #zoomCentre() {
    const { width, height } = this.viewport.size;
    const { crosshair, hover } = this.#interaction;
    const point = this.#model.selectedPoint ?? (crosshair ? this.#model.cursor : null);
    const worked = point ?? (hover ? null : this.#model.present.open.at(-1));
    const [x, y] = (worked ? this.viewport.toScreen(worked) : hover) ?? [-1, -1];
    const isInSight = x >= 0 && x <= width && y >= 0 && y <= height;
    return /** @type {Point} */ (isInSight ? [x, y] : [width / 2, height / 2]);
  }

  // Showing.

  /**
   * Zoom by whole-number steps around where the work is.
   * @param {number} steps
   */
  zoom(steps) {
    this.viewport.zoomBy(steps, ...this.#zoomCentre());
    this.look();
  }

  fit() {
    this.viewport.fit();
    this.look();
  }

  /** The viewport has moved. */
  look() {
    this.scene.look(this.viewport);
    this.redraw();
  }

  /**
   * Show beside a finger or a pen what it hides; a mouse hides nothing.
   * @param {Point} point
   * @param {Point} screen
   * @param {PointerEvent} event
   */
  magnify(point, screen, { pointerType }) {
    if (pointerType !== "mouse") this.loupe.show(point, screen);
  }

  /** Draw everything anew with the next frame. */
  redraw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    this.#drawBeside();
    this.minimap.draw();
    this.#tellScale();
    const { drawing, selected, cursor } = this.#model;
    const { rings, open } = drawing;
    const { crosshair } = this.#interaction;
    const under = this.#underPointer();
    const ghosts = hits.ghosts(drawing, selected, this.viewport).map(({ point }) => point);
    if (under.kind === "edge") ghosts.push(under.point);
    const corner = under.kind === "corner" ? under.place : null;
    this.surface.classList.toggle("is-over-corner", under.kind === "corner");
    this.surface.classList.toggle("is-over-edge", under.kind === "edge");
    this.scene.draw(this.viewport, {
      rings,
      open,
      rubber: this.#rubber(open),
      corners: [...rings, open].flat(),
      ghosts,
      first: open.length >= 3 ? open[0] : null,
      firstIsTarget: corner?.corner === 0 && drawings.isOpen(drawing, corner.ring),
      active: drawings.cornerAt(drawing, selected ?? corner),
      crossings: this.#model.findings.crossings,
      crosshair: crosshair && !selected ? cursor : null,
      guides: this.hasGuides ? this.#pointedAt : null,
    });
  }

  #tellScale() {
    const { scale } = this.viewport;
    if (scale === this.#toldScale) return;
    this.#toldScale = scale;
    this.#on.zoom(scale);
  }

  /** The image point that a mouse, a pen or the keyboard is at. */
  get #pointedAt() {
    const { crosshair, hover } = this.#interaction;
    return crosshair ? (this.#model.selectedPoint ?? this.#model.cursor) : hover && this.imagePoint(hover);
  }

  /** @returns {hits.Hit} */
  #underPointer() {
    const { enabled, gesture, hover } = this.#interaction;
    return hover && !gesture && enabled ? this.hit(hover, "mouse") : { kind: "canvas" };
  }

  #drawBeside() {
    const { enabled, gesture } = this.#interaction;
    const traced = enabled && !gesture ? this.#tracer.last : null;
    if (traced) {
      const { corners, tolerance, trace } = traced;
      this.#fineness.show(this.#words.say("fine", { corners, tolerance }), this.#liesLow(trace));
    } else {
      this.#fineness.show(null, false);
    }
    if (this.#model.isPreview || this.#listed === this.#model.present) return;
    this.#listed = this.#model.present;
    this.#list.show(this.#listed);
  }

  /**
   * Whether a traced line leaves more space above it than below.
   * @param {Trace} trace
   */
  #liesLow({ span: [top, bottom] }) {
    const [, highest] = this.viewport.toScreen([0, top]);
    const [, lowest] = this.viewport.toScreen([0, bottom]);
    return highest > this.viewport.size.height - lowest;
  }

  /**
   * From the last corner to where the next one would be.
   * @param {Line} open
   */
  #rubber(open) {
    const { crosshair, gesture, hover } = this.#interaction;
    const last = open.at(-1);
    const next = crosshair ? this.#model.cursor : hover && this.imagePoint(hover);
    return last && next && !gesture && !this.#model.selected ? [last, next] : [];
  }
}

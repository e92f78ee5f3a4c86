// Draws outlines on a picture with mouse, finger, pen or keyboard alone (R11). No dependency, no inline style.
//
// There are no modes: a corner under the pointer is dragged, an edge takes a new corner, anywhere else a click
// places a corner and a drag traces a line. All coordinates are image pixels, clamped and kept to 0.01.

import * as drawings from "./outline_drawing.js";
import { Keyboard } from "./outline_keyboard.js";
import { Keys } from "./outline_keys.js";
import { OutlineModel } from "./outline_model.js";
import { Pointers } from "./outline_pointers.js";
import { Tracer } from "./outline_trace.js";
import { OutlineView } from "./outline_view.js";
import { Viewport } from "./outline_viewport.js";
import { Words } from "./outline_words.js";

/** @import { Line } from "./geometry_plane.js" */
/** @import { Drawing, Place } from "./outline_drawing.js" */
/** @import { Interaction } from "./outline_view.js" */
/** @import { Label, LabelChanges, Values } from "./outline_words.js" */
/**
 * @typedef {object} EditorOptions
 * @property {string} imageUrl the picture
 * @property {number} width
 * @property {number} height
 * @property {Line[]} [rings] what is drawn already
 * @property {(editor: OutlineEditor, change: {settled: boolean}) => void} [onChange] after every change; `settled` is false
 *   while something is being dragged
 * @property {(text: string) => void} [announce] receives words for an aria-live region of the page
 * @property {LabelChanges} [labels] replaces any of LABELS
 * @property {Record<string, string | string[]>} [keys] gives actions of KEYS other keys: {close: "x", place: ["Enter", "p"]}
 * @property {number} [simplify] how far a traced line may lie from its corners, in pixels of a picture 299 wide
 * @property {(tolerance: number) => void} [onSimplify] hears of another choice, for the page to remember
 * @property {() => void} [onIgnored] hears of a press on the picture while the editor is not enabled
 * @property {(scale: number) => void} [onZoom] hears how large the picture is shown, in CSS pixels to one of its own
 */

/**
 * One editor in one container, which gives it its size.
 *
 * Handled keys have their default prevented; a page that listens to keys too looks at `defaultPrevented`.
 */
export class OutlineEditor {
  #words;
  #onChange;
  #onSimplify;
  #announce;
  #model;
  #tracer;
  #viewport;
  #view;
  #pointers;
  #keyboard;
  /** @type {Interaction} */
  #interaction = { enabled: true, panning: false, hover: null, gesture: null, crosshair: false, space: null };
  #listening = new AbortController();

  /**
   * @param {HTMLElement} container
   * @param {EditorOptions} options
   */
  constructor(container, options) {
    const { width, height, rings = [], simplify = 1 } = options;
    const ignored = () => {};
    this.#onChange = options.onChange ?? ignored;
    this.#onSimplify = options.onSimplify ?? ignored;
    this.#announce = options.announce ?? ignored;
    const language = /** @type {HTMLElement | null} */ (container.closest("[lang]"))?.lang;
    const keys = new Keys(options.keys);
    this.#words = new Words(language, keys, options.labels);
    const events = {
      redraw: () => this.#view.redraw(),
      change: (/** @type {boolean} */ settled) => this.#onChange(this, { settled }),
      say: (/** @type {Label} */ label, /** @type {Values | undefined} */ values) =>
        this.#announce(this.#words.say(label, values)),
      reveal: (/** @type {[number, number]} */ point) => this.#viewport.reveal(point),
    };
    this.#model = new OutlineModel({ width, height }, events);
    this.#tracer = new Tracer(this.#model, { width, height }, events);
    this.#viewport = new Viewport(width, height);
    const parts = {
      model: this.#model,
      tracer: this.#tracer,
      viewport: this.#viewport,
      interaction: this.#interaction,
      words: this.#words,
    };
    this.#view = new OutlineView(container, options, parts, {
      step: (coarser) => this.#refine(coarser),
      done: () => this.#endTrace(),
      select: (place) => this.#selectListed(place),
      zoom: options.onZoom ?? ignored,
    });
    this.simplify = simplify;
    const withView = { ...parts, keys, view: this.#view };
    this.#pointers = new Pointers(withView, options.onIgnored ?? ignored, this.#listening.signal);
    this.#keyboard = new Keyboard(withView, this.#actions(), this.#listening.signal);
    this.rings = rings;
    this.#view.start();
  }

  #actions() {
    return {
      undo: () => this.undo(),
      redo: () => this.redo(),
      zoomIn: () => this.zoomIn(),
      zoomOut: () => this.zoomOut(),
      fit: () => this.fit(),
      refine: (/** @type {boolean} */ coarser) => this.#refine(coarser),
      abandonGesture: () => this.#pointers.abandon(),
      announce: this.#announce,
    };
  }

  /** The closed rings, [[[x, y], ...], ...] in image pixels, as of the last settled change. */
  get rings() {
    return drawings.copyOf(this.#model.present).rings;
  }

  set rings(rings) {
    this.state = { rings, open: [] };
  }

  /** Everything drawn, the unfinished ring too: {rings, open}. Setting it starts a new history. */
  get state() {
    return drawings.copyOf(this.#model.present);
  }

  set state({ rings, open = [] }) {
    this.restore({ rings, open });
  }

  /** The steps of the history, to be kept with the state. */
  get steps() {
    return this.#model.steps;
  }

  /**
   * Show a drawing with the steps that were kept with it.
   * @param {Drawing} drawing
   * @param {unknown} [steps]
   */
  restore(drawing, steps) {
    this.#pointers.abandon();
    this.#model.reset(drawing, steps);
    this.#tracer.end();
  }

  /**
   * Go on with what another window or browser has made of the drawing; an undo leads back.
   * @param {Drawing} drawing
   * @param {unknown} [steps]
   */
  adopt(drawing, steps) {
    this.#pointers.abandon();
    this.#model.adopt(drawing, steps);
    this.#tracer.end();
  }

  /** Whether a pointer is just drawing, dragging or moving the picture. */
  get isInGesture() {
    return this.#interaction.gesture !== null;
  }

  /** Whether a ring is begun and not closed. */
  get drawing() {
    return this.#model.present.open.length > 0;
  }

  /** What keeps the outline from being sent, as {code, message, ring}; null when nothing does. */
  get problem() {
    const { problem } = this.#model.findings;
    if (!problem) return null;
    const { code, label, ring } = problem;
    return { code, ring, message: this.#words.problem(label, ring ?? 1) };
  }

  get canUndo() {
    return this.#model.canUndo;
  }

  get canRedo() {
    return this.#model.canRedo;
  }

  undo() {
    this.#pointers.abandon();
    this.#model.undo();
  }

  redo() {
    this.#pointers.abandon();
    this.#model.redo();
  }

  /** The whole picture, as large as there is room for; mostly a whole number of device pixels to an image pixel. */
  fit() {
    this.#view.fit();
  }

  /** To the next whole number, around where the work is. */
  zoomIn() {
    this.#view.zoom(1);
  }

  zoomOut() {
    this.#view.zoom(-1);
  }

  /** Device pixels to an image pixel. */
  get zoom() {
    return this.#viewport.scale * this.#viewport.density;
  }

  /** True: a drag on the picture moves it in place of tracing, for hands with one finger free; a tap still places. */
  get panning() {
    return this.#interaction.panning;
  }

  set panning(panning) {
    this.#pointers.abandon();
    this.#interaction.panning = panning;
    this.#view.surface.classList.toggle("can-pan", panning);
  }

  /**
   * True shows the picture smoothed, false every pixel as a square.
   * @param {boolean} smooth
   */
  setSmoothing(smooth) {
    this.#view.scene.smooth(smooth);
  }

  /**
   * Show the picture in another light, in percent of its own. Nobody else sees it so.
   * @param {number} brightness
   * @param {number} contrast
   */
  setLight(brightness, contrast) {
    this.#view.scene.light(brightness, contrast);
  }

  /**
   * Whether lines cross the picture where the pointer is.
   * @param {boolean} shown
   */
  setGuides(shown) {
    this.#view.hasGuides = shown;
    this.#view.redraw();
  }

  /**
   * Whether a zoomed picture has a map in its corner.
   * @param {boolean} shown
   */
  setMinimap(shown) {
    this.#view.minimap.wanted = shown;
    this.#view.redraw();
  }

  /** How far a traced line may lie from its corners, in pixels of a picture 299 wide: 0.25 to 6. */
  get simplify() {
    return this.#tracer.tolerance;
  }

  set simplify(tolerance) {
    this.#tracer.tolerance = tolerance;
  }

  /** Whether the line traced last can still be made finer or coarser: nothing was changed after it. */
  get canSimplify() {
    return this.#interaction.enabled && this.#tracer.last !== null;
  }

  fewerCorners() {
    this.#refine(true);
  }

  moreCorners() {
    this.#refine(false);
  }

  /**
   * False shows the picture alone; zoom and pan go on working and the drawing is kept.
   * @param {boolean} enabled
   */
  setEnabled(enabled) {
    this.#pointers.abandon();
    this.#interaction.enabled = enabled;
    this.#view.container.classList.toggle("is-picture-only", !enabled);
    this.#view.surface.setAttribute("aria-disabled", String(!enabled));
    this.#view.redraw();
  }

  clear() {
    this.#pointers.abandon();
    this.#model.clear();
  }

  focus() {
    this.#view.surface.focus({ preventScroll: true });
  }

  /**
   * Do what a key of this action of KEYS does, wherever the focus is; returns whether anything was done.
   * @param {string} action
   */
  perform(action) {
    return this.#keyboard.perform(action);
  }

  destroy() {
    this.#pointers.abandon();
    this.#listening.abort();
    this.#view.destroy();
  }

  /** @param {boolean} coarser */
  #refine(coarser) {
    if (!this.canSimplify) return false;
    this.#pointers.abandon();
    this.#tracer.refine(coarser);
    this.#onSimplify(this.simplify);
    return true;
  }

  #endTrace() {
    this.#tracer.end();
    this.focus();
  }

  /**
   * Select a corner from the list of corners, which may be a moment behind.
   * @param {Place | null} place
   */
  #selectListed(place) {
    this.focus();
    if (!drawings.cornerAt(this.#model.drawing, place)) return;
    this.#interaction.crosshair = true;
    this.#model.select(place);
  }
}

// The keyboard on the surface of an editor: a cursor to place corners with, and a key for every action.

import { CORNER_REACH } from "./outline_hits.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { EditorParts } from "./outline_gestures.js" */
/** @import { Keys } from "./outline_keys.js" */
/** @import { Words } from "./outline_words.js" */
/**
 * @typedef {object} EditorActions what keys share with the methods of the editor
 * @property {() => void} undo
 * @property {() => void} redo
 * @property {() => void} zoomIn
 * @property {() => void} zoomOut
 * @property {() => void} fit
 * @property {(coarser: boolean) => boolean} refine
 * @property {() => void} abandonGesture
 * @property {(text: string) => void} announce
 */

/** @type {Record<string, Point>} */
const ARROWS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

export class Keyboard {
  #model;
  #view;
  #interaction;
  #keys;
  #words;
  #editor;

  /**
   * @param {EditorParts & {keys: Keys, words: Words}} parts
   * @param {EditorActions} editor
   * @param {AbortSignal} signal ends the listening
   */
  constructor({ model, view, interaction, keys, words }, editor, signal) {
    this.#model = model;
    this.#view = view;
    this.#interaction = interaction;
    this.#keys = keys;
    this.#words = words;
    this.#editor = editor;
    const { surface } = view;
    surface.addEventListener("keydown", (event) => this.#keyDown(event), { signal });
    surface.addEventListener("keyup", (event) => this.#keyUp(event), { signal });
    surface.addEventListener("focus", () => this.#focused(), { signal });
    surface.addEventListener("blur", () => this.#blurred(), { signal });
  }

  /** @param {KeyboardEvent} event */
  #keyDown(event) {
    // On some keyboards the brackets need AltGr, which comes with Ctrl and Alt.
    const isChord = (event.ctrlKey || event.metaKey) && !event.getModifierState("AltGraph");
    if (isChord ? this.#chord(event) : this.#key(event)) event.preventDefault();
  }

  /** @param {KeyboardEvent} event */
  #chord(event) {
    if (!this.#interaction.enabled) return false;
    const direction = ARROWS[this.#keys.actionOf(event) ?? ""];
    if (direction) return this.#arrow(event, direction);
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return false;
    if (key === "y" || event.shiftKey) this.#editor.redo();
    else this.#editor.undo();
    return true;
  }

  /**
   * Whether the key meant something.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    const action = this.#keys.actionOf(event) ?? "";
    if (this.#interaction.enabled && ARROWS[action]) return this.#arrow(event, ARROWS[action]);
    return this.perform(action);
  }

  /**
   * Do what a key of this action of KEYS does, wherever the focus is; returns whether anything was done.
   * @param {string} action
   */
  perform(action) {
    const act = this.#looks[action] ?? (this.#interaction.enabled ? this.#draws[action] : null);
    return act ? act() !== false : false;
  }

  // What each action does; false says that there was nothing to do.
  /** @type {Record<string, () => unknown>} */
  #looks = {
    zoomIn: () => this.#editor.zoomIn(),
    zoomOut: () => this.#editor.zoomOut(),
    fit: () => this.#editor.fit(),
  };

  /** @type {Record<string, () => unknown>} */
  #draws = {
    place: () => this.#enter(),
    hold: () => this.#holdSpace(),
    close: () => this.#isDrawing && this.#model.close(),
    previous: () => this.#selectNext(-1),
    next: () => this.#selectNext(1),
    insert: () => this.#model.insertAfterSelected(),
    remove: () => this.#remove(),
    leave: () => this.#escape(),
    fewer: () => this.#editor.refine(true),
    more: () => this.#editor.refine(false),
  };

  get #isDrawing() {
    return this.#model.present.open.length > 0;
  }

  /**
   * Move the selected corner, or the cursor.
   * @param {KeyboardEvent} event
   * @param {Point} direction
   */
  #arrow(event, [dx, dy]) {
    const step = stepOf(event);
    this.#editor.abandonGesture();
    if (this.#model.selected) {
      this.#model.nudge([dx * step, dy * step], event.timeStamp);
    } else {
      const [x, y] = this.#model.cursor;
      if (this.#interaction.crosshair) this.#model.cursor = this.#model.inside([x + dx * step, y + dy * step]);
      this.#showCrosshair();
    }
    return true;
  }

  #holdSpace() {
    this.#interaction.space ??= { panned: false };
    this.#view.surface.classList.add("can-pan");
  }

  /** @param {KeyboardEvent} event */
  #keyUp(event) {
    const { space, enabled } = this.#interaction;
    if (!space || this.#keys.actionOf(event) !== "hold") return;
    this.#releaseSpace();
    if (!space.panned && enabled) this.#placeByKey();
  }

  #releaseSpace() {
    this.#interaction.space = null;
    this.#view.surface.classList.toggle("can-pan", this.#interaction.panning);
  }

  /** With the keyboard, Enter places a corner; with the mouse, it closes the ring being drawn. */
  #enter() {
    if (this.#interaction.crosshair || this.#model.selected) return this.#placeByKey();
    return this.#isDrawing && this.#model.close();
  }

  #placeByKey() {
    const { present, cursor, selected } = this.#model;
    const { crosshair } = this.#interaction;
    const [first] = present.open;
    const apart = first ? this.#view.viewport.apart(first, cursor) : Infinity;
    if (crosshair && present.open.length >= 3 && apart <= CORNER_REACH.pen) {
      this.#model.close();
    } else if (selected) {
      this.#interaction.crosshair = true;
      this.#model.select(null);
    } else if (crosshair) {
      this.#model.place(cursor);
    } else {
      this.#showCrosshair();
    }
  }

  #escape() {
    if (this.#model.isPreview) this.#editor.abandonGesture();
    else if (this.#model.selected) this.#model.select(null);
    else if (this.#isDrawing) this.#model.cancelOpen();
    else return false;
    return true;
  }

  #remove() {
    this.#editor.abandonGesture();
    return this.#model.removeSelectedOrLast();
  }

  /** @param {1 | -1} step */
  #selectNext(step) {
    const selects = this.#model.selectNext(step);
    if (selects) this.#interaction.crosshair = true;
    return selects;
  }

  #focused() {
    if (this.#interaction.enabled && this.#view.surface.matches(":focus-visible")) this.#showCrosshair();
  }

  #blurred() {
    this.#releaseSpace();
    this.#interaction.crosshair = false;
    this.#view.redraw();
  }

  #showCrosshair() {
    const { crosshair, hover } = this.#interaction;
    if (!crosshair && hover) this.#model.cursor = this.#view.imagePoint(hover);
    this.#interaction.crosshair = true;
    this.#view.viewport.reveal(this.#model.cursor);
    this.#editor.announce(this.#words.say("at", { point: this.#model.cursor }));
    this.#view.redraw();
  }
}

/**
 * How far an arrow goes, in pixels of the picture.
 * @param {KeyboardEvent} event
 */
function stepOf({ ctrlKey, metaKey, shiftKey, altKey }) {
  if (ctrlKey || metaKey) return 50;
  return shiftKey ? 10 : altKey ? 0.1 : 1;
}

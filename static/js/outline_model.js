// The model of one editor, without a page: the drawing with its history, the corner that is selected and the cursor of
// the keyboard. Inputs change it; the view and the page hear of each change.

import { quantise } from "./geometry.js";
import * as drawings from "./outline_drawing.js";
import { packed, unpacked } from "./outline_steps.js";

/** @import { Point } from "./geometry_plane.js" */
/** @import { Drawing, Findings, Place, Size } from "./outline_drawing.js" */
/** @import { Label, Values } from "./outline_words.js" */
/**
 * @typedef {object} ModelEvents
 * @property {() => void} redraw something is to be drawn anew
 * @property {(settled: boolean) => void} change the drawing has changed; not settled while it is dragged
 * @property {(label: Label, values?: Values) => void} say what has happened, for a screen reader
 * @property {(point: Point) => void} reveal an image point is to be in sight
 */

const BURST_MS = 1000;

export class OutlineModel {
  /** Where the keyboard is, in image pixels. */
  cursor;
  #image;
  #on;
  #history = new drawings.History(drawings.NOTHING);
  /** @type {Drawing | null} */
  #preview = null; // the drawing while a gesture changes it
  /** @type {Place | null} */
  #selected = null;
  #lastNudge = -Infinity;
  /** @type {Findings & {drawing: Drawing | null}} */
  #checked = { drawing: null, problem: null, crossings: [] };

  /**
   * @param {Size} image
   * @param {ModelEvents} on
   */
  constructor(image, on) {
    this.#image = image;
    this.#on = on;
    this.cursor = /** @type {Point} */ ([Math.round(image.width / 2), Math.round(image.height / 2)]);
  }

  // Reading.

  /** What is seen: a gesture's preview, else the present drawing. */
  get drawing() {
    return this.#preview ?? this.#history.present;
  }

  /** The drawing as of the last settled change. */
  get present() {
    return this.#history.present;
  }

  get isPreview() {
    return this.#preview !== null;
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  /** The place of the selected corner, or null. */
  get selected() {
    return this.#selected;
  }

  /** The image point of the selected corner, if one is selected. */
  get selectedPoint() {
    return drawings.cornerAt(this.drawing, this.#selected);
  }

  /** Where the lines meet, and what keeps the drawing from being sent. */
  get findings() {
    const { drawing } = this;
    if (this.#checked.drawing !== drawing) {
      this.#checked = { drawing, ...drawings.findings(drawing, this.#image) };
    }
    return this.#checked;
  }

  /**
   * The nearest point of the picture, kept to 0.01 px.
   * @param {Point} point
   * @returns {Point}
   */
  inside([x, y]) {
    return [clamp(x, this.#image.width), clamp(y, this.#image.height)];
  }

  // Changes.

  /** The steps back and forth, to be kept with the present drawing. */
  get steps() {
    return packed(this.present, this.#history.steps);
  }

  /**
   * Begin a new history with a drawing, and with the steps that were kept with it.
   * @param {Drawing} drawing
   * @param {unknown} [steps]
   */
  reset(drawing, steps) {
    this.#history = new drawings.History(drawings.copyOf(drawing));
    this.#history.steps = unpacked(this.present, steps) ?? this.#history.steps;
    this.#preview = null;
    this.#selected = null;
    this.#on.redraw();
  }

  /**
   * Go on with what another window or browser has made of the drawing. Where that did not begin with the present one,
   * an undo brings the present one back.
   * @param {Drawing} drawing
   * @param {unknown} [steps]
   */
  adopt(drawing, steps) {
    const mine = JSON.stringify(this.present);
    const { past, future } = unpacked(drawing, steps) ?? { past: [], future: [] };
    if ([drawing, ...past, ...future].some((each) => JSON.stringify(each) === mine)) {
      this.reset(drawing, steps);
    } else {
      this.#selected = null;
      this.#preview = null;
      this.#history.commit(drawings.copyOf(drawing));
      this.#on.redraw();
    }
  }

  /**
   * Show what a gesture would make of the drawing; a place selects a corner, null none.
   * @param {Drawing} drawing
   * @param {Place | null} selected
   */
  preview(drawing, selected) {
    this.#selected = selected;
    this.#preview = drawing;
    this.#on.redraw();
    this.#on.change(false);
  }

  /** Drop what a gesture has changed so far. */
  dropPreview() {
    if (!this.#preview) return;
    this.#preview = null;
    this.#on.redraw();
    this.#on.change(true);
  }

  /** Keep the preview in which a corner was dragged. */
  keepMoved() {
    this.commit(this.drawing);
    if (this.#selected) this.#sayCorner("moved", this.#selected);
  }

  undo() {
    this.#travel(this.#history.undo(), "undone");
  }

  redo() {
    this.#travel(this.#history.redo(), "redone");
  }

  clear() {
    this.#selected = null;
    this.commit(drawings.NOTHING);
    this.#on.say("cleared");
  }

  /**
   * Add a corner to the open ring.
   * @param {Point} point
   */
  place(point) {
    this.#selected = null;
    this.commit(drawings.withAdded(this.present, [point]));
    this.#on.say("placed", { corner: this.present.open.length, point });
  }

  /** Close the open ring; returns false where it has too few corners. */
  close() {
    const { rings, open } = this.present;
    if (open.length < 3) {
      this.#on.say("needsThree");
      return false;
    }
    this.#selected = null;
    this.commit(drawings.closed(this.present));
    this.#on.say("closed", { ring: rings.length + 1, corners: open.length });
    return true;
  }

  /**
   * @param {Place} place
   * @param {Point} point
   */
  insert(place, point) {
    this.commit(drawings.withInserted(this.present, place, point));
    this.#selected = place;
    this.#sayCorner("inserted", place);
  }

  /** Insert a corner in the middle of the edge after the selected one; returns whether that could be done. */
  insertAfterSelected() {
    if (!this.#selected) return false;
    const edge = drawings.edgeAfter(this.drawing, this.#selected);
    if (!edge) {
      this.#on.say("noEdge");
      return false;
    }
    this.insert(edge.place, this.inside([(edge.from[0] + edge.to[0]) / 2, (edge.from[1] + edge.to[1]) / 2]));
    return true;
  }

  /** @param {Place} place */
  remove(place) {
    const before = this.present;
    if (!drawings.cornerAt(before, place)) return;
    const after = drawings.withoutCorner(before, place);
    this.#selected = null;
    this.commit(after);
    this.#on.say(after.rings.length < before.rings.length ? "ringRemoved" : "removed");
  }

  /** Remove the selected corner, or the last one of the open ring; returns whether there was one. */
  removeSelectedOrLast() {
    const { rings, open } = this.present;
    const place = this.#selected ?? (open.length ? { ring: rings.length, corner: open.length - 1 } : null);
    if (place) this.remove(place);
    return place !== null;
  }

  /** Give up the open ring. */
  cancelOpen() {
    this.#selected = null;
    this.commit({ ...this.present, open: [] });
    this.#on.say("cancelled");
  }

  /**
   * Select a corner, or none.
   * @param {Place | null} place
   */
  select(place) {
    this.#history.endBurst();
    this.#selected = place;
    const point = this.selectedPoint;
    if (place && point) {
      this.cursor = point;
      this.#on.reveal(point);
      this.#sayCorner("selected", place);
    } else {
      this.#on.say("released");
    }
    this.#on.redraw();
  }

  /** Select no corner, before another change. */
  deselect() {
    this.#selected = null;
  }

  /**
   * Select the next corner, or the one before; returns whether there is any.
   * @param {1 | -1} step
   */
  selectNext(step) {
    const places = drawings.lines(this.drawing).flatMap((line, ring) => line.map((_, corner) => ({ ring, corner })));
    if (!places.length) return false;
    const { ring: atRing, corner: atCorner } = this.#selected ?? {};
    const at = places.findIndex(({ ring, corner }) => ring === atRing && corner === atCorner);
    const start = at < 0 && step < 0 ? 0 : at;
    this.select(places[(start + step + places.length) % places.length]);
    return true;
  }

  /**
   * Move the selected corner; moves within a second are one step of the history.
   * @param {Point} by
   * @param {number} time in milliseconds
   */
  nudge([dx, dy], time) {
    const { selected: place, selectedPoint: from } = this;
    if (!place || !from) return;
    const point = this.inside([from[0] + dx, from[1] + dy]);
    if (time - this.#lastNudge > BURST_MS) this.#history.endBurst();
    this.#lastNudge = time;
    this.commit(drawings.withCorner(this.drawing, place, point), `nudge ${place.ring} ${place.corner}`);
    this.cursor = point;
    this.#on.reveal(point);
    this.#sayCorner("moved", place);
  }

  /**
   * Make a drawing the present one; with the same `burst` as the change before, both are one step of the history.
   * @param {Drawing} drawing
   * @param {unknown} [burst]
   */
  commit(drawing, burst = null) {
    this.#preview = null;
    this.#history.commit(drawing, burst);
    this.#on.redraw();
    this.#on.change(true);
  }

  /**
   * @param {boolean} moved
   * @param {Label} label
   */
  #travel(moved, label) {
    if (!moved) return;
    if (!this.selectedPoint) this.#selected = null;
    this.#on.say(label);
    this.#on.redraw();
    this.#on.change(true);
  }

  /**
   * @param {Label} label
   * @param {Place} place
   */
  #sayCorner(label, place) {
    const line = drawings.lines(this.drawing)[place.ring];
    const values = { ring: place.ring + 1, corner: place.corner + 1, corners: line.length };
    this.#on.say(label, { ...values, point: line[place.corner] });
  }
}

/**
 * @param {number} value
 * @param {number} most
 */
function clamp(value, most) {
  return quantise(Math.min(most, Math.max(0, value))) / 100;
}

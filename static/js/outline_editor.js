// Draws outlines on a picture with mouse, finger, pen or keyboard alone (R11). No dependency, no inline style.
//
// There are no modes: a corner under the pointer is dragged, an edge takes a new corner, anywhere else a click
// places a corner and a drag traces a line. All coordinates are image pixels, clamped and kept to 0.01.

import { quantise, simplify } from "./geometry.js";
import { CornerList } from "./outline_corner_list.js";
import { Fineness } from "./outline_fineness.js";
import * as hits from "./outline_hits.js";
import { Keys } from "./outline_keys.js";
import { Loupe } from "./outline_loupe.js";
import * as model from "./outline_model.js";
import * as moves from "./outline_moves.js";
import { findings } from "./outline_problems.js";
import { nextTolerance, REFERENCE_SIDE, TOLERANCES, Trace } from "./outline_trace.js";
import { OutlineView } from "./outline_view.js";
import { Viewport } from "./outline_viewport.js";
import { Words } from "./outline_words.js";

// Screen pixels a press may wander before it is a drag.
const SLOP = { mouse: 3, pen: 6, touch: 10 };
const LONG_PRESS_MS = 600;
const DOUBLE_CLICK_MS = 400;
const DOUBLE_CLICK_PX = 4;
const BURST_MS = 1000;
// A wheel turned by this much is one step of zoom; a line of a wheel that counts lines; a pinch on a touchpad.
const WHEEL_STEP_PX = 100;
const WHEEL_LINE_PX = 40;
const TOUCHPAD_PINCH = 5;

const ARROWS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1] };

/**
 * One editor in one container, which gives it its size.
 *
 * `imageUrl`, `width`, `height`: the picture; `rings`: what is drawn already.
 * `onChange(editor, {settled})` after every change; `settled` is false while something is being dragged.
 * `announce(text)` receives words for an aria-live region of the page; `labels` replaces any of LABELS.
 * `keys` gives actions of KEYS other keys: {close: "x", place: ["Enter", "p"]}.
 * `simplify` is how far a traced line may lie from its corners, in pixels of a picture 299 wide, and
 * `onSimplify(value)` hears of another choice, for the page to remember.
 * Handled keys have their default prevented; a page that listens to keys too looks at `defaultPrevented`.
 */
export class OutlineEditor {
  #words;
  #keys;
  #onChange;
  #onSimplify;
  #announce;
  #simplify;
  #view;
  #viewport;
  #loupe;
  #fineness;
  #list;
  #history = new model.History(model.NOTHING);
  #preview = null; // the drawing while a gesture changes it
  #gesture = null;
  #pointers = new Map(); // pointers that are down: id -> screen point
  #selected = null;
  #hover = null; // screen point of a pointer that can hover
  #crosshair; // where the keyboard is
  #keyboard = false; // whether the crosshair is shown
  #space = null; // space bar held: {panned}
  #enabled = true;
  #panning = false; // whether a drag moves the picture in place of tracing
  #lastPlaced = { time: -Infinity, screen: [0, 0] };
  #lastNudge = -Infinity;
  #turned = 0; // steps of zoom that a wheel is on its way to
  #traced = null; // the line traced last: {line, drawing, corners, tolerance}
  #listed = null; // the drawing in the list of corners
  #frame = 0;
  #checked = { drawing: null, problem: null, crossings: [] };
  #listening = new AbortController();
  #resizes;

  constructor(container, options) {
    const { imageUrl, width, height, rings = [], labels, keys, simplify: tolerance = 1 } = options;
    this.#keys = new Keys(keys);
    this.#words = new Words(container.closest("[lang]")?.lang, this.#keys, labels);
    this.#onChange = options.onChange ?? (() => {});
    this.#onSimplify = options.onSimplify ?? (() => {});
    this.#announce = options.announce ?? (() => {});
    this.simplify = tolerance;
    this.#viewport = new Viewport(width, height);
    this.#crosshair = [Math.round(width / 2), Math.round(height / 2)];
    const { name, role, describedBy } = this.#words.labels;
    this.#view = new OutlineView(container, { imageUrl, width, height, name, role, describedBy });
    this.#furnish(container);
    this.rings = rings;
    this.#listen();
  }

  /** What stands beside the drawing: the loupe, the bar after a trace, the list of corners. */
  #furnish(container) {
    const { labels } = this.#words;
    const { signal } = this.#listening;
    this.#loupe = new Loupe(container, this.#view.id, this.#viewport);
    this.#fineness = new Fineness(container, {
      labels,
      onStep: (coarser) => this.#refine(coarser),
      onDone: () => this.#endTraced(),
      signal,
    });
    this.#list = new CornerList(container, {
      name: labels.list,
      ringWords: (ring, corners, open) =>
        this.#words.say(open ? "listOpen" : "listRing", { ring: ring + 1, corners }),
      cornerWords: (_, corner, point) => this.#words.say("listCorner", { corner: corner + 1, point }),
      onChoose: (place) => this.#choose(place),
      signal,
    });
  }

  // What the page asks and tells.

  /** The closed rings, [[[x, y], ...], ...] in image pixels, as of the last settled change. */
  get rings() {
    return model.copyOf(this.#history.present).rings;
  }

  set rings(rings) {
    this.state = { rings, open: [] };
  }

  /** Everything drawn, the unfinished ring too: {rings, open}. Setting it starts a new history. */
  get state() {
    return model.copyOf(this.#history.present);
  }

  set state({ rings, open = [] }) {
    this.#abandonGesture();
    this.#history = new model.History(model.copyOf({ rings, open }));
    this.#selected = null;
    this.#traced = null;
    this.#redraw();
  }

  /** Whether a ring is begun and not closed. */
  get drawing() {
    return this.#history.present.open.length > 0;
  }

  /** What keeps the outline from being sent, as {code, message, ring}; null when nothing does. */
  get problem() {
    const { problem } = this.#check();
    if (!problem) return null;
    const { code, label, ring } = problem;
    return { code, ring, message: this.#words.problem(label, ring ?? 1) };
  }

  get canUndo() {
    return this.#history.canUndo;
  }

  get canRedo() {
    return this.#history.canRedo;
  }

  undo() {
    this.#travel(() => this.#history.undo(), "undone");
  }

  redo() {
    this.#travel(() => this.#history.redo(), "redone");
  }

  /** The whole picture, as large as a whole number of device pixels to an image pixel makes it. */
  fit() {
    this.#viewport.fit();
    this.#look();
  }

  /** To the next whole number, around where the work is. */
  zoomIn() {
    this.#zoom(1);
  }

  zoomOut() {
    this.#zoom(-1);
  }

  /** Device pixels to an image pixel. */
  get zoom() {
    return this.#viewport.scale * this.#viewport.density;
  }

  /** True: a drag on the picture moves it in place of tracing, for hands with one finger free; a tap still places. */
  get panning() {
    return this.#panning;
  }

  set panning(panning) {
    this.#abandonGesture();
    this.#panning = panning;
    this.#view.svg.classList.toggle("can-pan", panning);
  }

  /** True shows the picture smoothed, false every pixel as a square. */
  setSmoothing(smooth) {
    this.#view.smooth(smooth);
  }

  /** How far a traced line may lie from its corners, in pixels of a picture 299 wide: 0.25 to 6. */
  get simplify() {
    return this.#simplify;
  }

  set simplify(tolerance) {
    this.#simplify = Math.min(TOLERANCES.at(-1), Math.max(TOLERANCES[0], tolerance));
  }

  /** Whether the line traced last can still be made finer or coarser: nothing was changed after it. */
  get canSimplify() {
    return this.#enabled && this.#traced?.drawing === this.#history.present;
  }

  fewerCorners() {
    this.#refine(true);
  }

  moreCorners() {
    this.#refine(false);
  }

  /** False shows the picture alone; zoom and pan go on working and the drawing is kept. */
  setEnabled(enabled) {
    this.#abandonGesture();
    this.#enabled = enabled;
    this.#view.container.classList.toggle("is-picture-only", !enabled);
    this.#view.svg.setAttribute("aria-disabled", String(!enabled));
    this.#redraw();
  }

  clear() {
    this.#abandonGesture();
    this.#selected = null;
    this.#commit(model.NOTHING);
    this.#say("cleared");
  }

  focus() {
    this.#view.svg.focus({ preventScroll: true });
  }

  destroy() {
    this.#abandonGesture();
    this.#listening.abort();
    this.#resizes.disconnect();
    cancelAnimationFrame(this.#frame);
    for (const part of [this.#list, this.#fineness, this.#loupe, this.#view]) part.destroy();
  }

  // Changes.

  get #drawing() {
    return this.#preview ?? this.#history.present;
  }

  #commit(drawing, burst = null) {
    this.#preview = null;
    this.#history.commit(drawing, burst);
    this.#redraw();
    this.#onChange(this, { settled: true });
  }

  #show(drawing) {
    this.#preview = drawing;
    this.#redraw();
    this.#onChange(this, { settled: false });
  }

  #travel(step, words) {
    this.#abandonGesture();
    if (!step()) return;
    if (!model.cornerAt(this.#drawing, this.#selected)) this.#selected = null;
    this.#say(words);
    this.#redraw();
    this.#onChange(this, { settled: true });
  }

  #place(point) {
    this.#selected = null;
    this.#commit(model.withAdded(this.#history.present, [point]));
    this.#say("placed", { corner: this.#history.present.open.length, point });
  }

  #close() {
    const { rings, open } = this.#history.present;
    if (open.length < 3) {
      this.#say("needsThree");
      return false;
    }
    this.#selected = null;
    this.#commit(model.closed(this.#history.present));
    this.#say("closed", { ring: rings.length + 1, corners: open.length });
    return true;
  }

  #insert(place, point) {
    this.#commit(model.withInserted(this.#history.present, place, point));
    this.#selected = place;
    this.#say("inserted", { ...this.#wordsFor(place), point });
  }

  #remove(place) {
    const before = this.#history.present;
    if (!model.cornerAt(before, place)) return;
    const after = model.withoutCorner(before, place);
    this.#selected = null;
    this.#commit(after);
    this.#say(after.rings.length < before.rings.length ? "ringRemoved" : "removed");
  }

  #cancelOpen() {
    this.#selected = null;
    this.#commit({ ...this.#history.present, open: [] });
    this.#say("cancelled");
  }

  #select(place) {
    this.#history.endBurst();
    this.#selected = place;
    if (place) {
      this.#crosshair = model.cornerAt(this.#drawing, place);
      this.#viewport.reveal(this.#crosshair);
      this.#say("selected", { ...this.#wordsFor(place), point: this.#crosshair });
    } else {
      this.#say("released");
    }
    this.#redraw();
  }

  #check() {
    const drawing = this.#drawing;
    if (this.#checked.drawing !== drawing) this.#checked = { drawing, ...findings(drawing, this.#viewport.image) };
    return this.#checked;
  }

  #wordsFor(place) {
    const line = model.lines(this.#drawing)[place.ring];
    return { ring: place.ring + 1, corner: place.corner + 1, corners: line.length };
  }

  #say(label, values) {
    this.#announce(this.#words.say(label, values));
  }

  // Pointers.

  #listen() {
    const { svg } = this.#view;
    const { signal } = this.#listening;
    const on = (type, handler, options = {}) => svg.addEventListener(type, handler, { ...options, signal });
    on("pointerdown", (event) => this.#down(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#up(event));
    on("pointercancel", (event) => this.#lost(event));
    on("lostpointercapture", (event) => this.#lost(event));
    on("pointerleave", () => this.#leave());
    on("wheel", (event) => this.#wheel(event), { passive: false });
    on("contextmenu", (event) => event.preventDefault());
    // The middle button would start the browser's own scrolling.
    on("mousedown", (event) => event.button === 1 && event.preventDefault());
    on("dragstart", (event) => event.preventDefault());
    on("keydown", (event) => this.#keyDown(event));
    on("keyup", (event) => this.#keyUp(event));
    on("focus", () => this.#focused());
    on("blur", () => this.#blurred());
    this.#resizes = new ResizeObserver(() => this.#resized());
    this.#resizes.observe(svg);
    this.#watchDensity();
    this.#resized();
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
    const box = this.#view.svg.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.#viewport.resize(box, devicePixelRatio);
    // At once: a frame later the picture would have been seen squeezed.
    this.#draw();
  }

  #screen(event) {
    const { left, top } = this.#view.svg.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /** The image point under a screen point, kept inside the picture and to 0.01 px. */
  #point(screen) {
    return this.#inside(this.#viewport.toImage(...screen));
  }

  #inside([x, y]) {
    const { width, height } = this.#viewport.image;
    return [clamp(x, width), clamp(y, height)];
  }

  #down(event) {
    const screen = this.#screen(event);
    this.#hideCrosshair();
    this.#view.svg.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, screen);
    if (this.#pointers.size > 1) return this.#startPinch();
    this.#gesture = this.#gestureFor(event, screen);
    this.#redraw();
  }

  #gestureFor(event, screen) {
    if (event.button === 1 || this.#space || !this.#enabled) return this.#pan(screen);
    const hit = this.#hit(screen, event.pointerType);
    if (event.button === 2 || (event.button === 0 && event.ctrlKey)) {
      if (hit.kind === "corner") this.#remove(hit.place);
      return null;
    }
    if (event.button !== 0) return null;
    if (hit.kind === "corner") return this.#dragCorner(hit.place, screen, event);
    if (hit.kind === "edge") return this.#dragEdge(hit, screen, event);
    return this.#panning ? this.#panOrPlace(screen, event) : this.#drawOnCanvas(screen, event);
  }

  #move(event) {
    const screen = this.#screen(event);
    if (this.#pointers.has(event.pointerId)) this.#pointers.set(event.pointerId, screen);
    this.#hover = event.pointerType === "touch" ? null : screen;
    if (this.#gesture) this.#gesture.move(screen, event);
    else this.#redraw();
  }

  #up(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    const gesture = this.#gesture;
    // A pinch lasts until the last finger is gone, so that lifting them one by one never draws.
    if (gesture?.isPinch && this.#pointers.size) return gesture.lift();
    this.#gesture = null;
    gesture?.end(this.#screen(event), event);
    this.#loupe.hide();
    this.#redraw();
  }

  #lost(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    if (this.#gesture?.isPinch && this.#pointers.size) this.#gesture.lift();
    else this.#abandonGesture();
  }

  #leave() {
    this.#hover = null;
    this.#redraw();
  }

  /** Drop what a gesture has changed so far. The pointers stay known until they are lifted. */
  #abandonGesture() {
    this.#gesture?.cancel?.();
    this.#gesture = null;
    this.#loupe.hide();
    if (!this.#preview) return;
    this.#preview = null;
    this.#redraw();
    this.#onChange(this, { settled: true });
  }

  #wheel(event) {
    event.preventDefault();
    const steps = this.#stepsOf(event);
    if (!steps) return;
    this.#viewport.zoomBy(steps, ...this.#screen(event));
    this.#look();
  }

  /** A notch of a wheel is a step of zoom; on a touchpad, as much movement as a notch. */
  #stepsOf({ deltaY, deltaMode, ctrlKey }) {
    // Browsers report a pinch on a touchpad as a wheel with Ctrl and small numbers.
    const unit = deltaMode === WheelEvent.DOM_DELTA_LINE ? WHEEL_LINE_PX : ctrlKey ? TOUCHPAD_PINCH : 1;
    const turn = (-deltaY * unit) / WHEEL_STEP_PX;
    const turned = turn * this.#turned < 0 ? turn : this.#turned + turn;
    const steps = Math.trunc(turned);
    this.#turned = turned - steps;
    return steps;
  }

  #zoom(steps) {
    this.#viewport.zoomBy(steps, ...this.#whereTheWorkIs());
    this.#look();
  }

  /** The screen point to zoom around: what is worked on, when it is in sight; else the middle. */
  #whereTheWorkIs() {
    const { width, height } = this.#viewport.size;
    const point = model.cornerAt(this.#drawing, this.#selected) ?? (this.#keyboard ? this.#crosshair : null);
    const last = this.#history.present.open.at(-1);
    const shown = point ?? (this.#hover ? null : last);
    const [x, y] = (shown ? this.#viewport.toScreen(shown) : this.#hover) ?? [];
    return x >= 0 && x <= width && y >= 0 && y <= height ? [x, y] : [width / 2, height / 2];
  }

  #look() {
    this.#view.look(this.#viewport);
    this.#redraw();
  }

  // Gestures: what a press on something becomes while it moves and when it ends.

  #dragCorner(place, screen, event) {
    const before = this.#history.present;
    const corner = model.cornerAt(before, place);
    const grip = this.#viewport.toImage(...screen);
    const press = pressed(screen, event);
    const timer = event.pointerType === "mouse" ? 0 : setTimeout(() => this.#longPress(place), LONG_PRESS_MS);
    this.#magnify(corner, screen, event);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        clearTimeout(timer);
        this.#selected = place;
        const [x, y] = this.#viewport.toImage(...to);
        const point = this.#inside([corner[0] + x - grip[0], corner[1] + y - grip[1]]);
        this.#show(model.withCorner(before, place, point));
        this.#magnify(point, to, event);
      },
      end: (_, up) => {
        clearTimeout(timer);
        if (press.moved) this.#dropCorner(place);
        else this.#clickCorner(place, screen, up);
      },
      cancel: () => clearTimeout(timer),
    };
  }

  #longPress(place) {
    this.#abandonGesture();
    this.#remove(place);
  }

  #dropCorner(place) {
    this.#commit(this.#preview);
    this.#say("moved", { ...this.#wordsFor(place), point: model.cornerAt(this.#drawing, place) });
  }

  #clickCorner(place, screen, event) {
    const { open } = this.#history.present;
    const inOpen = model.isOpen(this.#history.present, place.ring) && open.length >= 3;
    const last = place.corner === open.length - 1;
    if (inOpen && (place.corner === 0 || (last && this.#isDoubleClick(screen, event)))) this.#close();
    else this.#select(place);
  }

  /** The same place within a moment. Two quick clicks near one another are two corners, or one and its choice. */
  #isDoubleClick([x, y], { timeStamp }) {
    const { time, screen } = this.#lastPlaced;
    return timeStamp - time < DOUBLE_CLICK_MS && Math.hypot(x - screen[0], y - screen[1]) <= DOUBLE_CLICK_PX;
  }

  #dragEdge({ place, point: onEdge }, screen, event) {
    const before = this.#history.present;
    const press = pressed(screen, event);
    this.#magnify(onEdge, screen, event);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        const point = this.#point(to);
        this.#show(model.withInserted(before, place, point));
        this.#selected = place;
        this.#magnify(point, to, event);
      },
      end: (to) => this.#insert(place, press.moved ? this.#point(to) : this.#inside(onEdge)),
    };
  }

  #drawOnCanvas(screen, event) {
    const before = this.#history.present;
    const press = pressed(screen, event);
    const points = [this.#point(screen)];
    this.#magnify(points[0], screen, event);
    return {
      move: (to, moved) => {
        if (!press.movedTo(to)) return;
        const steps = moved.getCoalescedEvents?.() ?? [];
        const screens = steps.length ? steps.map((step) => this.#screen(step)) : [to];
        points.push(...screens.map((step) => this.#point(step)));
        this.#selected = null;
        this.#show(model.withAdded(before, simplify(points, this.#tolerance)));
        this.#magnify(points.at(-1), to, event);
      },
      end: (_, up) => {
        if (press.moved) this.#endTrace(before, points, event.pointerType);
        else this.#placeAt(points[0], screen, up);
      },
    };
  }

  #placeAt(point, screen, { timeStamp }) {
    this.#lastPlaced = { time: timeStamp, screen };
    this.#place(point);
  }

  #endTrace(before, points, pointerType) {
    const line = new Trace(before, points, this.#comesBack(before, points, pointerType));
    const { corners } = this.#drawTraced(line);
    if (line.closes) this.#say("closed", { ring: before.rings.length + 1, corners });
    else this.#say("placed", { corner: corners, point: points.at(-1) });
  }

  /** Whether a traced line ends where its ring began, after having been away. */
  #comesBack({ open }, points, pointerType) {
    const line = [...open, ...simplify(points, this.#pixels(1))];
    return line.length > 3 && this.#apart(line[0], line.at(-1)) <= 2 * hits.CORNER_REACH[pointerType];
  }

  /** The corners of a traced line; drawn again with another tolerance, it is still the same step back. */
  #drawTraced(line) {
    this.#traced = { line, ...line.drawn(this.#tolerance) };
    this.#selected = null;
    this.#commit(this.#traced.drawing, line);
    return this.#traced;
  }

  #refine(coarser) {
    if (!this.canSimplify) return false;
    this.#abandonGesture();
    this.#simplify = nextTolerance(this.#simplify, coarser);
    this.#drawTraced(this.#traced.line);
    this.#announce(this.#tracedWords());
    this.#onSimplify(this.#simplify);
    return true;
  }

  #endTraced() {
    this.#traced = null;
    this.focus();
    this.#redraw();
  }

  #tracedWords() {
    const { corners, tolerance } = this.#traced;
    return this.#words.say("fine", { corners, tolerance });
  }

  get #tolerance() {
    return this.#pixels(this.#simplify);
  }

  /** Pixels of this picture for pixels of one that is REFERENCE_SIDE wide. */
  #pixels(value) {
    const { width, height } = this.#viewport.image;
    return (value * Math.max(width, height)) / REFERENCE_SIDE;
  }

  #panOrPlace(screen, event) {
    const press = pressed(screen, event);
    const point = this.#point(screen);
    const pan = this.#pan(screen);
    return {
      move: (to) => press.movedTo(to) && pan.move(to),
      end: (_, up) => {
        pan.end();
        if (!press.moved) this.#placeAt(point, screen, up);
      },
      cancel: pan.cancel,
    };
  }

  #pan(screen) {
    if (this.#space) this.#space.panned = true;
    return moves.pan(this.#viewport, screen, this.#view.svg, () => this.#look());
  }

  #startPinch() {
    this.#abandonGesture();
    this.#gesture = moves.pinch(this.#viewport, this.#pointers, () => this.#look());
  }

  /** What a finger or a pen hides; a mouse hides nothing. */
  #magnify(point, screen, { pointerType }) {
    if (pointerType !== "mouse") this.#loupe.show(point, screen);
  }

  #hit(screen, pointerType) {
    return hits.under(this.#drawing, this.#selected, this.#viewport, screen, pointerType);
  }

  #apart(a, b) {
    return this.#viewport.apart(a, b);
  }

  // The keyboard.

  #keyDown(event) {
    // On some keyboards the brackets need AltGr, which comes with Ctrl and Alt.
    const isChord = (event.ctrlKey || event.metaKey) && !event.getModifierState("AltGraph");
    if (isChord ? this.#chord(event) : this.#key(event)) event.preventDefault();
  }

  #chord(event) {
    const key = event.key.toLowerCase();
    if (!this.#enabled || (key !== "z" && key !== "y")) return false;
    if (key === "y" || event.shiftKey) this.redo();
    else this.undo();
    return true;
  }

  /** Whether the key meant something. */
  #key(event) {
    const action = this.#keys.actionOf(event);
    if (this.#enabled && ARROWS[action]) return this.#arrow(event, ARROWS[action]);
    return this.perform(action);
  }

  /** Do what a key of this action of KEYS does, wherever the focus is; returns whether anything was done. */
  perform(action) {
    const sees = { zoomIn: () => this.zoomIn(), zoomOut: () => this.zoomOut(), fit: () => this.fit() };
    const draws = {
      place: () => this.#enter(),
      hold: () => this.#holdSpace(),
      close: () => this.#closeByKey(),
      previous: () => this.#selectNext(-1),
      next: () => this.#selectNext(1),
      insert: () => this.#insertByKey(),
      remove: () => this.#delete(),
      leave: () => this.#escape(),
      fewer: () => this.#refine(true),
      more: () => this.#refine(false),
    };
    const act = sees[action] ?? (this.#enabled ? draws[action] : null);
    return act ? act() !== false : false;
  }

  #arrow(event, [dx, dy]) {
    const step = event.shiftKey ? 10 : event.altKey ? 0.1 : 1;
    const shift = ([x, y]) => this.#inside([x + dx * step, y + dy * step]);
    this.#abandonGesture();
    if (this.#selected) {
      this.#nudge(shift, event.timeStamp);
    } else {
      if (this.#keyboard) this.#crosshair = shift(this.#crosshair);
      this.#showCrosshair();
    }
    return true;
  }

  #nudge(shift, time) {
    const place = this.#selected;
    const point = shift(model.cornerAt(this.#drawing, place));
    if (time - this.#lastNudge > BURST_MS) this.#history.endBurst();
    this.#lastNudge = time;
    this.#commit(model.withCorner(this.#drawing, place, point), `nudge ${place.ring} ${place.corner}`);
    this.#crosshair = point;
    this.#viewport.reveal(point);
    this.#say("moved", { ...this.#wordsFor(place), point });
  }

  #holdSpace() {
    this.#space ??= { panned: false };
    this.#view.svg.classList.add("can-pan");
  }

  #keyUp(event) {
    if (!this.#space || this.#keys.actionOf(event) !== "hold") return;
    const { panned } = this.#space;
    this.#letSpaceGo();
    if (!panned && this.#enabled) this.#placeByKey();
  }

  #letSpaceGo() {
    this.#space = null;
    this.#view.svg.classList.toggle("can-pan", this.#panning);
  }

  /** With the keyboard, Enter places a corner; with the mouse, it closes the ring being drawn. */
  #enter() {
    if (this.#keyboard || this.#selected) return this.#placeByKey();
    if (!this.drawing) return false;
    return this.#close();
  }

  #placeByKey() {
    const { open } = this.#history.present;
    if (open.length >= 3 && this.#apart(open[0], this.#crosshair) <= hits.CORNER_REACH.pen && this.#keyboard) {
      this.#close();
    } else if (this.#selected) {
      this.#keyboard = true;
      this.#select(null);
    } else if (this.#keyboard) {
      this.#place(this.#crosshair);
    } else {
      this.#showCrosshair();
    }
  }

  #closeByKey() {
    if (!this.drawing) return false;
    return this.#close();
  }

  #escape() {
    if (this.#preview) this.#abandonGesture();
    else if (this.#selected) this.#select(null);
    else if (this.drawing) this.#cancelOpen();
    else return false;
    return true;
  }

  /** The selected corner, or the one placed last while a ring is being drawn. */
  #delete() {
    const { rings, open } = this.#history.present;
    const last = open.length ? { ring: rings.length, corner: open.length - 1 } : null;
    const place = this.#selected ?? last;
    this.#abandonGesture();
    if (!place) return false;
    return this.#remove(place);
  }

  #selectNext(step) {
    const places = model.lines(this.#drawing).flatMap((line, ring) => line.map((_, corner) => ({ ring, corner })));
    if (!places.length) return false;
    const { ring: atRing, corner: atCorner } = this.#selected ?? {};
    const at = places.findIndex(({ ring, corner }) => ring === atRing && corner === atCorner);
    const start = at < 0 && step < 0 ? 0 : at;
    this.#keyboard = true;
    return this.#select(places[(start + step + places.length) % places.length]);
  }

  /** From the list of corners, which may be a moment behind. */
  #choose(place) {
    this.focus();
    if (!model.cornerAt(this.#drawing, place)) return;
    this.#keyboard = true;
    this.#select(place);
  }

  #insertByKey() {
    const selected = this.#selected;
    if (!selected) return false;
    const edge = model.edgeAfter(this.#drawing, selected);
    if (!edge) {
      this.#say("noEdge");
      return false;
    }
    return this.#insert(edge.place, this.#inside(hits.middle(edge.from, edge.to)));
  }

  #focused() {
    if (this.#enabled && this.#view.svg.matches(":focus-visible")) this.#showCrosshair();
  }

  #blurred() {
    this.#letSpaceGo();
    this.#hideCrosshair();
    this.#redraw();
  }

  #showCrosshair() {
    if (!this.#keyboard && this.#hover) this.#crosshair = this.#point(this.#hover);
    this.#keyboard = true;
    this.#viewport.reveal(this.#crosshair);
    this.#say("at", { point: this.#crosshair });
    this.#redraw();
  }

  #hideCrosshair() {
    this.#keyboard = false;
  }

  // Showing.

  #redraw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    this.#drawBeside();
    const { rings, open } = this.#drawing;
    const hovers = this.#hover && !this.#gesture && this.#enabled;
    const under = hovers ? this.#hit(this.#hover, "mouse") : { kind: "canvas" };
    const ghosts = hits.ghosts(this.#drawing, this.#selected, this.#viewport).map(({ point }) => point);
    if (under.kind === "edge") ghosts.push(under.point);
    const first = open.length >= 3 ? open[0] : null;
    const overFirst = under.place?.corner === 0 && model.isOpen(this.#drawing, under.place.ring);
    this.#view.svg.classList.toggle("is-over-corner", under.kind === "corner");
    this.#view.svg.classList.toggle("is-over-edge", under.kind === "edge");
    this.#view.draw({
      viewport: this.#viewport,
      rings,
      open,
      rubber: this.#rubber(open),
      corners: [...rings, open].flat(),
      ghosts,
      first,
      firstIsTarget: overFirst,
      active: model.cornerAt(this.#drawing, this.#selected ?? (under.kind === "corner" ? under.place : null)),
      crossings: this.#check().crossings,
      crosshair: this.#keyboard && !this.#selected ? this.#crosshair : null,
    });
  }

  #drawBeside() {
    const tells = this.canSimplify && !this.#gesture;
    this.#fineness.show(tells ? this.#tracedWords() : null, tells && this.#liesLow(this.#traced.line));
    if (this.#preview || this.#listed === this.#history.present) return;
    this.#listed = this.#history.present;
    this.#list.show(this.#listed);
  }

  /** Whether a traced line leaves more space above it than below. */
  #liesLow({ span: [top, bottom] }) {
    const [, highest] = this.#viewport.toScreen([0, top]);
    const [, lowest] = this.#viewport.toScreen([0, bottom]);
    return highest > this.#viewport.size.height - lowest;
  }

  /** From the last corner to where the next one would be. */
  #rubber(open) {
    const next = this.#keyboard ? this.#crosshair : this.#hover && this.#point(this.#hover);
    return open.length && next && !this.#gesture && !this.#selected ? [open.at(-1), next] : [];
  }
}

/** A press that has not moved yet: a shaking hand is no drag. */
function pressed(start, { pointerType }) {
  const slop = SLOP[pointerType] ?? SLOP.mouse;
  return {
    moved: false,
    movedTo([x, y]) {
      this.moved ||= Math.hypot(x - start[0], y - start[1]) > slop;
      return this.moved;
    },
  };
}

function clamp(value, most) {
  return quantise(Math.min(most, Math.max(0, value))) / 100;
}

// Draws outlines on a picture with mouse, finger, pen or keyboard alone (R11). No dependency, no inline style.
//
// There are no modes: a corner under the pointer is dragged, an edge takes a new corner, anywhere else a click
// places a corner and a drag traces a line. All coordinates are image pixels, clamped and kept to 0.01.

import { checkOutline, crossingsOf, quantise, simplify } from "./geometry.js";
import * as hits from "./outline_hits.js";
import * as model from "./outline_model.js";
import { OutlineView, Viewport } from "./outline_view.js";
import { LABELS, fill } from "./outline_words.js";

// Screen pixels a press may wander before it is a drag.
const SLOP = { mouse: 3, pen: 6, touch: 10 };
const LONG_PRESS_MS = 600;
const DOUBLE_CLICK_MS = 500;
const BURST_MS = 1000;
const KEY_ZOOM = 1.5;

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * One editor in one container, which gives it its size.
 *
 * `onChange(editor, {settled})` after every change; `settled` is false while something is being dragged.
 * `announce(text)` receives words for an aria-live region of the page; `labels` replaces any of LABELS.
 * `traceTolerance` is how far, in image pixels, a traced line may lie from its corners.
 * Handled keys have their default prevented; a page that listens to keys too looks at `defaultPrevented`.
 */
export class OutlineEditor {
  #labels;
  #onChange;
  #announce;
  #tolerance;
  #view;
  #viewport;
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
  #lastPlaced = -Infinity;
  #lastNudge = -Infinity;
  #frame = 0;
  #checked = { drawing: null, problem: null, crossings: [] };
  #listening = new AbortController();
  #resizes;

  constructor(container, options) {
    const { imageUrl, width, height, rings = [], onChange, announce, labels = {}, traceTolerance = 1 } = options;
    this.#labels = { ...LABELS, ...labels, problems: { ...LABELS.problems, ...labels.problems } };
    this.#onChange = onChange ?? (() => {});
    this.#announce = announce ?? (() => {});
    this.#tolerance = traceTolerance;
    this.#viewport = new Viewport(width, height);
    this.#crosshair = [Math.round(width / 2), Math.round(height / 2)];
    const { name, describedBy } = this.#labels;
    this.#view = new OutlineView(container, { imageUrl, width, height, name, describedBy });
    this.rings = rings;
    this.#listen();
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
    this.#redraw();
  }

  /** Whether a ring is begun and not closed. */
  get drawing() {
    return this.#history.present.open.length > 0;
  }

  /** What keeps the outline from being sent, as {code, message, ring}; null when nothing does. */
  get problem() {
    return this.#check().problem;
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

  fit() {
    this.#viewport.fit();
    this.#redraw();
  }

  /** Zoom around the middle of the window. */
  zoomBy(factor) {
    const { width, height } = this.#viewport.size;
    this.#viewport.zoomAt(factor, width / 2, height / 2);
    this.#redraw();
  }

  /** True shows the picture smoothed, false every pixel as a square. */
  setSmoothing(smooth) {
    this.#view.image.classList.toggle("is-pixelated", !smooth);
  }

  /** False shows the picture alone; zoom and pan go on working and the drawing is kept. */
  setEnabled(enabled) {
    this.#abandonGesture();
    this.#enabled = enabled;
    this.#view.container.classList.toggle("is-picture-only", !enabled);
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
    this.#view.destroy();
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
    if (open.length < 3) return this.#say("needsThree");
    this.#selected = null;
    this.#commit(model.closed(this.#history.present));
    this.#say("closed", { ring: rings.length + 1, corners: open.length });
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
    if (this.#checked.drawing !== drawing) this.#checked = { drawing, ...this.#findings(drawing) };
    return this.#checked;
  }

  #findings({ rings, open }) {
    const { width, height } = this.#viewport.image;
    const inOpen = crossingsOf(open, false);
    const crossings = [...rings.flatMap((ring) => crossingsOf(ring, true)), ...inOpen];
    const { code, ring } = rings.length ? checkOutline(rings, width, height) : { code: null, ring: null };
    if (code) return { crossings, problem: this.#worded(code, code, ring) };
    if (inOpen.length) {
      return { crossings, problem: this.#worded("outline_self_crossing", "outline_self_crossing", rings.length + 1) };
    }
    if (open.length) return { crossings, problem: this.#worded("outline_unfinished", "outline_unfinished", null) };
    if (!rings.length) return { crossings, problem: this.#worded("outline_too_few_corners", "outline_empty", null) };
    return { crossings, problem: null };
  }

  #worded(code, label, ring) {
    return { code, ring, message: fill(this.#labels.problems[label], { ring: ring ?? 1 }) };
  }

  #wordsFor(place) {
    const line = model.lines(this.#drawing)[place.ring];
    return { ring: place.ring + 1, corner: place.corner + 1, corners: line.length };
  }

  #say(label, { point, ...values } = {}) {
    const [x, y] = point ?? [];
    this.#announce(fill(this.#labels[label], { ...values, x, y }));
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
    this.#resized();
  }

  #resized() {
    const { width, height } = this.#view.svg.getBoundingClientRect();
    if (!width || !height) return;
    this.#viewport.resize(width, height);
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
    return this.#drawOnCanvas(screen, event);
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
    this.#view.magnify(null);
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
    this.#view.magnify(null);
    if (!this.#preview) return;
    this.#preview = null;
    this.#redraw();
    this.#onChange(this, { settled: true });
  }

  #wheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    // Browsers report a pinch on a touchpad as a wheel with Ctrl and small steps.
    const speed = event.ctrlKey ? 0.01 : 0.002;
    this.#viewport.zoomAt(Math.exp(-event.deltaY * lines * speed), ...this.#screen(event));
    this.#redraw();
  }

  // Gestures: what a press on something becomes while it moves and when it ends.

  #dragCorner(place, screen, event) {
    const before = this.#history.present;
    const corner = model.cornerAt(before, place);
    const grip = this.#viewport.toImage(...screen);
    const press = pressed(screen, event);
    const timer = event.pointerType === "mouse" ? 0 : setTimeout(() => this.#longPress(place), LONG_PRESS_MS);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        clearTimeout(timer);
        this.#selected = place;
        const [x, y] = this.#viewport.toImage(...to);
        const point = this.#inside([corner[0] + x - grip[0], corner[1] + y - grip[1]]);
        this.#show(model.withCorner(before, place, point));
        this.#magnify(point, event);
      },
      end: (_, up) => {
        clearTimeout(timer);
        if (press.moved) this.#dropCorner(place);
        else this.#clickCorner(place, up);
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

  #clickCorner(place, event) {
    const { open } = this.#history.present;
    const inOpen = model.isOpen(this.#history.present, place.ring) && open.length >= 3;
    const again = place.corner === open.length - 1 && event.timeStamp - this.#lastPlaced < DOUBLE_CLICK_MS;
    if (inOpen && (place.corner === 0 || again)) this.#close();
    else this.#select(place);
  }

  #dragEdge({ place, point: onEdge }, screen, event) {
    const before = this.#history.present;
    const press = pressed(screen, event);
    return {
      move: (to) => {
        if (!press.movedTo(to)) return;
        const point = this.#point(to);
        this.#show(model.withInserted(before, place, point));
        this.#selected = place;
        this.#magnify(point, event);
      },
      end: (to) => this.#insert(place, press.moved ? this.#point(to) : this.#inside(onEdge)),
    };
  }

  #drawOnCanvas(screen, event) {
    const before = this.#history.present;
    const press = pressed(screen, event);
    const trace = [this.#point(screen)];
    this.#magnify(trace[0], event);
    return {
      move: (to, moved) => {
        if (!press.movedTo(to)) return;
        const steps = moved.getCoalescedEvents?.() ?? [];
        const screens = steps.length ? steps.map((step) => this.#screen(step)) : [to];
        trace.push(...screens.map((step) => this.#point(step)));
        this.#selected = null;
        this.#show(model.withAdded(before, simplify(trace, this.#tolerance)));
        this.#magnify(trace.at(-1), event);
      },
      end: (_, up) => {
        if (press.moved) return this.#endTrace(before, trace, event.pointerType);
        this.#lastPlaced = up.timeStamp;
        return this.#place(trace[0]);
      },
    };
  }

  #endTrace(before, trace, pointerType) {
    const drawn = model.withAdded(before, simplify(trace, this.#tolerance));
    const [first, last] = [drawn.open[0], drawn.open.at(-1)];
    const ends = drawn.open.length > 3 && this.#apart(first, last) <= 2 * hits.CORNER_REACH[pointerType];
    const open = ends ? drawn.open.slice(0, -1) : drawn.open;
    this.#commit(ends ? model.closed({ ...drawn, open }) : drawn);
    if (ends) this.#say("closed", { ring: before.rings.length + 1, corners: open.length });
    else this.#say("placed", { corner: open.length, point: last });
  }

  #pan(screen) {
    const held = this.#viewport.toImage(...screen);
    if (this.#space) this.#space.panned = true;
    this.#view.svg.classList.add("is-panning");
    const stop = () => this.#view.svg.classList.remove("is-panning");
    return {
      move: (to) => {
        this.#viewport.place(held, ...to, this.#viewport.scale);
        this.#redraw();
      },
      end: stop,
      cancel: stop,
    };
  }

  #startPinch() {
    this.#abandonGesture();
    let grip = this.#gripOfPinch();
    this.#gesture = {
      isPinch: true,
      move: () => {
        const { middle: between, spread } = this.#fingers();
        const scale = grip.spread ? (grip.scale * spread) / grip.spread : grip.scale;
        this.#viewport.place(grip.held, ...between, scale);
        this.#redraw();
      },
      lift: () => {
        grip = this.#gripOfPinch();
      },
      end: () => {},
    };
  }

  #gripOfPinch() {
    const { middle: between, spread } = this.#fingers();
    return { held: this.#viewport.toImage(...between), spread, scale: this.#viewport.scale };
  }

  #fingers() {
    const [one, other] = [...this.#pointers.values()];
    if (!other) return { middle: one, spread: 0 };
    return { middle: hits.middle(one, other), spread: Math.hypot(one[0] - other[0], one[1] - other[1]) };
  }

  #magnify(point, event) {
    if (event.pointerType === "touch") this.#view.magnify(point, this.#viewport);
  }

  #hit(screen, pointerType) {
    return hits.under(this.#drawing, this.#selected, this.#viewport, screen, pointerType);
  }

  #apart(a, b) {
    return this.#viewport.apart(a, b);
  }

  // The keyboard.

  #keyDown(event) {
    const handled = event.ctrlKey || event.metaKey ? this.#chord(event) : this.#key(event);
    if (handled) event.preventDefault();
  }

  #chord(event) {
    const key = event.key.toLowerCase();
    if (!this.#enabled || (key !== "z" && key !== "y")) return false;
    if (key === "y" || event.shiftKey) this.redo();
    else this.undo();
    return true;
  }

  #key(event) {
    if (this.#zoomKey(event.key)) return true;
    if (!this.#enabled) return false;
    if (ARROWS[event.key]) return this.#arrow(event);
    const keys = {
      " ": () => this.#holdSpace(),
      Enter: () => this.#enter(),
      Escape: () => this.#escape(),
      Delete: () => this.#delete(),
      Backspace: () => this.#delete(),
      "[": () => this.#selectNext(-1),
      "]": () => this.#selectNext(1),
      c: () => this.#closeByKey(),
      i: () => this.#insertByKey(),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    return act ? act() !== false : false;
  }

  #zoomKey(key) {
    if (key === "+" || key === "=") this.#zoomByKey(KEY_ZOOM);
    else if (key === "-") this.#zoomByKey(1 / KEY_ZOOM);
    else if (key === "0") this.fit();
    else return false;
    return true;
  }

  /** Around the crosshair when the keyboard is drawing, so that it stays in sight. */
  #zoomByKey(factor) {
    if (!this.#keyboard) return this.zoomBy(factor);
    this.#viewport.zoomAt(factor, ...this.#viewport.toScreen(this.#crosshair));
    return this.#redraw();
  }

  #arrow(event) {
    const step = event.shiftKey ? 10 : event.altKey ? 0.1 : 1;
    const [dx, dy] = ARROWS[event.key];
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
    if (event.key !== " " || !this.#space) return;
    const { panned } = this.#space;
    this.#letSpaceGo();
    if (!panned && this.#enabled) this.#placeByKey();
  }

  #letSpaceGo() {
    this.#space = null;
    this.#view.svg.classList.remove("can-pan");
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

  #insertByKey() {
    const selected = this.#selected;
    if (!selected) return false;
    const edge = model.edgeAfter(this.#drawing, selected);
    if (!edge) return this.#say("noEdge");
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

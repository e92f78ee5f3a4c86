// The page of an appeal: marks drawn on the picture or placed by keyboard, how long the argument is, and a draft of both
// that outlives a sign-in in the same tab. What is sent are the fields of the form, with or without this script.
import { byId, find, findAll } from "./dom.js";

/** @typedef {{x: number, y: number}} Point */
/** @typedef {Point & {width: number, height: number}} Box where a mark is, in pixels of the picture */
/** @typedef {{x: string, y: string, width: string, height: string, words: string}} TypedMark a mark as its fields have it */
/**
 * @typedef {object} PageData
 * @property {Record<string, string>} words
 * @property {number} width of the picture
 * @property {number} height
 * @property {number} maxMarks
 * @property {number} least characters of an argument
 * @property {number} most
 * @property {string} draft the name that the draft is kept under
 */

const SVG = "http://www.w3.org/2000/svg";
const SIDES = /** @type {const} */ (["x", "y", "width", "height"]);
const FIELDS = /** @type {const} */ ([...SIDES, "words"]);
// A shorter drag is a slip of the hand.
const MIN_DRAG_PX = 3;

for (const { dataset } of findAll(document, "[data-sent]")) sessionStorage.removeItem(dataset.sent ?? "");

const appeal = document.getElementById("appeal-form");
if (appeal) begin(appeal, JSON.parse(byId("page-data").textContent));

/**
 * @param {HTMLElement} form
 * @param {PageData} page
 */
function begin(form, page) {
  /**
   * @param {string} name
   * @param {Record<string, string | number>} values
   */
  const words = (name, values) => page.words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
  const argument = byId("argument", HTMLTextAreaElement);
  const list = byId("mark-rows");
  const spoken = byId("spoken");
  const pattern = find(list, "li").cloneNode(true);
  const drawing = overlay();
  const add = byId("add");
  const draw = byId("draw");
  let armed = false;
  /** @type {{from: Point, row: HTMLElement | null, box: Box | null, resizes: boolean, fresh: boolean} | null} */
  let drag = null;

  // Rows --------------------------------------------------------------------------------------------------------------

  const rows = () => /** @type {HTMLElement[]} */ ([...list.children]);
  /**
   * @param {HTMLElement} row
   * @param {string} name
   */
  const field = (row, name) => find(row, `[name$="-${name}"]`, HTMLInputElement);
  /**
   * Name a row's fields by its place, as the server reads them.
   * @param {HTMLElement} row
   * @param {number} index
   */
  function nameFields(row, index) {
    for (const name of FIELDS) {
      const input = field(row, name);
      const label = find(row, `label[for="${input.id}"]`, HTMLLabelElement);
      input.name = input.id = label.htmlFor = `mark-${index}-${name}`;
    }
  }
  /** @param {HTMLElement} row */
  const isEmpty = (row) => FIELDS.every((name) => field(row, name).value.trim() === "");

  /**
   * Return where a row's mark is, or null while its numbers are none.
   * @param {HTMLElement} row
   */
  function boxOf(row) {
    const typed = SIDES.map((name) => field(row, name).value.trim());
    if (!typed.every((each) => /^\d{1,6}$/.test(each))) return null;
    const [x, y, width, height] = typed.map(Number);
    return { x, y, width, height };
  }

  /**
   * @param {HTMLElement} row
   * @param {Box} box
   */
  function place(row, box) {
    const width = Math.max(1, Math.min(box.width, page.width));
    const height = Math.max(1, Math.min(box.height, page.height));
    const x = Math.max(0, Math.min(box.x, page.width - width));
    const y = Math.max(0, Math.min(box.y, page.height - height));
    Object.entries({ x, y, width, height }).forEach(([name, value]) => (field(row, name).value = String(value)));
    changed();
  }

  /** @param {Box | null} box */
  function newRow(box) {
    if (rows().length >= page.maxMarks) {
      spoken.textContent = words("full", { most: page.maxMarks });
      return null;
    }
    const row = /** @type {HTMLElement} */ (pattern.cloneNode(true));
    row.querySelectorAll("input").forEach((input) => (input.value = ""));
    list.append(withRemove(row));
    if (box) place(row, box);
    else changed();
    return row;
  }

  /** @param {HTMLElement} row */
  function withRemove(row) {
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "secondary remove";
    remove.textContent = page.words.remove;
    remove.addEventListener("click", () => {
      const number = rows().indexOf(row) + 1;
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      changed();
      spoken.textContent = words("removed", { number });
      (next ? find(next, ".remove") : add).focus();
    });
    row.append(remove);
    return row;
  }

  // The picture -------------------------------------------------------------------------------------------------------

  function overlay() {
    const made = document.createElementNS(SVG, "svg");
    made.setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
    made.setAttribute("aria-hidden", "true");
    byId("markable").append(made);
    return made;
  }

  /**
   * @param {string} name
   * @param {Record<string, number>} values
   * @param {string} look
   */
  function shape(name, values, look) {
    const made = document.createElementNS(SVG, name);
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, String(value)));
    made.setAttribute("class", look);
    return made;
  }

  function show() {
    drawing.replaceChildren();
    find(form, '[name="mark-TOTAL_FORMS"]', HTMLInputElement).value = String(rows().length);
    rows().forEach((row, index) => {
      nameFields(row, index);
      find(row, ".mark-number").textContent = words("mark", { number: index + 1 });
      const box = boxOf(row);
      if (box) drawing.append(drawn(box, index));
    });
  }

  /**
   * @param {Box} box
   * @param {number} index
   */
  function drawn(box, index) {
    const group = shape("g", { "data-place": index }, "mark");
    const text = shape("text", { x: box.x + 3, y: Math.max(box.y - 4, 12) }, "number");
    text.textContent = String(index + 1);
    const corner = { cx: box.x + box.width, cy: box.y + box.height };
    group.append(shape("rect", box, "halo"), shape("rect", box, "line"), text);
    group.append(shape("circle", { ...corner, r: 14 }, "reach corner"), shape("circle", { ...corner, r: 4 }, "corner"));
    return group;
  }

  /** @param {PointerEvent} event */
  function pixel(event) {
    const around = drawing.getBoundingClientRect();
    return {
      x: Math.round(((event.clientX - around.left) / around.width) * page.width),
      y: Math.round(((event.clientY - around.top) / around.height) * page.height),
    };
  }

  /**
   * @param {Point} from
   * @param {Point} to
   */
  function between(from, to) {
    const x = Math.min(from.x, to.x);
    const y = Math.min(from.y, to.y);
    return { x, y, width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
  }

  /** @param {Point} at */
  function inside(at) {
    return { x: Math.max(0, Math.min(at.x, page.width)), y: Math.max(0, Math.min(at.y, page.height)) };
  }

  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const target = /** @type {SVGElement} */ (event.target);
    const group = /** @type {SVGElement | null} */ (target.closest(".mark"));
    if (!group && event.pointerType === "touch" && !armed) return;
    event.preventDefault();
    drawing.setPointerCapture(event.pointerId);
    const from = pixel(event);
    const row = group ? rows()[Number(group.dataset.place)] : null;
    drag = { from, row, box: row && boxOf(row), resizes: target.classList.contains("corner"), fresh: false };
  });

  drawing.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const at = pixel(event);
    const by = { x: at.x - drag.from.x, y: at.y - drag.from.y };
    if (!drag.row) {
      if (Math.max(Math.abs(by.x), Math.abs(by.y)) < MIN_DRAG_PX) return;
      drag.row = newRow(null);
      drag.fresh = drag.row !== null;
    }
    const { from, row, box, resizes, fresh } = drag;
    if (!row) drag = null;
    else if (fresh) place(row, between(inside(from), inside(at)));
    else if (box) place(row, resizes ? resized(box, by) : { ...box, x: box.x + by.x, y: box.y + by.y });
  });

  /**
   * @param {Box} box
   * @param {Point} by
   */
  function resized(box, by) {
    const width = Math.max(1, Math.min(box.width + by.x, page.width - box.x));
    return { ...box, width, height: Math.max(1, Math.min(box.height + by.y, page.height - box.y)) };
  }

  const over = () => {
    const { row = null, fresh = false } = drag ?? {};
    if (row && fresh) {
      arm(false);
      field(row, "words").focus({ preventScroll: true });
    }
    if (row) say(row);
    drag = null;
  };
  drawing.addEventListener("pointerup", over);
  drawing.addEventListener("pointercancel", over);

  /** @param {boolean} wanted */
  function arm(wanted) {
    armed = wanted;
    drawing.classList.toggle("armed", armed);
    draw.setAttribute("aria-pressed", String(armed));
    draw.textContent = armed ? page.words.drawing : page.words.draw;
  }

  // The keyboard ------------------------------------------------------------------------------------------------------

  /** @param {HTMLElement} row */
  function say(row) {
    const box = boxOf(row);
    if (box) spoken.textContent = words("where", { number: rows().indexOf(row) + 1, ...box });
  }

  add.addEventListener("click", () => {
    const side = { width: Math.round(page.width / 5), height: Math.round(page.height / 5) };
    const middle = { x: Math.round((page.width - side.width) / 2), y: Math.round((page.height - side.height) / 2) };
    const row = newRow({ ...middle, ...side });
    if (!row) return;
    say(row);
    field(row, "x").focus();
  });
  draw.addEventListener("click", () => arm(!armed));

  list.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    const input = event.target;
    if (!step || !(input instanceof HTMLInputElement) || input.name.endsWith("-words") || !/^\d+$/.test(input.value)) return;
    event.preventDefault();
    input.value = String(Math.max(0, Number(input.value) + step * (event.shiftKey ? 10 : 1)));
    const row = /** @type {HTMLElement} */ (input.closest("li"));
    const box = boxOf(row);
    if (box) place(row, box);
    say(row);
  });
  list.addEventListener("input", () => changed());

  // The argument, and the draft -----------------------------------------------------------------------------------------

  function count() {
    const length = argument.value.trim().length;
    const missing = page.least - length;
    const values = { count: length.toLocaleString("en"), most: page.most.toLocaleString("en"), missing };
    byId("counter").textContent = words(missing > 0 ? "short" : "counter", values);
  }

  function changed() {
    show();
    const marks = rows().filter((row) => !isEmpty(row));
    const kept = marks.map((row) => Object.fromEntries(FIELDS.map((name) => [name, field(row, name).value])));
    sessionStorage.setItem(page.draft, JSON.stringify({ argument: argument.value, marks: kept }));
  }

  function restore() {
    /** @type {{argument: string, marks: TypedMark[]} | null} */
    const kept = JSON.parse(sessionStorage.getItem(page.draft) ?? "null");
    if (!kept || argument.value || rows().length > 0 || !(kept.argument || kept.marks.length)) return;
    argument.value = kept.argument;
    for (const mark of kept.marks) {
      const row = newRow(null);
      if (row) for (const name of FIELDS) field(row, name).value = mark[name];
    }
    spoken.textContent = page.words.restored;
  }

  form.classList.add("live");
  rows().forEach((row) => (isEmpty(row) ? row.remove() : withRemove(row)));
  draw.hidden = navigator.maxTouchPoints === 0;
  arm(false);
  restore();
  argument.addEventListener("input", () => {
    count();
    changed();
  });
  count();
  show();
}

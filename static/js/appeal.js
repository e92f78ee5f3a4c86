// The page of an appeal: marks drawn on the picture or placed by keyboard, how long the argument is, and a draft of both
// that outlives a sign-in in the same tab. What is sent are the fields of the form, with or without this script.
const SVG = "http://www.w3.org/2000/svg";
const SIDES = ["x", "y", "width", "height"];
// A shorter drag is a slip of the hand.
const LEAST_DRAG = 3;

const sent = document.querySelector("[data-sent]");
if (sent) sessionStorage.removeItem(sent.dataset.sent);

const form = document.getElementById("appeal-form");
if (form) begin(JSON.parse(document.getElementById("page-data").textContent));

function begin(page) {
  const words = (name, values) => page.words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
  const argument = document.getElementById("argument");
  const list = document.getElementById("mark-rows");
  const spoken = document.getElementById("spoken");
  const pattern = list.querySelector("li").cloneNode(true);
  const drawing = overlay();
  const add = document.getElementById("add");
  const draw = document.getElementById("draw");
  let armed = false;
  let drag = null;

  // Rows --------------------------------------------------------------------------------------------------------------

  const rows = () => [...list.children];
  const field = (row, name) => row.querySelector(`[name="mark_${name}"]`);
  const isEmpty = (row) => [...SIDES, "words"].every((name) => field(row, name).value.trim() === "");

  /** Return where a row's mark is, or null while its numbers are none. */
  function boxOf(row) {
    const typed = SIDES.map((name) => field(row, name).value.trim());
    if (!typed.every((each) => /^\d{1,6}$/.test(each))) return null;
    const [x, y, width, height] = typed.map(Number);
    return { x, y, width, height };
  }

  function place(row, box) {
    const width = Math.max(1, Math.min(box.width, page.width));
    const height = Math.max(1, Math.min(box.height, page.height));
    const x = Math.max(0, Math.min(box.x, page.width - width));
    const y = Math.max(0, Math.min(box.y, page.height - height));
    Object.entries({ x, y, width, height }).forEach(([name, value]) => (field(row, name).value = value));
    changed();
  }

  function newRow(box) {
    if (rows().length >= page.mostMarks) {
      spoken.textContent = words("full", { most: page.mostMarks });
      return null;
    }
    const row = pattern.cloneNode(true);
    row.querySelectorAll("input").forEach((input) => (input.value = ""));
    list.append(withRemove(row));
    if (box) place(row, box);
    else changed();
    return row;
  }

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
      (next?.querySelector(".remove") ?? add).focus();
    });
    row.append(remove);
    return row;
  }

  // The picture -------------------------------------------------------------------------------------------------------

  function overlay() {
    const made = document.createElementNS(SVG, "svg");
    made.setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
    made.setAttribute("aria-hidden", "true");
    document.getElementById("markable").append(made);
    return made;
  }

  function shape(name, values, look) {
    const made = document.createElementNS(SVG, name);
    Object.entries(values).forEach(([key, value]) => made.setAttribute(key, value));
    made.setAttribute("class", look);
    return made;
  }

  function show() {
    drawing.replaceChildren();
    rows().forEach((row, place) => {
      row.querySelector(".mark-number").textContent = words("mark", { number: place + 1 });
      const box = boxOf(row);
      if (box) drawing.append(drawn(box, place));
    });
  }

  function drawn(box, place) {
    const group = shape("g", { "data-place": place }, "mark");
    const text = shape("text", { x: box.x + 3, y: Math.max(box.y - 4, 12) }, "number");
    text.textContent = place + 1;
    const corner = { cx: box.x + box.width, cy: box.y + box.height };
    group.append(shape("rect", box, "halo"), shape("rect", box, "line"), text);
    group.append(shape("circle", { ...corner, r: 14 }, "reach corner"), shape("circle", { ...corner, r: 4 }, "corner"));
    return group;
  }

  function pixel(event) {
    const around = drawing.getBoundingClientRect();
    return {
      x: Math.round(((event.clientX - around.left) / around.width) * page.width),
      y: Math.round(((event.clientY - around.top) / around.height) * page.height),
    };
  }

  function between(from, to) {
    const x = Math.min(from.x, to.x);
    const y = Math.min(from.y, to.y);
    return { x, y, width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y) };
  }

  function inside(at) {
    return { x: Math.max(0, Math.min(at.x, page.width)), y: Math.max(0, Math.min(at.y, page.height)) };
  }

  drawing.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const group = event.target.closest(".mark");
    if (!group && event.pointerType === "touch" && !armed) return;
    event.preventDefault();
    drawing.setPointerCapture(event.pointerId);
    const from = pixel(event);
    const row = group ? rows()[Number(group.dataset.place)] : null;
    drag = { from, row, box: row ? boxOf(row) : null, resizes: event.target.classList.contains("corner") };
  });

  drawing.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const at = pixel(event);
    const by = { x: at.x - drag.from.x, y: at.y - drag.from.y };
    if (!drag.row) {
      if (Math.max(Math.abs(by.x), Math.abs(by.y)) < LEAST_DRAG) return;
      drag.row = newRow(null);
      drag.fresh = drag.row !== null;
      if (!drag.row) drag = null;
    }
    if (!drag) return;
    if (drag.fresh) place(drag.row, between(inside(drag.from), inside(at)));
    else if (drag.resizes) place(drag.row, resized(drag.box, by));
    else place(drag.row, { ...drag.box, x: drag.box.x + by.x, y: drag.box.y + by.y });
  });

  function resized(box, by) {
    const width = Math.max(1, Math.min(box.width + by.x, page.width - box.x));
    return { ...box, width, height: Math.max(1, Math.min(box.height + by.y, page.height - box.y)) };
  }

  const over = () => {
    if (drag?.fresh) {
      arm(false);
      field(drag.row, "words").focus({ preventScroll: true });
    }
    if (drag?.row) say(drag.row);
    drag = null;
  };
  drawing.addEventListener("pointerup", over);
  drawing.addEventListener("pointercancel", over);

  function arm(wanted) {
    armed = wanted;
    drawing.classList.toggle("armed", armed);
    draw.setAttribute("aria-pressed", armed);
    draw.textContent = armed ? page.words.drawing : page.words.draw;
  }

  // The keyboard ------------------------------------------------------------------------------------------------------

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
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const input = event.target;
    if (!step || input.name === "mark_words" || !/^\d+$/.test(input.value)) return;
    event.preventDefault();
    input.value = Math.max(0, Number(input.value) + step * (event.shiftKey ? 10 : 1));
    const row = input.closest("li");
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
    document.getElementById("counter").textContent = words(missing > 0 ? "short" : "counter", values);
  }

  function changed() {
    show();
    const marks = rows().filter((row) => !isEmpty(row));
    const kept = marks.map((row) => Object.fromEntries([...SIDES, "words"].map((name) => [name, field(row, name).value])));
    sessionStorage.setItem(page.draft, JSON.stringify({ argument: argument.value, marks: kept }));
  }

  function restore() {
    const kept = JSON.parse(sessionStorage.getItem(page.draft) ?? "null");
    if (!kept || argument.value || rows().length > 0 || !(kept.argument || kept.marks.length)) return;
    argument.value = kept.argument;
    for (const mark of kept.marks) {
      const row = newRow(null);
      Object.entries(mark).forEach(([name, value]) => (field(row, name).value = value));
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

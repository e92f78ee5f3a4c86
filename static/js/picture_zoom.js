// Looks closer at a picture with everything drawn over it: buttons, + and −, Ctrl and the wheel (or two fingers on a
// touchpad), dragging what is enlarged, and brightness. The pages of a case and of a picture's record use this.

import { byId, find } from "./dom.js";
import { isTyping } from "./legend.js";

const STEP = 1.5;
const MOST = 12;

const picture = byId("picture", SVGSVGElement);
const tools = byId("picture-tools");
const level = find(tools, "output", HTMLOutputElement);
const light = find(tools, "input[type=range]", HTMLInputElement);
const { width, height } = picture.viewBox.baseVal;

let scale = 1;
let left = 0;
let top = 0;

/** @param {number} value @param {number} least @param {number} most */
const within = (value, least, most) => Math.min(Math.max(value, least), most);

function show() {
  left = within(left, 0, width - width / scale);
  top = within(top, 0, height - height / scale);
  picture.setAttribute("viewBox", `${left} ${top} ${width / scale} ${height / scale}`);
  picture.classList.toggle("enlarged", scale > 1);
  level.textContent = `${Math.round(scale * 100)} %`;
  for (const [action, isOver] of [["out", scale <= 1], ["fit", scale <= 1], ["in", scale >= MOST]]) {
    find(tools, `[data-zoom=${action}]`, HTMLButtonElement).disabled = Boolean(isOver);
  }
}

/**
 * Enlarge or reduce around a place of the picture, which stays where it is.
 * @param {number} factor
 * @param {number} [x] of the drawing's width, 0 to 1
 * @param {number} [y]
 */
function zoom(factor, x = 0.5, y = 0.5) {
  const before = scale;
  scale = within(scale * factor, 1, MOST);
  left += (width / before - width / scale) * x;
  top += (height / before - height / scale) * y;
  show();
}

function fit() {
  scale = 1;
  show();
}

/** @type {Record<string, () => void>} */
const ACTIONS = { in: () => zoom(STEP), out: () => zoom(1 / STEP), fit };

tools.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-zoom]") : null;
  if (button instanceof HTMLButtonElement) ACTIONS[button.dataset.zoom ?? ""]?.();
});
light.addEventListener("input", () => {
  picture.style.filter = light.value === light.defaultValue ? "" : `brightness(${light.value}%)`;
});
document.addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "+" || event.key === "=") ACTIONS.in();
  else if (event.key === "-") ACTIONS.out();
});
picture.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = picture.getBoundingClientRect();
    zoom(2 ** (-event.deltaY / 200), (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  },
  { passive: false },
);
picture.addEventListener("pointerdown", (event) => {
  if (scale === 1 || event.button !== 0) return;
  event.preventDefault();
  picture.setPointerCapture(event.pointerId);
});
picture.addEventListener("pointermove", (event) => {
  if (!picture.hasPointerCapture(event.pointerId)) return;
  const box = picture.getBoundingClientRect();
  left -= (event.movementX / box.width) * (width / scale);
  top -= (event.movementY / box.height) * (height / scale);
  show();
});
tools.hidden = false;
show();

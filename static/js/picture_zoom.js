// Looks closer at a picture with everything drawn over it: buttons, + and −, Ctrl and the wheel (or two fingers on a
// touchpad), and brightness. What is enlarged is dragged, or moved by the arrows while a button of these has the focus.
// The pages of a case, of the sweep and of a picture's record use this.

import { byId, find } from "./dom.js";
import { isTyping } from "./legend.js";

const STEP = 1.5;
const MAX_SCALE = 12;
// Of what is seen, for each press of an arrow.
const MOVE = 0.2;

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
  picture.style.setProperty("--scale", String(scale));
  level.textContent = `${Math.round(scale * 100)} %`;
}

/**
 * Enlarge or reduce around a place of the picture, which stays where it is.
 * @param {number} factor
 * @param {number} [x] of the drawing's width, 0 to 1
 * @param {number} [y]
 */
function zoom(factor, x = 0.5, y = 0.5) {
  const before = scale;
  scale = within(scale * factor, 1, MAX_SCALE);
  left += (width / before - width / scale) * x;
  top += (height / before - height / scale) * y;
  show();
}

function fit() {
  scale = 1;
  show();
}

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** @type {Record<string, () => void>} */
const ACTIONS = { in: () => zoom(STEP), out: () => zoom(1 / STEP), fit };

tools.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-zoom]") : null;
  if (button instanceof HTMLButtonElement) ACTIONS[button.dataset.zoom ?? ""]?.();
});
light.addEventListener("input", () => {
  picture.style.filter = light.value === light.defaultValue ? "" : `brightness(${light.value}%)`;
});
tools.addEventListener("keydown", (event) => {
  const arrow = ARROWS[event.key];
  if (!arrow || event.target === light) return;
  event.preventDefault();
  left += arrow[0] * MOVE * (width / scale);
  top += arrow[1] * MOVE * (height / scale);
  show();
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

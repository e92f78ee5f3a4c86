// Counts the clocks of stakes down, second by second. The server's time at the page's making is where it starts from:
// this device's own clock may be wrong.
import { findAll } from "./dom.js";

const DAY = 86400;

/**
 * Return whole seconds as `2 d 03:25:07`, without the days on the last one; the server writes the same.
 * @param {number} seconds
 */
export function clockWords(seconds) {
  const left = Math.max(seconds, 0);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const rest = left % DAY;
  const clock = `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  return left >= DAY ? `${Math.floor(left / DAY)} d ${clock}` : clock;
}

const began = performance.now();
const clocks = findAll(document, ".clock[data-until]").map((place) => ({
  place,
  left: Date.parse(place.dataset.until ?? "") - Date.parse(place.dataset.now ?? ""),
}));

function show() {
  const passed = performance.now() - began;
  for (const { place, left } of clocks) {
    const words = clockWords(Math.ceil((left - passed) / 1000));
    if (place.textContent !== words) place.textContent = words;
  }
}

if (clocks.length > 0) {
  show();
  setInterval(show, 250);
}

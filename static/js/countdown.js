// Counts a countdown of the page down, from what the server said was left when it wrote the page: this device's clock
// may be wrong. Without this module the page shows what was left then.
import { find, findAll } from "./dom.js";

/**
 * The same words as contest.core.countdown.clock_words.
 * @param {number} seconds
 */
function words(seconds) {
  const days = Math.floor(seconds / 86400);
  const parts = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  const clock = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return days ? `${days} d ${clock}` : clock;
}

/** @param {HTMLElement} place */
function count(place) {
  const end = performance.now() + Number(place.dataset.left) * 1000;
  const clock = find(place, "[data-clock]");
  const tick = () => {
    const left = Math.max(Math.ceil((end - performance.now()) / 1000), 0);
    clock.textContent = words(left);
    if (left === 0) clearInterval(every);
  };
  const every = setInterval(tick, 250);
  tick();
}

for (const place of findAll(document, "[data-countdown]")) count(place);

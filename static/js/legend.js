// What is drawn over a picture, by keyboard: 1 to 9 for an outline, 0 for all of them, b for the smallest box. The boxes
// of the legend say what is shown; the pages of a case and of the sweep use this.
import { findAll } from "./dom.js";

/** @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof Element && target.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=range])");
}

/**
 * Have a screen reader say some words.
 * @param {string} words
 */
export function say(words) {
  const spoken = document.getElementById("spoken");
  if (spoken) spoken.textContent = words;
}

/**
 * Show or hide what a key of the legend stands for; return whether the key is one of the legend's.
 * @param {string} key
 */
export function press(key) {
  if (/^[1-9]$/.test(key)) toggle(`show-${key}`);
  else if (key === "0") toggleAll();
  else if (key === "b") toggle("show-box");
  else return false;
  return true;
}

/** @param {string} id */
function toggle(id) {
  const box = document.getElementById(id);
  if (!(box instanceof HTMLInputElement) || box.disabled) return;
  box.checked = !box.checked;
  say(`${(box.closest("label")?.textContent ?? "").trim().replace(/\s+/g, " ")}: ${box.checked ? "shown" : "hidden"}`);
}

/** Show every outline, or hide them all where every one is shown. */
function toggleAll() {
  const boxes = findAll(document, ".legend input:not(:disabled)", HTMLInputElement).filter(({ id }) => /^show-\d+$/.test(id));
  const shown = !boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = shown;
  say(shown ? "All outlines shown" : "All outlines hidden");
}

// Keeps a page of figures fresh without moving it: opened details stay open, the focus stays where it is, and nothing is
// exchanged while text is selected or the page is not looked at. Without this module the page is complete, only older.

import { find, findAll } from "./dom.js";

const place = find(document, "[data-source][data-seconds]");
const { source = "" } = place.dataset;
const seconds = Number(place.dataset.seconds);
const fresh = `Refreshed every ${seconds} s.`;
/** @type {Date | null} */
let failedSince = null;

/** @param {string} words */
function note(words) {
  const at = place.querySelector(".refresh-note");
  if (at && at.textContent !== words) at.textContent = words;
}

function selecting() {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && place.contains(selection.anchorNode);
}

/** How to find the focused element again after the exchange: by its id, or by where its link or details is. */
function focused() {
  const element = document.activeElement;
  if (!element || !place.contains(element)) return null;
  if (element.tagName === "A") return `a[href="${CSS.escape(element.getAttribute("href") ?? "")}"]`;
  const details = element.closest("details[id]");
  return details ? `#${details.id} > summary` : null;
}

/** @param {string} html */
function exchange(html) {
  const open = findAll(place, "details[open]").map((each) => each.id);
  const focus = focused();
  place.innerHTML = html;
  note(fresh); // at once: a line that comes after the focus would move the page
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  const again = focus && place.querySelector(focus);
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

async function refresh() {
  if (document.hidden || selecting()) return;
  try {
    const answer = await fetch(source, { redirect: "error", headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const html = await answer.text();
    if (selecting()) return;
    exchange(html);
    failedSince = null;
  } catch {
    failedSince ??= new Date();
    const time = failedSince.toLocaleTimeString("en-GB");
    note(`Not refreshed since ${time}: the server does not answer, or you are signed out. Trying again every ${seconds} s.`);
  }
}

note(fresh);
setInterval(refresh, seconds * 1000);
document.addEventListener("visibilitychange", refresh);

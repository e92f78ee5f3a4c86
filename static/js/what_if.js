// Asks for what other numbers would change, part by part, and adds up what comes.
import { find } from "./dom.js";

/** @typedef {{looked: number, kinds: Record<string, number>, items: string[], through: number | null}} Part */

const place = find(document, "[data-parts]");
const progress = find(place, "progress", HTMLProgressElement);
const status = find(place, ".status");
const list = find(place, ".pictures");
const limit = Number(place.dataset.limit);
const all = Number(place.dataset.pictures);
const begun = performance.now();
/** @param {number} number */
const formatted = (number) => number.toLocaleString("en-GB");

/**
 * @param {number} after the row after which the part begins
 * @returns {Promise<Part>}
 */
async function fetchPart(after) {
  const answer = await fetch(`${place.dataset.parts}&behind=${after}`, { redirect: "error" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

/** @param {Part} part */
function add({ looked, kinds, items }) {
  progress.value += looked;
  for (const [kind, count] of Object.entries(kinds)) {
    const cell = find(place, `[data-kind="${kind}"]`);
    const sum = Number(cell.dataset.sum ?? 0) + count;
    cell.dataset.sum = String(sum);
    cell.textContent = formatted(sum);
  }
  list.insertAdjacentHTML("beforeend", items.slice(0, limit - list.children.length).join(""));
  status.textContent = `${formatted(progress.value)} of ${formatted(all)} pictures`;
}

function end() {
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  status.textContent = `${formatted(progress.value)} pictures tried in ${seconds} s.`;
  progress.hidden = true;
  find(place, ".none").hidden = list.children.length > 0;
  find(place, ".more").hidden = list.children.length < limit;
  place.dataset.done = "";
}

/**
 * Go on after a row; what was added up stays when the server does not answer.
 * @param {number} after
 */
async function goOn(after) {
  let row = after;
  try {
    for (;;) {
      const part = await fetchPart(row);
      add(part);
      if (part.through === null) break;
      row = part.through;
    }
    end();
  } catch {
    status.textContent = "The server does not answer, or you are signed out. ";
    const again = document.createElement("button");
    again.type = "button";
    again.className = "secondary";
    again.textContent = "Go on";
    again.addEventListener("click", () => {
      status.textContent = "Trying…";
      goOn(row);
    });
    status.append(again);
  }
}

const section = status.parentElement;
if (section) section.hidden = false;
goOn(0);

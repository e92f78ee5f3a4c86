// A search field over what a page lists: parts without all the words are hidden, and folded groups open where one is found.

import { find, findAll } from "./dom.js";

for (const field of findAll(document, "[data-find]", HTMLInputElement)) {
  const parts = findAll(document, field.dataset.find ?? "").map((part) => ({ part, text: textOf(part) }));
  const groups = [...new Set(parts.map(({ part }) => part.closest("details")))].filter((group) => group !== null);
  if (field.parentElement) field.parentElement.hidden = false;
  const wereOpen = groups.map((group) => group.open);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { part, text } of parts) part.hidden = !words.every((word) => text.includes(word));
    const found = parts.filter(({ part }) => !part.hidden).length;
    groups.forEach((group, at) => {
      const isFound = parts.some(({ part }) => !part.hidden && group.contains(part));
      group.hidden = !isFound;
      group.open = words.length ? isFound : wereOpen[at];
    });
    const status = field.parentElement && find(field.parentElement, "[role=status]");
    if (status) status.textContent = words.length ? `${found} of ${parts.length}` : "";
  });
}

/** @param {HTMLElement} part */
function textOf(part) {
  const names = findAll(part, "[name]").map((each) => each.getAttribute("name"));
  return `${part.textContent} ${names.join(" ")}`.toLowerCase();
}

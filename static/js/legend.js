// What is drawn over a picture, by keyboard: 1 to 9 for an outline, 0 for all of them, b for the smallest box. The boxes
// of the legend say what is shown; the pages of a case and of the sweep use this.
export const at = (id) => document.getElementById(id);
export const isTyping = (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox])");

/** Tell those who hear the page. */
export function say(words) {
  const spoken = at("spoken");
  if (spoken) spoken.textContent = words;
}

/** Show or hide what a key of the legend stands for; return whether the key is one of the legend's. */
export function press(key) {
  if (/^[1-9]$/.test(key)) toggle(at(`show-${key}`));
  else if (key === "0") toggleAll();
  else if (key === "b") toggle(at("show-box"));
  else return false;
  return true;
}

function toggle(box) {
  if (!box || box.disabled) return;
  box.checked = !box.checked;
  say(`${box.closest("label").textContent.trim().replace(/\s+/g, " ")}: ${box.checked ? "shown" : "hidden"}`);
}

/** Show every outline, or hide them all where every one is shown. */
function toggleAll() {
  const boxes = [...document.querySelectorAll(".legend input:not(:disabled)")].filter((box) => /^show-\d+$/.test(box.id));
  const shown = !boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = shown;
  say(shown ? "All outlines shown" : "All outlines hidden");
}

// The page that makes a picture gold: draws the right outline in the outline editor. The field with the corners as JSON
// stays what is sent; without this module it is typed there.

import { byId } from "./dom.js";
import { OutlineEditor } from "./outline_editor.js";

const field = byId("outline", HTMLTextAreaElement);
const place = byId("outline-editor");
const note = byId("outline-note");
const { url = "", width, height } = place.dataset;

/** @param {unknown} corner */
const isCorner = (corner) => Array.isArray(corner) && corner.length === 2 && corner.every(Number.isFinite);

/** Return the rings that the field holds; none where it holds no rings, of which the server says what is wrong. */
function ringsOfField() {
  try {
    const rings = JSON.parse(field.value || "[]");
    const are = Array.isArray(rings) && rings.every((ring) => Array.isArray(ring) && ring.every(isCorner));
    return are ? rings : [];
  } catch {
    return [];
  }
}

place.hidden = false;
const editor = new OutlineEditor(place, {
  imageUrl: url,
  width: Number(width),
  height: Number(height),
  rings: ringsOfField(),
  announce: (words) => {
    note.textContent = words;
  },
  onChange: (changed, { settled }) => {
    if (!settled) return;
    field.value = changed.rings.length > 0 ? JSON.stringify(changed.rings) : "";
    // For the draft that the browser keeps of the form.
    field.dispatchEvent(new CustomEvent("input", { bubbles: true, detail: "drawn" }));
  },
});
field.addEventListener("input", (event) => {
  if (!(event instanceof CustomEvent)) editor.rings = ringsOfField();
});
field.form?.addEventListener("submit", (event) => {
  const words = editor.drawing ? "An outline is begun and not closed: choose its first corner again, or press C." : "";
  if (!words && !editor.problem) return;
  event.preventDefault();
  note.textContent = words || (editor.problem?.message ?? "");
  note.scrollIntoView({ block: "nearest" });
});

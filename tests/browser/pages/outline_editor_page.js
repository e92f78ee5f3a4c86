// A page with nothing but the editor: what a test drives and looks at.
import { OutlineEditor } from "/static/js/outline_editor.js";
import * as geometry from "/static/js/geometry.js";

const container = document.querySelector("#editor");
const changes = [];

window.geometry = geometry;
window.changes = changes;
window.editor = new OutlineEditor(container, {
  imageUrl: new URLSearchParams(location.search).get("image") ?? "/pages/picture.png",
  width: 299,
  height: 299,
  onChange: (editor, { settled }) => {
    changes.push(settled);
    document.querySelector("#problem").textContent = editor.problem?.message ?? "";
  },
  announce: (text) => {
    document.querySelector("#spoken").textContent = text;
  },
  labels: { name: "Outline of the bird", describedBy: "keys" },
});

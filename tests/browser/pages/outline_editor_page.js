// A page with nothing but the editor: what a test drives and looks at. `rebuild` makes it anew with other options.
import { OutlineEditor } from "/static/js/outline_editor.js";
import * as geometry from "/static/js/geometry.js";
import { Trace } from "/static/js/outline_trace.js";

const container = document.querySelector("#editor");
const [changes, chosen] = [[], []];

Object.assign(window, { geometry, Trace, changes, chosen });

let editor = null;

window.rebuild = (options = {}) => {
  editor?.destroy();
  editor = new OutlineEditor(container, {
    imageUrl: "/pages/picture.png",
    width: 299,
    height: 299,
    onChange: (changed, { settled }) => {
      changes.push(settled);
      document.querySelector("#problem").textContent = changed.problem?.message ?? "";
    },
    onSimplify: (value) => chosen.push(value),
    announce: (text) => {
      document.querySelector("#spoken").textContent = text;
    },
    ...options,
    labels: { name: "Outline of the bird", describedBy: "keys", ...options.labels },
  });
  window.editor = editor;
};

window.rebuild();

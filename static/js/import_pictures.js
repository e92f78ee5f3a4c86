// The page that imports photographs: sends what was chosen a few files at a time, with progress and the result of each.
// Files that did not arrive stay chosen. Without this module the form sends all of them at once.

import { csrfToken } from "./csrf.js";
import { byId, find } from "./dom.js";

/** @typedef {{id: string, url: string, new: boolean, warnings: string[]}} Picture */
/** @typedef {{name: string, picture?: Picture, refused?: {detail: string}}} Outcome of one picture */
/** @typedef {{outcomes?: Outcome[], detail?: string}} Answer of the server to one request */

const MAX_FILES = 8;
const MAX_BYTES = 16 * 1024 ** 2;
const MAX_UPLOAD_BYTES = 32 * 1024 ** 2;
const SIGNED_OUT = "You are signed out. Sign in in another tab and import again: the files that are left stay chosen here.";
const NO_ANSWER = "The server did not answer. Import again: the files that are left stay chosen here.";
const FORGED = "The server could not tell that this page sent it. Reload the page, and choose the files again.";
const FORBIDDEN = 403;

const form = byId("import-form", HTMLFormElement);
const input = byId("image", HTMLInputElement);
const drop = byId("drop");
const button = find(form, "[type=submit]", HTMLButtonElement);
const progress = byId("progress", HTMLProgressElement);
const summary = byId("summary");
const list = byId("outcomes-list");

/** @type {File[]} */
let waiting = [];
let chosen = 0;
let sending = false;
// Of all that was sent since files were chosen.
let counts = { added: 0, known: 0, refused: 0 };

/** Return the next files to send: one at least, several where they are small. */
function nextFiles() {
  let bytes = waiting[0].size;
  const end = waiting.findIndex((file, at) => at > 0 && (at === MAX_FILES || (bytes += file.size) > MAX_BYTES));
  return waiting.slice(0, end < 0 ? MAX_FILES : end);
}

/** Return what the form says of all files: where they come from, on which terms, and what for. */
function termsOfForm() {
  const terms = new FormData(form);
  for (const name of ["image", "csrfmiddlewaretoken"]) terms.delete(name);
  return [...terms.entries()];
}

/**
 * @param {File[]} files
 * @param {[string, FormDataEntryValue][]} terms
 * @returns {Promise<Answer>}
 */
async function post(files, terms) {
  const body = new FormData();
  for (const [name, value] of terms) body.append(name, value);
  for (const file of files) body.append("image", file);
  const headers = { Accept: "application/json", "X-CSRFToken": csrfToken() };
  const answer = await fetch(form.action, { method: "POST", body, headers }).catch(() => null);
  if (!answer) return { detail: NO_ANSWER };
  if (answer.redirected) return { detail: SIGNED_OUT };
  return answer.json().catch(() => ({ detail: answer.status === FORBIDDEN ? FORGED : NO_ANSWER }));
}

/**
 * @param {string} name
 * @param {Outcome} outcome
 */
function show(name, { picture, refused }) {
  const line = document.createElement("li");
  const file = document.createElement("span");
  file.className = "file";
  file.textContent = name;
  line.append(file, ": ");
  if (picture) {
    const link = document.createElement("a");
    link.href = picture.url;
    link.textContent = picture.id;
    line.append(link, picture.new ? " added" : " known, skipped", ...picture.warnings.map((each) => `. ${each}`));
  } else {
    line.className = "wrong";
    line.append(`refused. ${refused?.detail ?? ""}`);
  }
  list.append(line);
}

function refresh() {
  button.disabled = sending;
  input.disabled = sending;
  button.textContent = waiting.length > 0 ? `Import ${waiting.length} ${waiting.length === 1 ? "file" : "files"}` : "Import";
}

/** @param {Iterable<File>} files */
function choose(files) {
  if (sending) return;
  waiting = [...files];
  chosen = waiting.length;
  counts = { added: 0, known: 0, refused: 0 };
  list.replaceChildren();
  summary.textContent = "";
  refresh();
}

async function send() {
  const total = chosen;
  const terms = termsOfForm();
  let problem = "";
  sending = true;
  progress.hidden = false;
  progress.max = total;
  progress.value = total - waiting.length;
  summary.textContent = `Importing ${waiting.length} ${waiting.length === 1 ? "file" : "files"}…`;
  if (document.activeElement === button) summary.focus();
  refresh();
  while (waiting.length > 0 && !problem) {
    const files = nextFiles();
    const tooLarge = files[0].size > MAX_UPLOAD_BYTES;
    const detail = "The file has more than 32 MiB. Make it smaller, or divide the zip.";
    const answer = tooLarge ? { outcomes: [{ name: files[0].name, refused: { detail } }] } : await post(files, terms);
    if (!answer.outcomes) {
      problem = answer.detail ?? NO_ANSWER;
      break;
    }
    for (const outcome of answer.outcomes) {
      show(outcome.name, outcome);
      counts[outcome.refused ? "refused" : outcome.picture?.new ? "added" : "known"] += 1;
    }
    waiting = waiting.slice(files.length);
    progress.value = total - waiting.length;
    const words = `${counts.added} added, ${counts.known} known, ${counts.refused} refused`;
    summary.textContent = `${total - waiting.length} of ${total} ${total === 1 ? "file" : "files"}: ${words}.`;
  }
  sending = false;
  progress.hidden = true;
  if (problem) summary.textContent = problem;
  else input.value = "";
  refresh();
  if (document.activeElement === summary) button.focus();
}

input.addEventListener("change", () => choose(input.files ?? []));
form.addEventListener("submit", (event) => {
  if (waiting.length === 0) return;
  event.preventDefault();
  if (!sending) send();
});
for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, () => drop.classList.add("over"));
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  if (event.dataTransfer) choose(event.dataTransfer.files);
});
// A picture that misses the place would make the browser leave the page.
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
drop.classList.add("live");
input.required = false;
refresh();

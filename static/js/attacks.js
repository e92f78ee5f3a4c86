// The page of attacks: takes pictures by choosing or dropping, looks at each before it is sent, and sends them one by one
// with a receipt for each. Without this module the form sends them all at once and the next page lists what came of it.

import { csrfToken } from "./csrf.js";
import { byId, find } from "./dom.js";
import { fill, look } from "./picture_check.js";

/** @import { Inspection, Rules } from "./picture_check.js" */
/**
 * @typedef {object} Sending what the page knows of sending, beside the rules of pictures
 * @property {string[]} known hashes of pictures that were sent
 * @property {number} left pictures of today's quota
 * @property {number} perDay the whole quota
 * @property {string} dayEnds
 * @property {number} dayLeft seconds until then
 * @property {string} send the address that takes a picture
 * @property {string} signIn
 */
/**
 * @typedef {object} Row one chosen file on the page
 * @property {File} file
 * @property {"looking" | "ready" | "refused" | "done"} state
 * @property {number} pictures in it
 * @property {string} readyWords
 * @property {HTMLLIElement} item
 * @property {HTMLCanvasElement} picture
 * @property {HTMLElement} note
 * @property {HTMLProgressElement} bar
 * @property {HTMLButtonElement} remove
 * @property {HTMLElement | null} outcomes
 */
/** @typedef {{id: string, url: string, sha256_pixels: string, warnings: string[]}} Receipt */
/** @typedef {{code: string, detail: string, url?: string, receipt?: string}} RefusedPicture */
/** @typedef {{name: string, receipt: Receipt, refused?: undefined}} TakenOutcome */
/** @typedef {{name: string, receipt?: null, refused: RefusedPicture}} RefusedOutcome */
/** @typedef {TakenOutcome | RefusedOutcome} Outcome of one picture */
/** @typedef {{outcomes: Outcome[], quota_left: number, day_ends: string}} Accepted the server's answer to an upload */
/** @typedef {{outcomes?: undefined, code?: string, detail?: string}} RefusedUpload */
/** @typedef {Accepted | RefusedUpload | null} UploadAnswer */

/** @type {Rules & Sending} */
const rules = JSON.parse(byId("page-data").textContent);
const words = rules.words;
const form = byId("attack-form", HTMLFormElement);
const input = byId("image", HTMLInputElement);
const drop = byId("drop");
const list = byId("chosen");
const button = find(form, "[type=submit]", HTMLButtonElement);
const summary = byId("summary");
const left = byId("left");
const nextDay = byId("next-day");
const known = new Set(rules.known);
const THUMBNAIL = 56;
// What is refused of the whole upload, and is taken once something beside the pictures was put right.
const KEEPS = ["signed_out", "other_team", "not_staked", "busy", "too_many_refused"];

/** @type {Row[]} */
const rows = [];
let sending = false;

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} className
 */
function element(name, className, content = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = content;
  return made;
}

/**
 * @param {Row} row
 * @param {string} kind
 * @param {string} content
 */
function say(row, kind, content) {
  row.note.className = `chosen-note ${kind}`;
  row.note.textContent = content;
}

/** @param {File} file */
function add(file) {
  /** @type {Row} */
  const row = {
    file,
    state: "looking",
    pictures: 0,
    readyWords: "",
    item: element("li", "chosen-row"),
    picture: element("canvas", "chosen-picture"),
    note: element("p", "chosen-note"),
    bar: element("progress", "chosen-bar"),
    remove: element("button", "secondary chosen-remove", words.remove),
    outcomes: null,
  };
  row.picture.width = row.picture.height = THUMBNAIL;
  row.bar.max = 100;
  row.bar.hidden = true;
  row.bar.setAttribute("aria-label", file.name);
  row.remove.type = "button";
  row.remove.setAttribute("aria-label", fill(words.removeNamed, { name: file.name }));
  row.remove.addEventListener("click", () => removeRow(row));
  const about = element("div", "chosen-about");
  about.append(element("span", "chosen-name", file.name), row.note, row.bar);
  row.item.append(row.picture, about, row.remove);
  list.append(row.item);
  rows.push(row);
  say(row, "muted", words.looking);
  return row;
}

/** @param {Row} row */
function removeRow(row) {
  const at = rows.indexOf(row);
  rows.splice(at, 1);
  row.item.remove();
  (rows[Math.min(at, rows.length - 1)]?.remove ?? input).focus();
  refresh();
}

/** @param {Row} row */
async function lookAt(row) {
  const found = await look(row.file, rules);
  if (found.canvas) row.picture.getContext("2d")?.drawImage(found.canvas, 0, 0, THUMBNAIL, THUMBNAIL);
  if (found.zip) row.picture.replaceWith(element("span", "chosen-picture chosen-zip", words.zipName));
  if (found.refused) refuse(row, found.refused);
  else if (row.file.size > rules.maxUpload) refuse(row, fill(words.tooLarge, { most: rules.maxUpload / 1024 ** 2 }));
  else if (found.sha256 && known.has(found.sha256)) refuse(row, words.known);
  else accept(row, found);
  refresh();
}

/**
 * @param {Row} row
 * @param {Inspection} found
 */
function accept(row, { zip, pictures = null, warning }) {
  row.state = "ready";
  row.pictures = pictures ?? 1;
  row.readyWords = zip ? zipWords(pictures) : warning || words.ready;
  say(row, warning ? "warning" : "muted", row.readyWords);
}

/** @param {number | null} pictures */
function zipWords(pictures) {
  if (pictures === null) return words.zipUnread;
  return pictures === 1 ? words.zipOne : fill(words.zip, { count: pictures });
}

/**
 * @param {Row} row
 * @param {string} content
 */
function refuse(row, content) {
  row.state = "refused";
  say(row, "wrong", fill(words.refused, { words: content }));
}

function ready() {
  return rows.filter((row) => row.state === "ready");
}

function refresh() {
  const count = ready().reduce((sum, row) => sum + row.pictures, 0);
  const usedUp = rules.left <= 0;
  button.disabled = sending || usedUp || (rows.length > 0 && count === 0);
  const plural = count === 1 ? words.sendOne : fill(words.send, { count });
  button.textContent = count === 0 ? words.sendNone : plural;
  left.textContent = fill(words.left, { count: rules.left });
  nextDay.textContent = fill(words.nextDay, { when: rules.dayEnds });
  nextDay.hidden = !usedUp;
  const tooMany = count > rules.left ? words.tooMany : "";
  if (!sending) summary.textContent = count > 0 && usedUp ? words.usedUp : tooMany;
}

/** @param {Iterable<File>} files */
async function take(files) {
  const added = [...files].map(add);
  input.value = "";
  refresh();
  for (const row of added) await lookAt(row);
}

/**
 * @param {Row} row
 * @returns {Promise<UploadAnswer>} null where there is no answer
 */
function post(row) {
  const body = new FormData(form);
  body.delete("image");
  body.delete("csrfmiddlewaretoken");
  body.append("image", row.file);
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("POST", rules.send);
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      row.bar.value = (100 * event.loaded) / event.total;
      say(row, "muted", fill(words.sending, { percent: Math.floor(row.bar.value) }));
    });
    request.upload.addEventListener("load", () => say(row, "muted", words.arrived));
    request.addEventListener("loadend", () => done(request.response));
    request.send(body);
  });
}

/**
 * @param {string} href
 * @param {string} content
 */
function link(href, content) {
  const made = element("a", "", content);
  made.href = href;
  return made;
}

/**
 * Write what came of one picture; an archive has a line for each of its own.
 * @param {Row} row
 * @param {UploadAnswer} answer
 */
function showOutcomes(row, answer) {
  row.bar.hidden = true;
  row.remove.hidden = true;
  if (!answer?.outcomes) {
    row.state = answer?.detail ? "refused" : "ready";
    say(row, "wrong", answer?.detail ? fill(words.serverRefused, { words: answer.detail }) : words.failed);
    row.remove.hidden = false;
    return { sent: 0, refused: answer?.detail ? 1 : 0 };
  }
  const isBusy = answer.outcomes.some((each) => each.refused?.code === "busy");
  row.state = isBusy ? "ready" : "done";
  row.outcomes?.remove();
  const lines = element("ul", "chosen-outcomes");
  for (const each of answer.outcomes) lines.append(line(each, answer.outcomes.length > 1));
  row.bar.before(lines);
  row.outcomes = lines;
  if (isBusy) {
    // Nothing was wrong with the picture: it can be sent again. What arrived of an archive gets its receipt once more.
    row.remove.hidden = false;
    say(row, "muted", row.readyWords);
  } else {
    row.note.remove();
    row.bar.remove();
  }
  rules.left = answer.quota_left;
  rules.dayEnds = answer.day_ends;
  const receipts = answer.outcomes.flatMap(({ receipt }) => receipt ?? []);
  for (const receipt of receipts) known.add(receipt.sha256_pixels);
  return { sent: receipts.length, refused: answer.outcomes.length - receipts.length };
}

/**
 * @param {Outcome} outcome
 * @param {boolean} named
 */
function line(outcome, named) {
  const made = element("li", outcome.receipt ? "right" : "wrong");
  if (named) made.append(element("span", "chosen-inner", outcome.name), " ");
  if (outcome.receipt) {
    made.append(link(outcome.receipt.url, fill(words.receipt, { id: outcome.receipt.id })));
    for (const warning of outcome.receipt.warnings) made.append(element("p", "muted", warning));
  } else {
    made.append(fill(words.serverRefused, { words: outcome.refused.detail }));
    const { url, receipt: id = "" } = outcome.refused;
    if (url) made.append(" ", link(url, fill(words.receipt, { id })));
  }
  return made;
}

/**
 * Not of this picture: the row waits as it was, and so do those behind it.
 * @param {Row} row
 * @param {RefusedUpload} answer
 */
function keep(row, answer) {
  row.bar.hidden = true;
  row.remove.hidden = false;
  say(row, "muted", row.readyWords);
  if (answer.code !== "signed_out") {
    summary.textContent = answer.detail ?? "";
    return;
  }
  const signIn = link(rules.signIn, words.signIn);
  signIn.target = "_blank";
  summary.replaceChildren(`${words.signedOut} `, signIn);
}

/** Write what was sent so far anew, where the server still shows it to the same team. */
async function renew() {
  const answer = await fetch(location.pathname).catch(() => null);
  const page = new DOMParser().parseFromString(answer?.ok ? await answer.text() : "", "text/html");
  const teams = [document, page].map((each) => each.querySelector("#attack-form [name=team]")?.getAttribute("value"));
  const [shown, fresh] = [document, page].map((each) => each.getElementById("sent-so-far"));
  if (!shown || !fresh || shown.contains(document.activeElement)) return;
  if (teams[0] === teams[1]) shown.replaceWith(document.importNode(fresh, true));
}

async function send() {
  sending = true;
  summary.textContent = words.sendingAll;
  // A button that is switched off loses the focus, and whoever types would begin at the top of the page again.
  if (document.activeElement === button) summary.focus();
  refresh();
  const total = { sent: 0, refused: 0 };
  for (const row of ready()) {
    row.bar.hidden = false;
    row.remove.hidden = true;
    const answer = await post(row);
    if (answer && !answer.outcomes && KEEPS.includes(answer.code ?? "")) {
      keep(row, answer);
      break;
    }
    const found = showOutcomes(row, answer);
    total.sent += found.sent;
    total.refused += found.refused;
    summary.textContent = fill(words.done, total);
  }
  const shown = [...summary.childNodes];
  sending = false;
  refresh();
  summary.replaceChildren(...shown);
  if (document.activeElement === summary && !button.disabled) button.focus();
  if (total.sent > 0) await renew();
}

input.addEventListener("change", () => take(input.files ?? []));
form.addEventListener("submit", (event) => {
  if (rows.length === 0) return;
  event.preventDefault();
  if (!sending && ready().length > 0) send();
});
for (const kind of ["dragenter", "dragover"]) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (!sending && event.dataTransfer) take(event.dataTransfer.files);
});
// A picture that misses the place would make the browser leave the page.
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
setTimeout(() => {
  rules.left = rules.perDay;
  refresh();
}, rules.dayLeft * 1000);
drop.classList.add("live");
input.required = false;
refresh();

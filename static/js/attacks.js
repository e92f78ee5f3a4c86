// The page of attacks: takes pictures by choosing or dropping, looks at each before it is sent, and sends them one by one
// with a receipt for each. Without this module the form sends them all at once and the next page lists what came of it.

import { csrfToken } from "./csrf.js";
import { fill, look } from "./picture_check.js";

const rules = JSON.parse(document.getElementById("page-data").textContent);
const words = rules.words;
const form = document.getElementById("attack-form");
const input = document.getElementById("image");
const drop = document.getElementById("drop");
const list = document.getElementById("chosen");
const button = form.querySelector("[type=submit]");
const summary = document.getElementById("summary");
const left = document.getElementById("left");
const nextDay = document.getElementById("next-day");
const known = new Set(rules.known);
const THUMBNAIL = 56;
// What is refused of the whole upload, and is taken once something beside the pictures was put right.
const KEEPS = ["signed_out", "other_team", "not_staked", "busy", "too_many_refused"];

let rows = [];
let sending = false;

function element(name, className, content = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = content;
  return made;
}

function say(row, kind, content) {
  row.note.className = `chosen-note ${kind}`;
  row.note.textContent = content;
}

function add(file) {
  const row = { file, state: "looking", item: element("li", "chosen-row") };
  row.picture = element("canvas", "chosen-picture");
  row.picture.width = row.picture.height = THUMBNAIL;
  row.name = element("span", "chosen-name", file.name);
  row.note = element("p", "chosen-note");
  row.bar = element("progress", "chosen-bar");
  row.bar.max = 100;
  row.bar.hidden = true;
  row.bar.setAttribute("aria-label", file.name);
  row.remove = element("button", "secondary chosen-remove", words.remove);
  row.remove.type = "button";
  row.remove.setAttribute("aria-label", fill(words.removeNamed, { name: file.name }));
  row.remove.addEventListener("click", () => removeRow(row));
  const about = element("div", "chosen-about");
  about.append(row.name, row.note, row.bar);
  row.item.append(row.picture, about, row.remove);
  list.append(row.item);
  rows.push(row);
  say(row, "muted", words.looking);
  return row;
}

function removeRow(row) {
  const at = rows.indexOf(row);
  rows.splice(at, 1);
  row.item.remove();
  (rows[Math.min(at, rows.length - 1)]?.remove ?? input).focus();
  refresh();
}

async function lookAt(row) {
  const found = await look(row.file, rules);
  if (found.canvas) row.picture.getContext("2d").drawImage(found.canvas, 0, 0, THUMBNAIL, THUMBNAIL);
  if (found.zip) row.picture.replaceWith(element("span", "chosen-picture chosen-zip", words.zipName));
  if (found.refused) refuse(row, found.refused);
  else if (row.file.size > rules.mostUpload) refuse(row, fill(words.tooLarge, { most: rules.mostUpload / 1024 ** 2 }));
  else if (found.sha256 && known.has(found.sha256)) refuse(row, words.known);
  else {
    row.state = "ready";
    row.pictures = found.pictures ?? 1;
    row.readyWords = found.zip ? zipWords(found.pictures) : found.warning || words.ready;
    say(row, found.warning ? "warning" : "muted", row.readyWords);
  }
  refresh();
}

function zipWords(pictures) {
  if (pictures === null) return words.zipUnread;
  return pictures === 1 ? words.zipOne : fill(words.zip, { count: pictures });
}

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

async function take(files) {
  const added = [...files].map(add);
  input.value = "";
  refresh();
  for (const row of added) await lookAt(row);
}

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

function link(href, content) {
  const made = element("a", "", content);
  made.href = href;
  return made;
}

/** Write what came of one picture; an archive has a line for each of its own. */
function tell(row, answer) {
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
  const sent = answer.outcomes.filter((each) => each.receipt);
  for (const each of sent) known.add(each.receipt.sha256_pixels);
  return { sent: sent.length, refused: answer.outcomes.length - sent.length };
}

function line(outcome, named) {
  const made = element("li", outcome.receipt ? "right" : "wrong");
  if (named) made.append(element("span", "chosen-inner", outcome.name), " ");
  if (outcome.receipt) {
    made.append(link(outcome.receipt.url, fill(words.receipt, { id: outcome.receipt.id })));
    for (const warning of outcome.receipt.warnings) made.append(element("p", "muted", warning));
  } else {
    made.append(fill(words.serverRefused, { words: outcome.refused.detail }));
    if (outcome.refused.url) made.append(" ", link(outcome.refused.url, fill(words.receipt, { id: outcome.refused.receipt })));
  }
  return made;
}

/** Not of this picture: the row waits as it was, and so do those behind it. */
function keep(row, answer) {
  row.bar.hidden = true;
  row.remove.hidden = false;
  say(row, "muted", row.readyWords);
  if (answer.code !== "signed_out") {
    summary.textContent = answer.detail;
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
  const team = page.querySelector("#attack-form [name=team]")?.value;
  const [shown, fresh] = [document, page].map((each) => each.getElementById("sent-so-far"));
  const isRead = shown.contains(document.activeElement);
  if (fresh && !isRead && team === form.elements.namedItem("team").value) shown.replaceWith(document.importNode(fresh, true));
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
    if (KEEPS.includes(answer?.code)) {
      keep(row, answer);
      break;
    }
    const found = tell(row, answer);
    total.sent += found.sent;
    total.refused += found.refused;
    summary.textContent = fill(words.done, total);
  }
  const told = [...summary.childNodes];
  sending = false;
  refresh();
  summary.replaceChildren(...told);
  if (document.activeElement === summary && !button.disabled) button.focus();
  if (total.sent > 0) await renew();
}

input.addEventListener("change", () => take(input.files));
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
  if (!sending) take(event.dataTransfer.files);
});
// A picture that misses the place would make the browser leave the page.
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
setTimeout(() => {
  rules.left = rules.aDay;
  refresh();
}, rules.dayLeft * 1000);
drop.classList.add("live");
input.required = false;
refresh();

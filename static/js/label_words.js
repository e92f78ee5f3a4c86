// What the page came with, and its words: they come in the reader's language, never from a script.

export const data = JSON.parse(document.getElementById("page-data").textContent);
export const words = data.words;
// A finger has no keys to press.
if (matchMedia("(pointer: coarse)").matches) Object.assign(words.editor.problems, words.touchProblems);

const RECEIPT = /\b([0-9A-F]{4}(?:-[0-9A-F]{4}){2})\b/;
const plural = new Intl.PluralRules(data.language);
const number = new Intl.NumberFormat(data.language);
const time = new Intl.DateTimeFormat(data.language, {
  timeStyle: "medium",
  hourCycle: "h23",
  timeZone: data.timeZone || undefined,
});
const day = new Intl.DateTimeFormat(data.language, { dateStyle: "long", timeZone: data.timeZone || undefined });
const and = new Intl.ListFormat(data.language, { type: "conjunction" });

/** The template with {names} replaced by values. */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** The form of `forms` for this many, with the number filled in. */
export function counted(forms, count) {
  return fill(forms[plural.select(count)] ?? forms.other, { count: number.format(count) });
}

/** Put text into an element, its receipt codes in one piece each. */
export function put(element, text) {
  element.replaceChildren(...text.split(RECEIPT).map((part, at) => (at % 2 ? whole(part) : part)));
}

function whole(receipt) {
  const piece = document.createElement("span");
  piece.className = "receipt";
  piece.textContent = receipt;
  return piece;
}

/** The time of day of a Date, in the tasker's zone. */
export function clock(date) {
  return time.format(date);
}

/** The day of a Date, in the tasker's zone. */
export function dayOf(date) {
  return day.format(date);
}

/** "1 and 2" in the reader's language. */
export function listed(parts) {
  return and.format(parts.map(String));
}

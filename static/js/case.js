// A case of the board: keys for the outlines and the vote, a question before a vote goes out, and the public preview as
// it is typed. Everything works without it by the page's own controls.
import { byId, find, findAll } from "./dom.js";
import { isTyping, press, say } from "./legend.js";

document.documentElement.classList.add("scripted");

/** @param {string} value */
function choose(value) {
  const radio = document.getElementById(`choice-${value}`);
  if (!(radio instanceof HTMLInputElement)) return;
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

/**
 * Return the inputs of the form that are ticked under a name.
 * @param {string} name
 */
function ticked(name) {
  return form ? findAll(form, `[name="${name}"]:checked`, HTMLInputElement) : [];
}

/** @param {HTMLInputElement} input */
function labelWords(input) {
  return input.closest("label")?.textContent.trim() ?? "";
}

/** Return what the form would vote for, in words. */
function voteWords() {
  const [choice] = ticked("choice");
  if (!choice) return "";
  const { words = "" } = choice.dataset;
  if (choice.value !== "overrule") return words;
  const [outcome] = ticked("outcome");
  const reasons = outcome?.value === "reject" ? ` ${ticked("reasons").map(labelWords).join("; ")}` : "";
  return `${words}: ${outcome ? labelWords(outcome) : ""}${reasons}`;
}

/** Show the words that go with the vote, and whether everybody will read them: they may be left from another vote. */
function showOwnWords() {
  const field = form?.querySelector('textarea[name="words"], input[name="words"]');
  const words = field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement ? field.value.trim() : "";
  const place = byId("sure-own");
  place.hidden = !words;
  place.textContent = words && `${ticked("public").length ? place.dataset.public : place.dataset.private} ${words}`;
}

const form = /** @type {HTMLFormElement | null} */ (document.getElementById("vote-form"));
const sure = /** @type {HTMLDialogElement | null} */ (document.getElementById("sure"));
let isConfirmed = false;

/** @param {SubmitEvent} event */
function confirmVote(event) {
  if (isConfirmed || !form || !sure) return;
  event.preventDefault();
  if (!form.reportValidity()) return;
  const overrules = ticked("choice")[0]?.value === "overrule";
  const outcomes = findAll(form, '[name="outcome"]', HTMLInputElement);
  if (overrules && !outcomes.some((radio) => radio.checked)) {
    outcomes[0].focus();
    say(form.dataset.outcome ?? "");
    return;
  }
  byId("sure-words").textContent = voteWords();
  showOwnWords();
  sure.returnValue = "";
  sure.showModal();
}

form?.addEventListener("submit", confirmVote);
sure?.addEventListener("close", () => {
  if (sure.returnValue !== "send") {
    byId("vote-send").focus();
    return;
  }
  isConfirmed = true;
  form?.requestSubmit();
});
// Back from the page that followed, the question is asked anew.
addEventListener("pageshow", () => { isConfirmed = false; });

/** @type {Record<string, string>} */
const LETTERS = { u: "uphold", m: "more_taskers", o: "overrule", f: "in_favour", a: "against" };

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(target) || document.querySelector("dialog[open]")) return;
  if (event.key in LETTERS && form) choose(LETTERS[event.key]);
  else if (event.key === "j" || event.key === "k") openNeighbour(event.key);
  else if (event.key === "?") openKeys();
  else if (event.key === "Enter" && target instanceof HTMLInputElement && form?.contains(target)) form.requestSubmit();
  else if (!press(event.key)) return;
  event.preventDefault();
});

function openKeys() {
  const dialog = document.getElementById("keys");
  if (dialog instanceof HTMLDialogElement) dialog.showModal();
}

/** @param {string} key */
function openNeighbour(key) {
  const link = document.querySelector(`[data-key="${key}"]`);
  if (link instanceof HTMLElement) link.click();
}

// The decision: what everybody will read, while it is typed.
const explanation = document.getElementById("explanation");
if (explanation instanceof HTMLTextAreaElement) explanation.addEventListener("input", () => preview(explanation));

/** @param {HTMLTextAreaElement} explanation */
function preview({ value, form: decision }) {
  byId("previewed", HTMLInputElement).value = value;
  const words = value.trim();
  const shown = document.createElement(words ? "blockquote" : "p");
  shown.dataset.preview = "";
  if (!words) {
    shown.className = "muted";
    shown.textContent = decision?.dataset.empty ?? "";
  }
  for (const part of words ? words.split(/\n{2,}/) : []) {
    const paragraph = shown.appendChild(document.createElement("p"));
    part.split("\n").forEach((line, number) => paragraph.append(...(number ? [document.createElement("br"), line] : [line])));
  }
  find(document, "[data-preview]").replaceWith(shown);
  // A member's remark that the explanation quotes is not shown a second time.
  for (const remark of findAll(document, "[data-remark]")) {
    remark.hidden = words.includes((remark.dataset.remark ?? "").replaceAll("\r\n", "\n"));
  }
}

// A case of the board: keys for the outlines and the vote, a question before a vote goes out, and the public preview as
// it is typed. Everything works without it by the page's own controls.
import { at, isTyping, press, say } from "./legend.js";

document.documentElement.classList.add("scripted");

function choose(value) {
  const radio = at(`choice-${value}`);
  if (!radio) return;
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Return what the form would vote for, in words. */
function voteWords(form) {
  const chosen = form.querySelector('[name="choice"]:checked');
  if (!chosen) return "";
  if (chosen.value !== "overrule") return chosen.dataset.words;
  const outcome = form.querySelector('[name="outcome"]:checked');
  const reasons = [...form.querySelectorAll('[name="reasons"]:checked')].map((box) => box.closest("label").textContent.trim());
  const what = outcome?.closest("label").textContent.trim() ?? "";
  return `${chosen.dataset.words}: ${what}${outcome?.value === "reject" ? ` ${reasons.join("; ")}` : ""}`;
}

/** Show the words that go with the vote, and whether everybody will read them: they may be left from another vote. */
function showWords(form) {
  const words = form.querySelector('[name="words"]')?.value.trim() ?? "";
  const everybody = form.querySelector('[name="public"]')?.checked;
  at("sure-own").hidden = !words;
  at("sure-own").textContent = words && `${everybody ? at("sure-own").dataset.public : at("sure-own").dataset.private} ${words}`;
}

const form = at("vote-form");
const sure = at("sure");
let asked = false;

function ask(event) {
  if (asked || !sure) return;
  event?.preventDefault();
  if (!form.reportValidity()) return;
  const overrules = form.querySelector('[name="choice"]:checked')?.value === "overrule";
  const outcomes = [...form.querySelectorAll('[name="outcome"]')];
  if (overrules && !outcomes.some((radio) => radio.checked)) {
    outcomes[0].focus();
    say(form.dataset.outcome);
    return;
  }
  at("sure-words").textContent = voteWords(form);
  showWords(form);
  sure.returnValue = "";
  sure.showModal();
}

form?.addEventListener("submit", ask);
sure?.addEventListener("close", () => {
  if (sure.returnValue !== "send") {
    at("vote-send").focus();
    return;
  }
  asked = true;
  form.requestSubmit();
});
// Back from the page that followed, the question is asked anew.
addEventListener("pageshow", () => { asked = false; });

const LETTERS = { u: "uphold", m: "more_taskers", o: "overrule", f: "in_favour", a: "against" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key in LETTERS && form) choose(LETTERS[event.key]);
  else if (event.key === "j" || event.key === "k") document.querySelector(`[data-key="${event.key}"]`)?.click();
  else if (event.key === "?") at("keys")?.showModal();
  else if (event.key === "Enter" && form?.contains(event.target) && event.target.matches("input")) form.requestSubmit();
  else if (!press(event.key)) return;
  event.preventDefault();
});

// The decision: what everybody will read, while it is typed.
const explanation = at("explanation");
const previewed = at("previewed");
explanation?.addEventListener("input", () => {
  previewed.value = explanation.value;
  const preview = document.querySelector("[data-preview]");
  const words = explanation.value.trim();
  const shown = document.createElement(words ? "blockquote" : "p");
  shown.dataset.preview = "";
  if (!words) {
    shown.className = "muted";
    shown.textContent = explanation.form.dataset.empty;
  }
  for (const part of words ? words.split(/\n{2,}/) : []) {
    const paragraph = shown.appendChild(document.createElement("p"));
    part.split("\n").forEach((line, number) => paragraph.append(...(number ? [document.createElement("br"), line] : [line])));
  }
  preview.replaceWith(shown);
  // What a member offered and the explanation says is not told twice.
  for (const remark of document.querySelectorAll("[data-remark]")) {
    remark.hidden = words.includes(remark.dataset.remark.replaceAll("\r\n", "\n"));
  }
});

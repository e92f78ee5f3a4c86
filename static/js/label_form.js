// The four questions on the page: which is open, what is chosen, what is asked (R10), and what is still missing.

import { fill, listed, words as say } from "./label_words.js";

export const QUESTIONS = ["contains_bird", "contains_bicycle"];
export const STATEMENTS = ["complete", "unoccluded", "real"];
export const CANNOT_OUTLINE = "cannot_outline";

const TRUTH = { true: true, false: false };

export class LabelForm {
  #root;
  #gate = {};
  #followUps;
  #onChange;
  #byArrow = false;

  /**
   * `followUps` maps a class to the words of questions 3 and 4 about it.
   * `onChange(field, goOn)` follows every answer; `goOn` is false while arrow keys still walk through the answers.
   */
  constructor(root, { followUps, onChange }) {
    this.#root = root;
    this.#followUps = followUps;
    this.#onChange = onChange;
    this.#listen();
  }

  #listen() {
    this.#root.addEventListener("keydown", (event) => {
      this.#byArrow = event.key.startsWith("Arrow");
    });
    this.#root.addEventListener("pointerdown", () => {
      this.#byArrow = false;
    });
    this.#root.addEventListener("change", ({ target }) => {
      if (target.type === "radio") this.#changed(target.name, !this.#byArrow);
      else if (target.name === CANNOT_OUTLINE) this.#onChange(CANNOT_OUTLINE, true);
    });
    for (const question of this.#root.querySelectorAll(".question")) {
      question.querySelector("summary").addEventListener("click", (event) => {
        // One question is always open: another one is opened, none is closed.
        event.preventDefault();
        this.show(question.dataset.field);
      });
    }
  }

  #changed(field, goOn) {
    this.#setError(field, "");
    this.refresh();
    this.#onChange(field, goOn);
  }

  // Reading.

  /** {field: chosen value or null} of questions 1 and 2. */
  get answers() {
    return Object.fromEntries(QUESTIONS.map((field) => [field, this.#radio(field)?.value ?? null]));
  }

  /** {field: true, false or null} of question 4, asked or not. */
  get statements() {
    return Object.fromEntries(STATEMENTS.map((field) => [field, TRUTH[this.#radio(field)?.value] ?? null]));
  }

  /** Whether it is ticked that nothing can be outlined, asked or not. */
  get cannotOutline() {
    return this.#tick.checked;
  }

  set cannotOutline(cannot) {
    this.#tick.checked = cannot;
  }

  /** "<bird> <bicycle>" -> the class questions 3 and 4 are about, as it is for the picture shown. */
  set gate(gate) {
    this.#gate = gate;
  }

  /** The class questions 3 and 4 are about, or null. */
  get asked() {
    const { contains_bird: bird, contains_bicycle: bicycle } = this.answers;
    return this.#gate[`${bird} ${bicycle}`] ?? null;
  }

  /** The field of the question that is open. */
  get open() {
    return this.#root.querySelector(".question[open]:not([hidden])")?.dataset.field ?? null;
  }

  /**
   * What is still missing, as [{field, words}], in the order of the questions. `outlineWords` says what the outline
   * still needs, which is the editor's to judge; null when nothing.
   */
  missing(outlineWords) {
    const found = QUESTIONS.map((field, index) => ({ field, words: fill(say.questionNumber, { number: index + 1 }) }))
      .filter(({ field }) => this.answers[field] === null);
    if (!this.asked) return found;
    if (outlineWords) found.push({ field: "outline", words: outlineWords });
    const open = STATEMENTS.flatMap((field, index) => (this.statements[field] === null ? [index + 1] : []));
    if (open.length) found.push({ field: "statements", words: statementWords(open) });
    return found;
  }

  get #tick() {
    return this.#root.querySelector(`input[name="${CANNOT_OUTLINE}"]`);
  }

  #radio(field) {
    return this.#root.querySelector(`input[name="${field}"]:checked`);
  }

  #radios(field) {
    return [...this.#root.querySelectorAll(`input[name="${field}"]`)];
  }

  #question(field) {
    return this.#root.querySelector(`.question[data-field="${STATEMENTS.includes(field) ? "statements" : field}"]`);
  }

  // Filling in.

  /** Press the answer with this key (1, 2, ...) of question 1 or 2. */
  choose(field, key) {
    const radio = this.#radios(field)[key - 1];
    if (!radio) return;
    radio.checked = true;
    this.#changed(field, true);
  }

  /** Switch statement `key` (1, 2, 3): first to true, then back and forth. */
  toggleStatement(key) {
    const field = STATEMENTS[key - 1];
    if (!field) return;
    const value = String(this.statements[field] !== true);
    const radio = this.#radios(field).find((each) => each.value === value);
    radio.checked = true;
    this.show("statements");
    radio.focus({ preventScroll: true });
    this.#changed(field, true);
  }

  setStatements(statements) {
    for (const field of STATEMENTS) this.#check(field, statements[field] ?? null);
    this.refresh();
  }

  /** Fill in the form as it was, or nothing, and open the first question. */
  fill({ answers = {}, statements = {}, cannotOutline = false } = {}) {
    this.cannotOutline = cannotOutline;
    for (const field of QUESTIONS) this.#check(field, answers[field] ?? null);
    for (const field of [...QUESTIONS, "outline", ...STATEMENTS]) this.#setError(field, "");
    this.setStatements(statements);
    this.show(QUESTIONS[0]);
  }

  #check(field, value) {
    for (const radio of this.#radios(field)) radio.checked = value !== null && radio.value === String(value);
  }

  // Showing.

  /** Bring summaries, the words of the class and the follow-up questions up to date. */
  refresh() {
    const { asked } = this;
    for (const question of this.#root.querySelectorAll(".follow-up")) question.hidden = !asked;
    if (asked) {
      for (const words of this.#root.querySelectorAll("[data-words]")) {
        words.textContent = this.#followUps[asked][words.dataset.words];
      }
    }
    for (const field of QUESTIONS) this.setShort(field, this.#radio(field)?.dataset.short ?? "");
    this.setShort("statements", shortStatements(this.statements));
    if (!this.open) this.show(QUESTIONS[1]);
  }

  /** The short form of a question's answer, beside its name. */
  setShort(field, words) {
    this.#question(field).querySelector(".short").textContent = words;
  }

  show(field) {
    const question = this.#question(field);
    question.open = true;
    this.#closeOthers(question);
    question.scrollIntoView({ block: "nearest" });
  }

  /** Open the question `step` after the open one, round and round. Returns its field. */
  openNext(step) {
    const questions = [...this.#root.querySelectorAll(".question:not([hidden])")];
    const at = questions.findIndex(({ open }) => open);
    const { field } = questions.at((at + step) % questions.length).dataset;
    this.show(field);
    return field;
  }

  #closeOthers(question) {
    for (const other of this.#root.querySelectorAll(".question[open]")) {
      if (other !== question) other.open = false;
    }
  }

  /** Put the focus where the open question is answered: on its chosen answer, or the first open one. */
  focus(field) {
    const names = field === "statements" ? STATEMENTS : [field];
    const name = names.find((each) => !this.#radio(each)) ?? names[0];
    (this.#radio(name) ?? this.#radios(name)[0])?.focus({ preventScroll: true });
  }

  /** Show what the server wants changed, and open the first such question. Returns its field. */
  showErrors(fields) {
    const wrong = [...QUESTIONS, "outline", ...STATEMENTS].filter((field) => fields[field]);
    for (const field of wrong) this.#setError(field, fields[field].join(" "));
    if (wrong.length) this.show(wrong[0]);
    return wrong[0] ?? null;
  }

  #setError(field, words) {
    this.#root.querySelector(`#${field}-error`).textContent = words;
  }
}

function statementWords(numbers) {
  if (numbers.length === 3) return fill(say.questionNumber, { number: 4 });
  return fill(say.statementNumbers, { numbers: listed(numbers) });
}

function shortStatements(statements) {
  const values = STATEMENTS.map((field) => statements[field]);
  if (values.every((value) => value === null)) return "";
  return values.map((value) => (value === null ? say.open : value ? say.true : say.false)).join(", ");
}

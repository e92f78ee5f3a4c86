// The four questions on the page: which is open, what is chosen, what is asked (R10), and what is still missing.

import { find, findAll } from "./dom.js";
import { fill, listed, words as say } from "./label_words.js";

/** @import { FieldErrors } from "./label_api.js" */
/** @import { Answers, Form, Statements } from "./label_drafts.js" */
/** @import { Gate, Question, Statement } from "./label_words.js" */
/** @typedef {{field: string, words: string}} Missing what is still to be filled in */

/** @type {Question[]} */
export const QUESTIONS = ["contains_bird", "contains_bicycle"];
/** @type {Statement[]} */
export const STATEMENTS = ["complete", "unoccluded", "real"];
export const CANNOT_OUTLINE = "cannot_outline";

const isStatement = (/** @type {string} */ field) => STATEMENTS.some((each) => each === field);

export class LabelForm {
  #root;
  /** @type {Gate} */
  #gate = {};
  #followUps;
  #onChange;
  #byArrow = false;

  /**
   * @param {HTMLElement} root
   * @param {object} options
   * @param {Record<string, Record<string, string>>} options.followUps words of questions 3 and 4 by class
   * @param {(field: string, goOn: boolean) => void} options.onChange follows every answer; `goOn` is false while arrow keys
   *   still walk through the answers
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
      if (!(target instanceof HTMLInputElement)) return;
      if (target.type === "radio") this.#changed(target.name, !this.#byArrow);
      else if (target.name === CANNOT_OUTLINE) this.#onChange(CANNOT_OUTLINE, true);
    });
    for (const question of this.#questions()) {
      find(question, "summary").addEventListener("click", (event) => {
        // One question is always open: another one is opened, none is closed.
        event.preventDefault();
        this.show(question.dataset.field ?? "");
      });
    }
  }

  /** @param {string} selector */
  #questions(selector = ".question") {
    return findAll(this.#root, selector, HTMLDetailsElement);
  }

  /**
   * @param {string} field
   * @param {boolean} goOn
   */
  #changed(field, goOn) {
    this.#setError(field, "");
    this.refresh();
    this.#onChange(field, goOn);
  }

  // Reading.

  /**
   * The chosen values of questions 1 and 2.
   * @returns {Answers}
   */
  get answers() {
    return Object.fromEntries(QUESTIONS.map((field) => [field, this.#radio(field)?.value ?? null]));
  }

  /**
   * What is chosen in question 4, asked or not.
   * @returns {Statements}
   */
  get statements() {
    const chosen = (/** @type {Statement} */ field) => {
      const radio = this.#radio(field);
      return radio?.value ? radio.value === "true" : null;
    };
    return Object.fromEntries(STATEMENTS.map((field) => [field, chosen(field)]));
  }

  /** Whether it is ticked that nothing can be outlined, asked or not. */
  get cannotOutline() {
    return this.#tick.checked;
  }

  set cannotOutline(cannot) {
    this.#tick.checked = cannot;
  }

  /**
   * Which class questions 3 and 4 are about, as it is for the picture shown.
   * @param {Gate} gate
   */
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
    return this.#questions(".question[open]:not([hidden])")[0]?.dataset.field ?? null;
  }

  /**
   * What is still missing, in the order of the questions.
   * @param {string | null} outlineWords what the outline still needs, which is the editor's to judge; null when nothing
   */
  missing(outlineWords) {
    /** @type {Missing[]} */
    const found = QUESTIONS.map((field, index) => ({ field, words: fill(say.questionNumber, { number: index + 1 }) }))
      .filter((_, index) => this.answers[QUESTIONS[index]] === null);
    if (!this.asked) return found;
    if (outlineWords) found.push({ field: "outline", words: outlineWords });
    const open = STATEMENTS.flatMap((field, index) => (this.statements[field] === null ? [index + 1] : []));
    if (open.length) found.push({ field: "statements", words: statementWords(open) });
    return found;
  }

  get #tick() {
    return find(this.#root, `input[name="${CANNOT_OUTLINE}"]`, HTMLInputElement);
  }

  /** @param {string} field */
  #radio(field) {
    return this.#radios(field).find(({ checked }) => checked) ?? null;
  }

  /** @param {string} field */
  #radios(field) {
    return findAll(this.#root, `input[name="${field}"]`, HTMLInputElement);
  }

  /** @param {string} field */
  #question(field) {
    const name = isStatement(field) ? "statements" : field;
    return find(this.#root, `.question[data-field="${name}"]`, HTMLDetailsElement);
  }

  // Filling in.

  /**
   * Press the answer with this key (1, 2, ...) of question 1 or 2.
   * @param {string} field
   * @param {number} key
   */
  choose(field, key) {
    const radio = this.#radios(field)[key - 1];
    if (!radio) return;
    radio.checked = true;
    this.#changed(field, true);
  }

  /**
   * Switch statement `key` (1, 2, 3): first to true, then back and forth.
   * @param {number} key
   */
  toggleStatement(key) {
    const field = STATEMENTS[key - 1];
    if (!field) return;
    const value = String(this.statements[field] !== true);
    const radio = this.#radios(field).find((each) => each.value === value);
    if (!radio) return;
    radio.checked = true;
    this.show("statements");
    radio.focus({ preventScroll: true });
    this.#changed(field, true);
  }

  /** @param {Statements} statements */
  setStatements(statements) {
    for (const field of STATEMENTS) this.#check(field, statements[field] ?? null);
    this.refresh();
  }

  /**
   * Fill in the form as it was, or nothing, and open the first question.
   * @param {Form} form
   */
  fill({ answers = {}, statements = {}, cannotOutline = false } = {}) {
    this.cannotOutline = cannotOutline;
    for (const field of QUESTIONS) this.#check(field, answers[field] ?? null);
    for (const field of [...QUESTIONS, "outline", ...STATEMENTS]) this.#setError(field, "");
    this.setStatements(statements);
    this.show(QUESTIONS[0]);
  }

  /**
   * @param {string} field
   * @param {string | boolean | null} value
   */
  #check(field, value) {
    for (const radio of this.#radios(field)) radio.checked = value !== null && radio.value === String(value);
  }

  // Showing.

  /** Bring summaries, the words of the class and the follow-up questions up to date. */
  refresh() {
    const { asked } = this;
    for (const question of findAll(this.#root, ".follow-up")) question.hidden = !asked;
    if (asked) {
      for (const words of findAll(this.#root, "[data-words]")) {
        words.textContent = this.#followUps[asked][words.dataset.words ?? ""];
      }
    }
    for (const field of QUESTIONS) this.setShort(field, this.#radio(field)?.dataset.short ?? "");
    this.setShort("statements", shortStatements(this.statements));
    if (!this.open) this.show(QUESTIONS[1]);
  }

  /**
   * The short form of a question's answer, beside its name.
   * @param {string} field
   * @param {string} words
   */
  setShort(field, words) {
    find(this.#question(field), ".short").textContent = words;
  }

  /** @param {string} field */
  show(field) {
    const question = this.#question(field);
    question.open = true;
    this.#closeOthers(question);
    question.scrollIntoView({ block: "nearest" });
  }

  /**
   * Open the question `step` after the open one, round and round. Returns its field.
   * @param {number} step
   */
  openNext(step) {
    const questions = this.#questions(".question:not([hidden])");
    const at = questions.findIndex(({ open }) => open);
    const { field = "" } = questions[(at + step + questions.length) % questions.length].dataset;
    this.show(field);
    return field;
  }

  /** @param {HTMLDetailsElement} question */
  #closeOthers(question) {
    for (const other of this.#questions(".question[open]")) {
      if (other !== question) other.open = false;
    }
  }

  /**
   * Put the focus where the open question is answered: on its chosen answer, or the first open one.
   * @param {string} field
   */
  focus(field) {
    const names = field === "statements" ? STATEMENTS : [field];
    const name = names.find((each) => !this.#radio(each)) ?? names[0];
    (this.#radio(name) ?? this.#radios(name)[0])?.focus({ preventScroll: true });
  }

  /**
   * Show what the server wants changed, and open the first such question. Returns its field.
   * @param {FieldErrors} fields
   */
  showErrors(fields) {
    const wrong = [...QUESTIONS, "outline", ...STATEMENTS].filter((field) => fields[field]);
    for (const field of wrong) this.#setError(field, fields[field].join(" "));
    if (wrong.length) this.show(wrong[0]);
    return wrong[0] ?? null;
  }

  /**
   * @param {string} field
   * @param {string} words
   */
  #setError(field, words) {
    find(this.#root, `#${field}-error`).textContent = words;
  }
}

/** @param {number[]} numbers */
function statementWords(numbers) {
  if (numbers.length === 3) return fill(say.questionNumber, { number: 4 });
  return fill(say.statementNumbers, { numbers: listed(numbers) });
}

/** @param {Statements} statements */
function shortStatements(statements) {
  const values = STATEMENTS.map((field) => statements[field] ?? null);
  if (values.every((value) => value === null)) return "";
  return values.map((value) => (value === null ? say.open : value ? say.true : say.false)).join(", ");
}

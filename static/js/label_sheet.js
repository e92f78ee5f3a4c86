// One picture with its form: what is answered, what is drawn, what is still missing, and the draft of all of it.

import { byId, find } from "./dom.js";
import { CANNOT_OUTLINE, LabelForm, QUESTIONS, STATEMENTS } from "./label_form.js";
import { Picture } from "./label_picture.js";
import { counted, data, fill, words } from "./label_words.js";

/** @import { FieldErrors } from "./label_api.js" */
/** @import { Bar } from "./label_bar.js" */
/** @import { Answer, ClassWork, Form } from "./label_drafts.js" */
/** @import { Keys } from "./label_keys.js" */
/** @import { Looks, PictureEvents } from "./label_picture.js" */
/** @import { Assignment, Question } from "./label_words.js" */
/** @import { Drawing } from "./outline_drawing.js" */
/** @import { OutlineEditor } from "./outline_editor.js" */
/** @typedef {Pick<PictureEvents, "looks" | "imageFailed"> & {change: () => void}} SheetEvents `change` is worth keeping */

/** @type {Drawing} */
const NOTHING_DRAWN = Object.freeze({ rings: [], open: [] });

const isQuestion = (/** @type {string | null} */ field) => QUESTIONS.some((each) => each === field);

export class Sheet {
  #bar;
  #on;
  #form = new LabelForm(byId("questions"), {
    followUps: data.followUps,
    onChange: (field, goOn) => this.#answered(field, goOn),
  });
  /** @type {Assignment | null} */
  #shown = null;
  /** @type {string | null} */
  #askedLast = null; // the class the drawing on screen belongs to
  /** @type {Record<string, ClassWork>} */
  #kept = {}; // what was drawn and said of the other class
  #settled = ""; // the drawing as it last settled, to tell a change from a gesture that came to nothing
  #complete = false; // whether the outline could be sent
  #seconds = 0;
  #since = performance.now();

  /**
   * @param {Bar} bar
   * @param {Keys} keys
   * @param {Looks} looks
   * @param {SheetEvents} on
   */
  constructor(bar, keys, looks, on) {
    this.#bar = bar;
    this.#on = on;
    this.picture = new Picture(keys, looks, {
      drawn: (settled) => this.#drawn(settled),
      looks: on.looks,
      ignored: () => bar.show(this.#areQuestionsAnswered ? words.noOutlineAsked : words.answerFirst),
      imageFailed: on.imageFailed,
      say: (text) => bar.say(text),
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#since = performance.now();
      else this.#countSeconds();
    });
  }

  /** The editor; there is one from the first picture on. */
  get #editor() {
    return /** @type {OutlineEditor} */ (this.picture.editor);
  }

  /**
   * Put a picture up, with what was filled in before.
   * @param {Assignment} assignment
   * @param {Form | null | undefined} form
   */
  show(assignment, form) {
    this.#shown = assignment;
    find(byId("label-form"), "[name=assignment]", HTMLInputElement).value = assignment.id;
    find(byId("label-form"), "[name=lease_token]", HTMLInputElement).value = assignment.lease_token;
    byId("tie-break").textContent = data.tieBreaks[assignment.tie_break];
    this.#form.gate = data.gates[assignment.outline_gate];
    this.picture.show(assignment.image);
    // What was said of the picture before is not of this one.
    this.#bar.hush();
    this.fill(form);
  }

  /**
   * Go on with what another window or browser has made of the form.
   * @param {Form} form
   */
  adopt(form) {
    const drawing = form.drawing ?? NOTHING_DRAWN;
    // An undo never brings the outline of one class under another one.
    if ((form.askedLast ?? null) === this.#askedLast) this.#editor.adopt(drawing, form.steps);
    else this.#editor.restore(drawing, form.steps);
    this.#fill(form);
  }

  /** Whether a stroke is just being drawn. */
  get isDrawing() {
    return this.#editor.isInGesture;
  }

  /**
   * Fill in the form, or empty it.
   * @param {Form | null} [form]
   */
  fill(form) {
    this.#editor.restore(form?.drawing ?? NOTHING_DRAWN, form?.steps);
    this.#fill(form);
  }

  /** @param {Form | null} [form] */
  #fill(form) {
    this.#seconds = form?.seconds ?? 0;
    this.#since = performance.now();
    this.#kept = form?.kept ?? {};
    this.#askedLast = form?.askedLast ?? null;
    this.#form.fill(form ?? {});
    this.#complete = !this.#editor.problem;
    this.#followGate();
    this.#noteDrawing();
    this.refresh();
    if (this.#form.answers.contains_bird) this.goOn();
    else this.#form.focus(QUESTIONS[0]);
  }

  /**
   * What is filled in, to be kept and filled in again.
   * @returns {Form}
   */
  get draft() {
    this.#countSeconds();
    return {
      ...this.filledIn,
      drawing: this.#editor.state,
      steps: this.#editor.steps,
      askedLast: this.#askedLast,
      kept: this.#kept,
      seconds: this.#seconds,
    };
  }

  /** @returns {Form} */
  get filledIn() {
    const { answers, statements, cannotOutline } = this.#form;
    return { answers, statements, cannotOutline };
  }

  /**
   * What is sent.
   * @returns {Answer}
   */
  get answer() {
    this.#countSeconds();
    const { asked } = this.#form;
    const statements = asked ? this.#form.statements : Object.fromEntries(STATEMENTS.map((field) => [field, null]));
    return {
      lease_token: this.#shown?.lease_token ?? "",
      ...this.#form.answers,
      outline: asked && !this.#form.cannotOutline ? this.#editor.rings : null,
      ...statements,
      seconds: Math.round(this.#seconds * 1000) / 1000,
    };
  }

  /** What is still missing, in the order of the questions. */
  get missing() {
    return this.#form.missing(this.#outlineMissing());
  }

  // Changes.

  /**
   * Do what a key of the editor does, from outside of it. Returns why not, in words, or nothing.
   * @param {string} name
   */
  draw(name) {
    return this.#form.asked ? this.picture.draw(name) : words.noOutlineAsked;
  }

  /**
   * @param {string} field
   * @param {boolean} goOn
   */
  #answered(field, goOn) {
    // Pressed before the picture is up: read from the form when it is.
    if (!this.picture.editor) return;
    if (field === CANNOT_OUTLINE) {
      this.#ticked();
      return;
    }
    if (isQuestion(field)) this.#followGate();
    this.#on.change();
    this.refresh();
    if (goOn && isQuestion(field)) this.goOn();
  }

  /**
   * Answer the open question with the answer of this number, or switch a statement. Returns why not, or nothing.
   * @param {number} number
   */
  choose(number) {
    const { open } = this.#form;
    if (open && isQuestion(open)) return void this.#form.choose(open, number);
    if (number > STATEMENTS.length) return words.noSuchStatement;
    return void this.#form.toggleStatement(number);
  }

  /**
   * Open the question `step` further on, and put the focus there.
   * @param {number} step
   */
  step(step) {
    const field = this.#form.openNext(step);
    if (field === "outline") this.#editor.focus();
    else this.#form.focus(field);
  }

  toggleCannotOutline() {
    if (!this.#form.asked) return words.noOutlineAsked;
    return void this.#tick(!this.#form.cannotOutline);
  }

  /** @param {boolean} cannot */
  #tick(cannot) {
    this.#form.cannotOutline = cannot;
    this.#ticked();
  }

  /** Nothing can be outlined (R15), or something can after all. What is drawn stays, dimmed, and is not sent. */
  #ticked() {
    const cannot = this.#form.cannotOutline;
    this.#bar.hush();
    this.#bar.speak(cannot ? words.saidCannot : words.saidCanAfterAll);
    this.#on.change();
    this.refresh();
    if (cannot) {
      this.goOn();
    } else {
      this.#form.show("outline");
      this.#editor.focus();
    }
  }

  /** After a tick nothing was drawn any more, so it is what is undone first. */
  undo() {
    if (!this.#form.asked) return words.noOutlineAsked;
    if (this.#form.cannotOutline) return void this.#tick(false);
    return this.#editor.canUndo ? void this.#editor.undo() : words.nothingToUndo;
  }

  redo() {
    if (!this.#form.asked) return words.noOutlineAsked;
    if (this.#form.cannotOutline || !this.#editor.canRedo) return words.nothingToRedo;
    return void this.#editor.redo();
  }

  /** Whether the tick is what an undo takes back: the editor has its own Ctrl+Z, which knows nothing of it. */
  get undoesTick() {
    return Boolean(this.#form.asked && this.#form.cannotOutline);
  }

  /** Questions 3 and 4 come and go with the answers (R10); what was drawn of a class waits for it to come back. */
  #followGate() {
    const { asked } = this.#form;
    if (asked && asked !== this.#askedLast) this.#changeClass(asked);
    this.#editor.setEnabled(Boolean(asked));
  }

  /** @param {string} asked */
  #changeClass(asked) {
    if (this.#askedLast) {
      const { statements, cannotOutline } = this.#form;
      const { state: drawing, steps } = this.#editor;
      this.#kept[this.#askedLast] = { drawing, steps, statements, cannotOutline };
    }
    if (this.#askedLast || this.#kept[asked]) {
      const nothing = { drawing: NOTHING_DRAWN, steps: undefined, statements: {}, cannotOutline: false };
      const { drawing, steps, statements, cannotOutline } = { ...nothing, ...this.#kept[asked] };
      this.#editor.restore(drawing, steps);
      this.#form.setStatements(statements);
      this.#form.cannotOutline = cannotOutline;
      this.#noteDrawing();
    }
    this.#askedLast = asked;
    this.#complete = !this.#editor.problem;
  }

  /** @param {boolean} settled */
  #drawn(settled) {
    if (settled && this.#noteDrawing() && this.#form.cannotOutline) {
      this.#form.cannotOutline = false;
      this.#bar.speak(words.saidSentAgain);
    }
    if (settled) this.#on.change();
    this.refresh(settled);
    const complete = settled && !this.#editor.problem;
    if (complete && !this.#complete) this.#outlineDone();
    if (settled) this.#complete = complete;
  }

  /** Show what comes next. With nothing missing that is Submit: Enter on the picture would begin another outline. */
  #outlineDone() {
    if (this.#form.open === "outline") this.#form.show("statements");
    if (!this.missing.length) byId("submit").focus({ preventScroll: true });
  }

  /** Remember the drawing; returns whether it is a different one. */
  #noteDrawing() {
    const before = this.#settled;
    this.#settled = JSON.stringify(this.#editor.state);
    return this.#settled !== before;
  }

  /** Time counts while the page can be seen, up to what the server takes: also what an earlier draft has counted. */
  #countSeconds() {
    const now = performance.now();
    this.#seconds = Math.min(this.#seconds + (now - this.#since) / 1000, data.maxSeconds);
    this.#since = now;
  }

  // Showing.

  /** Open what is missing next, and put the focus there; with nothing missing, on Submit. */
  goOn() {
    const [next] = this.missing;
    if (!next) return byId("submit").focus({ preventScroll: true });
    this.#form.show(next.field);
    if (next.field === "outline") return this.#editor.focus();
    return this.#form.focus(next.field);
  }

  /**
   * Show what the server wants changed at its question.
   * @param {FieldErrors} fields
   */
  showErrors(fields) {
    const field = this.#form.showErrors(fields);
    if (field === "outline") this.#editor.focus();
    else if (field) this.#form.focus(STATEMENTS.some((each) => each === field) ? "statements" : field);
  }

  /** @param {boolean} frozen */
  freeze(frozen) {
    byId("questions").inert = frozen;
    byId("picture").inert = frozen;
    byId("label-form").classList.toggle("is-sending", frozen);
  }

  get #areQuestionsAnswered() {
    return QUESTIONS.every((field) => this.#form.answers[field]);
  }

  #outlineMissing() {
    if (this.#form.cannotOutline) return null;
    const { problem, drawing, rings, state } = this.#editor;
    if (!problem) return null;
    if (problem.code === "outline_self_crossing") return words.missingUncrossed;
    if (drawing && rings.length) {
      return counted(words.missingNextClosing, state.open.length, { number: String(rings.length + 1) });
    }
    if (drawing) return words.missingClosing;
    return rings.length ? words.missingChange : words.missingOutline;
  }

  refresh(settled = true) {
    const missing = this.missing.map((each) => each.words);
    const asked = Boolean(this.#form.asked);
    const cannot = this.#form.cannotOutline;
    byId("missing").textContent = missing.length ? fill(words.missing, { parts: missing.join(", ") }) : words.ready;
    byId("missing").classList.toggle("is-ready", !missing.length);
    byId("undo", HTMLButtonElement).disabled = !asked || !(cannot || this.#editor.canUndo);
    byId("redo", HTMLButtonElement).disabled = !asked || cannot || !this.#editor.canRedo;
    byId("picture").classList.toggle("is-set-aside", cannot && settled);
    byId("outline-error").textContent = "";
    if (cannot) this.#showCannot();
    else this.#showOutline();
  }

  #showCannot() {
    const { rings, drawing } = this.#editor;
    this.#form.setShort("outline", words.shortCannot);
    byId("outline-state").textContent = rings.length || drawing ? words.notSentKept : words.notSent;
    byId("outline-state").classList.remove("is-wrong");
  }

  #showOutline() {
    const { problem, rings, drawing } = this.#editor;
    const corners = rings.reduce((sum, ring) => sum + ring.length, 0);
    const drawn = rings.length
      ? fill(words.drawn, { outlines: counted(words.outlines, rings.length), corners: counted(words.corners, corners) })
      : "";
    const wrong = problem && (rings.length > 0 || drawing) && problem.code !== "outline_unfinished";
    this.#form.setShort("outline", wrong ? words.shortWrong : drawing ? words.shortDrawing : drawn);
    byId("outline-state").textContent = problem ? problem.message : fill(words.drawnSoFar, { drawn });
    byId("outline-state").classList.toggle("is-wrong", Boolean(wrong));
  }
}


// One picture with its form: what is answered, what is drawn, what is still missing, and the draft of all of it.

import { CANNOT_OUTLINE, LabelForm, QUESTIONS, STATEMENTS } from "./label_form.js";
import { OF_EDITOR } from "./label_keys.js";
import { counted, data, fill, words } from "./label_words.js";
import { OutlineEditor } from "./outline_editor.js";

const CHOOSES = new Set(["next_corner", "previous_corner", "insert_corner"]);
const NOTHING_DRAWN = Object.freeze({ rings: [], open: [] });

const byId = (id) => document.getElementById(id);

export class Sheet {
  #bar;
  #keys;
  #looks; // {smoothing, simplify}, as the tasker likes them
  #on;
  #form = new LabelForm(byId("questions"), {
    followUps: data.followUps,
    onChange: (field, goOn) => this.#answered(field, goOn),
  });
  #editor = null;
  #shown = null; // the assignment
  #askedLast = null; // the class the drawing on screen belongs to
  #kept = {}; // what was drawn and said of the other class
  #settled = ""; // the drawing as it last settled, to tell a change from a gesture that came to nothing
  #complete = false; // whether the outline could be sent
  #seconds = 0;
  #since = performance.now();

  /**
   * `on.change()` follows everything that is worth keeping; `on.looks({smoothing, simplify})` another way of looking;
   * `on.imageFailed(setUrl)` a picture that does not load.
   */
  constructor(bar, keys, looks, on) {
    this.#bar = bar;
    this.#keys = keys;
    this.#looks = looks;
    this.#on = on;
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#since = performance.now();
      else this.#countSeconds();
    });
  }

  /** Put a picture up, with what was filled in before. */
  show(assignment, form) {
    this.#shown = assignment;
    const { elements } = byId("label-form");
    elements.assignment.value = assignment.id;
    elements.lease_token.value = assignment.lease_token;
    byId("tie-break").textContent = data.tieBreaks[assignment.tie_break];
    this.#form.gate = data.asked[assignment.outline_gate];
    this.#newEditor(assignment.image);
    // What was said of the picture before is not of this one.
    this.#bar.hush();
    this.fill(form);
  }

  /** Fill in the form, or empty it with null. */
  fill(form) {
    this.#seconds = form?.seconds ?? 0;
    this.#since = performance.now();
    this.#kept = form?.kept ?? {};
    this.#askedLast = form?.askedLast ?? null;
    this.#form.fill(form ?? {});
    this.#editor.state = form?.drawing ?? NOTHING_DRAWN;
    this.#complete = !this.#editor.problem;
    this.#followGate();
    this.#noteDrawing();
    this.refresh();
    if (this.#form.answers.contains_bird) this.goOn();
    else this.#form.focus(QUESTIONS[0]);
  }

  /** What is filled in, to be kept and filled in again. */
  get draft() {
    this.#countSeconds();
    return {
      ...this.filledIn,
      drawing: this.#editor.state,
      askedLast: this.#askedLast,
      kept: this.#kept,
      seconds: this.#seconds,
    };
  }

  get filledIn() {
    const { answers, statements, cannotOutline } = this.#form;
    return { answers, statements, cannotOutline };
  }

  /** What is sent. */
  get answer() {
    this.#countSeconds();
    const { asked } = this.#form;
    const statements = asked ? this.#form.statements : Object.fromEntries(STATEMENTS.map((field) => [field, null]));
    return {
      lease_token: this.#shown.lease_token,
      ...this.#form.answers,
      outline: asked && !this.#form.cannotOutline ? this.#editor.rings : null,
      ...statements,
      seconds: Math.round(this.#seconds * 1000) / 1000,
    };
  }

  /** [{field, words}] in the order of the questions. */
  get missing() {
    return this.#form.missing(this.#outlineMissing());
  }

  /** Resolves when the picture can be painted. One that fails says so by itself. */
  get decoded() {
    const image = byId("picture").querySelector("image");
    return image?.decode ? image.decode().catch(() => {}) : Promise.resolve();
  }

  // The picture.

  #newEditor({ url, width, height }) {
    const before = this.#editor;
    this.#editor = null;
    before?.destroy();
    byId("picture").replaceChildren();
    this.#editor = new OutlineEditor(byId("picture"), {
      imageUrl: url,
      width,
      height,
      labels: { ...words.editor, describedBy: "outline-words outline-keys" },
      keys: this.#keys.ofEditor,
      simplify: this.#looks.simplify,
      onSimplify: (simplify) => this.#look({ simplify }),
      onChange: (editor, { settled }) => editor === this.#editor && this.#drawn(settled),
      announce: (text) => this.#bar.say(text),
    });
    this.#editor.setEnabled(false);
    this.#editor.setSmoothing(this.#looks.smoothing);
    this.#tellPressed("smoothing", this.#looks.smoothing);
    this.#tellPressed("move", false);
    this.#watchImage();
  }

  #watchImage() {
    const image = byId("picture").querySelector("image");
    image.addEventListener("error", () =>
      this.#on.imageFailed((url) => image.isConnected && image.setAttribute("href", url)),
    );
  }

  #look(changed) {
    Object.assign(this.#looks, changed);
    this.#on.looks(changed);
  }

  toggleSmoothing() {
    const smoothing = !this.#looks.smoothing;
    this.#tellPressed("smoothing", smoothing);
    this.#editor.setSmoothing(smoothing);
    this.#look({ smoothing });
  }

  toggleMove() {
    this.#editor.panning = !this.#editor.panning;
    this.#tellPressed("move", this.#editor.panning);
  }

  #tellPressed(act, pressed) {
    for (const button of document.querySelectorAll(`[data-act="${act}"]`)) {
      button.setAttribute("aria-pressed", String(pressed));
    }
  }

  /** Do what a key of the editor does, from outside of it. Returns why not, in words, or nothing. */
  draw(name) {
    if (!this.#form.asked) return words.noOutlineAsked;
    if (!this.#editor.perform(OF_EDITOR[name])) return this.#whyNot(name);
    // The arrows move the corner that is chosen now.
    if (CHOOSES.has(name)) this.#editor.focus();
    return undefined;
  }

  #whyNot(name) {
    const { drawing, rings } = this.#editor;
    if (name === "close_outline") return drawing ? words.editor.needsThree : words.nothingToClose;
    if (name === "fewer_corners" || name === "more_corners") return words.nothingTraced;
    return rings.length || drawing ? words.noCornerChosen : words.noCornerYet;
  }

  fit() {
    this.#editor.fit();
  }

  zoomIn() {
    this.#editor.zoomIn();
  }

  zoomOut() {
    this.#editor.zoomOut();
  }

  // Changes.

  #answered(field, goOn) {
    // Pressed before the picture is up: read from the form when it is.
    if (!this.#editor) return undefined;
    if (field === CANNOT_OUTLINE) return this.#ticked();
    if (QUESTIONS.includes(field)) this.#followGate();
    this.#on.change();
    this.refresh();
    if (goOn && QUESTIONS.includes(field)) this.goOn();
  }

  /** Answer the open question with the answer of this number, or switch a statement. Returns why not, or nothing. */
  choose(number) {
    const { open } = this.#form;
    if (QUESTIONS.includes(open)) return void this.#form.choose(open, number);
    if (number > STATEMENTS.length) return words.noSuchStatement;
    return void this.#form.toggleStatement(number);
  }

  /** Open the question `step` further on, and put the focus there. */
  step(step) {
    const field = this.#form.openNext(step);
    if (field === "outline") this.#editor.focus();
    else this.#form.focus(field);
  }

  toggleCannotOutline() {
    if (!this.#form.asked) return words.noOutlineAsked;
    return void this.#tick(!this.#form.cannotOutline);
  }

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
    if (cannot) return this.goOn();
    this.#form.show("outline");
    return this.#editor.focus();
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

  #changeClass(asked) {
    if (this.#askedLast) {
      const { statements, cannotOutline } = this.#form;
      this.#kept[this.#askedLast] = { drawing: this.#editor.state, statements, cannotOutline };
    }
    if (this.#askedLast || this.#kept[asked]) {
      const { drawing = NOTHING_DRAWN, statements = {}, cannotOutline = false } = this.#kept[asked] ?? {};
      this.#editor.state = drawing;
      this.#form.setStatements(statements);
      this.#form.cannotOutline = cannotOutline;
      this.#noteDrawing();
    }
    this.#askedLast = asked;
    this.#complete = !this.#editor.problem;
  }

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

  /** Time counts while the page can be seen. */
  #countSeconds() {
    const now = performance.now();
    this.#seconds += (now - this.#since) / 1000;
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

  /** Show what the server wants changed at its question. */
  showErrors(fields) {
    const field = this.#form.showErrors(fields);
    if (field === "outline") this.#editor.focus();
    else if (field) this.#form.focus(STATEMENTS.includes(field) ? "statements" : field);
  }

  freeze(frozen) {
    byId("questions").inert = frozen;
    byId("picture").inert = frozen;
    byId("label-form").classList.toggle("is-sending", frozen);
  }

  #outlineMissing() {
    if (this.#form.cannotOutline) return null;
    const { problem, drawing, rings } = this.#editor;
    if (!problem) return null;
    if (problem.code === "outline_self_crossing") return words.missingUncrossed;
    if (drawing) return words.missingClosing;
    return rings.length ? words.missingChange : words.missingOutline;
  }

  refresh(settled = true) {
    const missing = this.missing.map((each) => each.words);
    const asked = Boolean(this.#form.asked);
    const cannot = this.#form.cannotOutline;
    byId("missing").textContent = missing.length ? fill(words.missing, { parts: missing.join(", ") }) : words.ready;
    byId("missing").classList.toggle("is-ready", !missing.length);
    byId("undo").disabled = !asked || !(cannot || this.#editor.canUndo);
    byId("redo").disabled = !asked || cannot || !this.#editor.canRedo;
    byId("picture").classList.toggle("is-set-aside", cannot && settled);
    byId("outline-error").textContent = "";
    if (cannot) this.#tellCannot();
    else this.#tellOutline();
  }

  #tellCannot() {
    const { rings, drawing } = this.#editor;
    this.#form.setShort("outline", words.shortCannot);
    byId("outline-state").textContent = rings.length || drawing ? words.notSentKept : words.notSent;
    byId("outline-state").classList.remove("is-wrong");
  }

  #tellOutline() {
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


// The labeling page: one picture, its form, and the way to the next one.

import { post, Refusal, Unreachable } from "./label_api.js";
import * as dialogs from "./label_dialogs.js";
import { draftOf, dropDraft, keepDraft, unconfirmedDrafts } from "./label_drafts.js";
import { CANNOT_OUTLINE, LabelForm, QUESTIONS, STATEMENTS } from "./label_form.js";
import { Pictures } from "./label_pictures.js";
import { Sender } from "./label_sender.js";
import { OutlineEditor } from "./outline_editor.js";

const BEAT_MS = 60 * 1000;
const IDLE_MS = 10 * 60 * 1000;
const LOOK_AGAIN_S = 60;
const SMOOTHING = "unanimous.smoothing";
const OUTLINE_WORDS = {
  outline_empty: "No outline yet.",
  outline_unfinished: "The outline is not closed: choose its first corner again, or press C.",
  outline_self_crossing: "Outline {ring} crosses or touches itself where it is marked. Move a corner there.",
  outline_zero_area: "Outline {ring} encloses nothing. Move a corner off the line.",
};
const NOTHING_DRAWN = Object.freeze({ rings: [], open: [] });

const byId = (id) => document.getElementById(id);

class Page {
  #data = JSON.parse(byId("page-data").textContent);
  #sheet = byId("label-form");
  #pictures = new Pictures(this.#data.api, this.#data.assignment);
  #channel = new BroadcastChannel("unanimous.labeling");
  #sender = new Sender({
    onWaiting: (seconds) => this.#tellWaiting(seconds),
    askToSignIn: () => this.#signInAgain(),
  });
  #form = new LabelForm(byId("questions"), {
    asked: this.#data.asked,
    followUps: this.#data.followUps,
    onChange: (field, goOn) => this.#answered(field, goOn),
  });
  #editor = null;
  #askedLast = null; // the class the drawing on screen belongs to
  #kept = {}; // what was drawn and said of the other class
  #settled = ""; // the drawing as it last settled, to tell a change from a gesture that came to nothing
  #complete = false; // whether the outline could be sent
  #sent = null; // the answer on its way; nothing may change until its outcome is known
  #sending = false;
  #seconds = 0;
  #since = performance.now();
  #used = Date.now();
  #beaten = Date.now();
  #told = new Set(); // what was said once about this picture
  #looking = 0; // the timer that looks for new pictures

  start() {
    this.#listen();
    this.#setSmoothing(storedSmoothing());
    this.#confirmEarlier();
    if (this.#pictures.current) this.#show(this.#pictures.current);
    else this.#lookAgainIn(this.#data.retryAfter);
  }

  get #assignment() {
    return this.#pictures.current;
  }

  // One picture.

  #show(assignment, words = "") {
    byId("empty").hidden = true;
    this.#sheet.hidden = false;
    this.#told.clear();
    this.#kept = {};
    this.#sent = null;
    this.#freeze(false);
    this.#fillHidden(assignment);
    byId("tie-break").textContent = this.#data.tieBreaks[assignment.tie_break];
    this.#newEditor(assignment.image);
    this.#restore(assignment.id);
    this.#tell(words);
    this.#pictures.fill();
  }

  #fillHidden({ id, lease_token }) {
    this.#sheet.elements.assignment.value = id;
    this.#sheet.elements.lease_token.value = lease_token;
  }

  #newEditor({ url, width, height }) {
    this.#editor?.destroy();
    byId("picture").replaceChildren();
    this.#editor = new OutlineEditor(byId("picture"), {
      imageUrl: url,
      width,
      height,
      labels: { problems: OUTLINE_WORDS },
      onChange: (_, { settled }) => this.#drawn(settled),
      announce: (words) => {
        byId("spoken").textContent = words;
      },
    });
    this.#editor.setEnabled(false);
    this.#setSmoothing(storedSmoothing());
    this.#watchImage();
  }

  #watchImage() {
    const image = byId("picture").querySelector("image");
    image.addEventListener("error", async () => {
      const url = this.#toldOnce("renewed") ? null : await this.#pictures.renewed().catch(() => null);
      if (url && image.isConnected) image.setAttribute("href", url);
      else this.#tell("The picture does not load. Reload the page, or report the picture and go on.", "error");
    });
  }

  /** What was filled in before on this device; nothing for a new picture. */
  #restore(id) {
    const draft = draftOf(id);
    // The first form may come back from a plain POST with what was filled in.
    const posted = this.#pictures.isFirst ? this.#filledIn() : {};
    this.#seconds = draft?.seconds ?? 0;
    this.#since = performance.now();
    this.#kept = draft?.kept ?? {};
    this.#askedLast = draft?.askedLast ?? null;
    this.#form.fill(draft ?? posted);
    this.#editor.state = draft?.drawing ?? NOTHING_DRAWN;
    this.#complete = !this.#editor.problem;
    this.#followGate();
    this.#noteDrawing();
    this.#tellSaved(draft ? new Date(draft.savedAt) : undefined);
    this.#refresh();
    if (draft || this.#form.answers.contains_bird) this.#goOn();
    else this.#form.focus(QUESTIONS[0]);
    if (draft?.sent) this.#send(draft.sent);
  }

  // Changes.

  #answered(field, goOn) {
    if (field === CANNOT_OUTLINE) return this.#ticked();
    if (QUESTIONS.includes(field)) this.#followGate();
    this.#keep();
    this.#refresh();
    if (goOn && QUESTIONS.includes(field)) this.#goOn();
  }

  #tick(cannot) {
    this.#form.cannotOutline = cannot;
    this.#ticked();
  }

  /** Nothing can be outlined (R15), or something can after all. What is drawn stays, dimmed, and is not sent. */
  #ticked() {
    const cannot = this.#form.cannotOutline;
    byId("spoken").textContent = "";
    this.#speak(cannot ? "Question 3: cannot be outlined. No outline is sent." : "Question 3: an outline is asked for.");
    this.#keep();
    this.#refresh();
    if (cannot) return this.#goOn();
    this.#form.show("outline");
    return this.#editor.focus();
  }

  /** After a tick nothing was drawn any more, so it is what is undone first. */
  #undo() {
    if (this.#form.cannotOutline) this.#tick(false);
    else this.#editor.undo();
  }

  /** Questions 3 and 4 come and go with the answers (R10); what was drawn of a class waits for it to come back. */
  #followGate() {
    const { asked } = this.#form;
    if (asked && asked !== this.#askedLast) {
      if (this.#askedLast) {
        const { statements, cannotOutline } = this.#form;
        this.#kept[this.#askedLast] = { drawing: this.#editor.state, statements, cannotOutline };
      }
      if (this.#askedLast || this.#kept[asked]) {
        this.#editor.state = this.#kept[asked]?.drawing ?? NOTHING_DRAWN;
        this.#form.setStatements(this.#kept[asked]?.statements ?? {});
        this.#form.cannotOutline = this.#kept[asked]?.cannotOutline ?? false;
        this.#noteDrawing();
      }
      this.#askedLast = asked;
      this.#complete = !this.#editor.problem;
    }
    this.#editor.setEnabled(Boolean(asked));
  }

  #drawn(settled) {
    if (settled && this.#noteDrawing() && this.#form.cannotOutline) {
      this.#form.cannotOutline = false;
      this.#speak("Question 3: the outline is sent again.");
    }
    if (settled) this.#keep();
    this.#refresh(settled);
    const complete = settled && !this.#editor.problem;
    if (complete && !this.#complete && this.#form.open === "outline") this.#form.show("statements");
    if (settled) this.#complete = complete;
  }

  /** Remember the drawing; returns whether it is a different one. */
  #noteDrawing() {
    const before = this.#settled;
    this.#settled = JSON.stringify(this.#editor.state);
    return this.#settled !== before;
  }

  /** Open what is missing next, and put the focus there; with nothing missing, on Submit. */
  #goOn() {
    const [next] = this.#missing();
    if (!next) return byId("submit").focus({ preventScroll: true });
    this.#form.show(next.field);
    if (next.field === "outline") return this.#editor.focus();
    return this.#form.focus(next.field);
  }

  #missing() {
    return this.#form.missing(this.#outlineMissing());
  }

  #outlineMissing() {
    if (this.#form.cannotOutline) return null;
    const { problem, drawing, rings } = this.#editor;
    if (!problem) return null;
    if (problem.code === "outline_self_crossing") return "an outline that does not cross itself";
    if (drawing) return "closing the outline";
    return rings.length ? "a change to the outline" : "the outline";
  }

  #refresh(settled = true) {
    const missing = this.#missing().map(({ words }) => words);
    const asked = Boolean(this.#form.asked);
    const cannot = this.#form.cannotOutline;
    byId("missing").textContent = missing.length ? `Still missing: ${missing.join(", ")}` : "Ready to submit";
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
    const kept = rings.length || drawing ? " What is drawn is kept." : "";
    this.#form.setShort("outline", "cannot be outlined");
    byId("outline-state").textContent = `No outline is sent.${kept}`;
    byId("outline-state").classList.remove("is-wrong");
  }

  #tellOutline() {
    const { problem, rings, drawing } = this.#editor;
    const corners = rings.reduce((sum, ring) => sum + ring.length, 0);
    const outlines = rings.length === 1 ? "1 outline" : `${rings.length} outlines`;
    const drawn = rings.length ? `${outlines}, ${corners} corners` : "";
    const wrong = problem && (rings.length > 0 || drawing) && problem.code !== "outline_unfinished";
    this.#form.setShort("outline", wrong ? "needs a change" : drawing ? "being drawn" : drawn);
    byId("outline-state").textContent = problem ? problem.message : `${drawn}. Change it at any time.`;
    byId("outline-state").classList.toggle("is-wrong", Boolean(wrong));
  }

  #keep() {
    this.#countSeconds();
    const savedAt = keepDraft(this.#assignment.id, {
      ...this.#filledIn(),
      drawing: this.#editor.state,
      askedLast: this.#askedLast,
      kept: this.#kept,
      seconds: this.#seconds,
      sent: this.#sent,
    });
    this.#tellSaved(savedAt);
  }

  #filledIn() {
    const { answers, statements, cannotOutline } = this.#form;
    return { answers, statements, cannotOutline };
  }

  /** Time counts while the page can be seen. */
  #countSeconds() {
    const now = performance.now();
    this.#seconds += (now - this.#since) / 1000;
    this.#since = now;
  }

  // Sending.

  #answer() {
    this.#countSeconds();
    const { asked } = this.#form;
    const statements = asked ? this.#form.statements : Object.fromEntries(STATEMENTS.map((field) => [field, null]));
    return {
      lease_token: this.#assignment.lease_token,
      ...this.#form.answers,
      outline: asked && !this.#form.cannotOutline ? this.#editor.rings : null,
      ...statements,
      seconds: Math.round(this.#seconds * 1000) / 1000,
    };
  }

  #submit() {
    if (this.#sending) return this.#sender.now();
    if (this.#sent) return this.#send(this.#sent);
    const missing = this.#missing();
    if (!missing.length) return this.#send(this.#answer());
    this.#goOn();
    return this.#tell(`Not sent. Still missing: ${missing.map(({ words }) => words).join(", ")}.`, "error");
  }

  async #send(answer) {
    this.#sending = true;
    this.#sent = answer;
    this.#keep();
    this.#freeze(true);
    const { id } = this.#assignment;
    const outcome = await this.#sender.send(`${this.#data.api}${id}/response/`, answer);
    this.#sending = false;
    if (outcome.receipt) await this.#received(id, outcome.receipt);
    else if (outcome.refusal) await this.#refused(id, outcome.refusal);
    else this.#putOff(outcome.uncertain);
  }

  async #received(id, receipt) {
    dropDraft(id);
    this.#channel.postMessage({ answered: id });
    await this.#next(receiptWords(receipt));
  }

  async #refused(id, refusal) {
    if (refusal.code === "already_answered") {
      dropDraft(id);
      await this.#next(refusal.detail);
      return;
    }
    this.#changeable();
    const field = this.#form.showErrors(refusal.fields ?? {});
    if (field === "outline") this.#editor.focus();
    else if (field) this.#form.focus(STATEMENTS.includes(field) ? "statements" : field);
    this.#tell(`Not received: ${refusal.detail} Everything is kept.`, "error");
    if (refusal.status === 404) this.#wrongAccount();
  }

  #wrongAccount() {
    const { username } = this.#data;
    this.#tell(
      `Not received: this picture was given to ${username}, and somebody else is signed in by now. Sign in as ` +
        `${username} and submit again; everything is kept.`,
      "error",
    );
    this.#signInAgain();
  }

  /** Signing in was put off. An answer that may have arrived stays as it was sent. */
  #putOff(uncertain) {
    if (!uncertain) this.#changeable();
    this.#tell("Not sent: you are not signed in. Your answer is kept here; submit again to sign in and send it.", "error");
  }

  #changeable() {
    this.#sent = null;
    this.#freeze(false);
    this.#keep();
    this.#refresh();
  }

  #freeze(frozen) {
    byId("questions").inert = frozen;
    byId("picture").inert = frozen;
    this.#sheet.classList.toggle("is-sending", frozen);
  }

  #signInAgain() {
    return dialogs.askToSignIn(this.#data.signIn);
  }

  /** Answers that went out before a reload and were never confirmed go out once more, the very same. */
  async #confirmEarlier() {
    for (const { id, sent } of unconfirmedDrafts()) {
      if (id === this.#assignment?.id) continue;
      try {
        const { data } = await post(`${this.#data.api}${id}/response/`, sent);
        dropDraft(id);
        this.#tell(`An earlier answer: ${receiptWords(data)}`);
      } catch (error) {
        if (error.code === "already_answered") dropDraft(id);
        else if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      }
    }
  }

  // The next picture.

  async #next(words) {
    try {
      const { assignment, retryAfter } = await this.#pictures.advance();
      if (assignment) this.#show(assignment, words);
      else this.#showEmpty(words, retryAfter);
    } catch (error) {
      await this.#noNext(words, error);
    }
  }

  async #noNext(words, error) {
    if (error instanceof Unreachable) {
      this.#showEmpty(words, 0, "No connection", "The next picture cannot be fetched. Everything you sent is received.");
    } else if (error instanceof Refusal && error.needsSignIn) {
      this.#showEmpty(words, 0, "Sign in again", "Your sign-in has ended. Everything you sent is received.");
      if (await this.#signInAgain()) await this.#next(words);
    } else if (error instanceof Refusal) {
      this.#showEmpty(words, 0, "No more pictures for now", error.detail);
    } else {
      throw error;
    }
  }

  #showEmpty(words, retryAfter, title = "", text = "") {
    const held = retryAfter > 0;
    this.#sheet.hidden = true;
    byId("empty").hidden = false;
    byId("empty-title").textContent = title || (held ? "Nothing is free just now" : "Nothing is left to label");
    byId("empty-words").textContent =
      text ||
      (held
        ? "Every picture that still needs you is in somebody else's hands. One may come free at any moment."
        : "You have answered every picture that needs you. New ones come in without notice.");
    this.#tell(words);
    byId("look-again").focus({ preventScroll: true });
    this.#lookAgainIn(retryAfter);
  }

  #lookAgainIn(seconds) {
    clearTimeout(this.#looking);
    this.#looking = setTimeout(() => this.#lookAgain(), (seconds || LOOK_AGAIN_S) * 1000);
  }

  async #lookAgain() {
    if (this.#assignment || dialogs.anyOpen()) return;
    if (document.visibilityState !== "visible") return void this.#lookAgainIn(LOOK_AGAIN_S);
    try {
      const { assignment, retryAfter } = await this.#pictures.advance();
      if (assignment) this.#show(assignment, "A picture has come in.");
      else this.#lookAgainIn(retryAfter);
    } catch {
      this.#lookAgainIn(LOOK_AGAIN_S);
    }
  }

  async #report() {
    if (!this.#assignment || this.#sent) return;
    const { id } = this.#assignment;
    const gone = await dialogs.askToReport(this.#data.api, this.#assignment, () => this.#signInAgain());
    if (!gone) return;
    dropDraft(id);
    await this.#next("Reported. An organizer looks at that picture.");
  }

  #answeredElsewhere(id) {
    this.#pictures.drop(id);
    if (this.#assignment?.id !== id || this.#sent) return;
    dropDraft(id);
    this.#next("You answered that picture in another window. This is the next one.");
  }

  // The lease is renewed while the page is in use.

  #use() {
    this.#used = Date.now();
    if (this.#used - this.#beaten > BEAT_MS) this.#beat();
  }

  async #beat() {
    if (document.visibilityState !== "visible" || Date.now() - this.#used > IDLE_MS) return;
    this.#beaten = Date.now();
    for (const { id, lease_token } of this.#pictures.held) {
      try {
        await post(`${this.#data.api}${id}/heartbeat/`, { lease_token });
      } catch (error) {
        this.#leaseTrouble(id, error);
      }
    }
  }

  #leaseTrouble(id, error) {
    if (!(error instanceof Refusal)) return;
    if (error.needsSignIn) {
      if (!this.#toldOnce("sign-in")) {
        this.#tell("Your sign-in has ended. Go on: everything is kept, and you are asked to sign in when you submit.");
      }
    } else if (id !== this.#assignment?.id) {
      this.#pictures.drop(id);
    } else if (error.code === "already_answered") {
      this.#answeredElsewhere(id);
    } else if (!this.#toldOnce("lease")) {
      this.#tell(error.detail, "error");
    }
  }

  // Words.

  #toldOnce(what) {
    const told = this.#told.has(what);
    this.#told.add(what);
    return told;
  }

  #tell(words, kind = "") {
    const status = byId(this.#sheet.hidden ? "empty-status" : "status");
    status.textContent = words;
    status.classList.toggle("is-wrong", kind === "error");
  }

  /** For a screen reader, after what the editor says of the same step. */
  #speak(words) {
    queueMicrotask(() => {
      byId("spoken").textContent = `${byId("spoken").textContent} ${words}`.trim();
    });
  }

  #tellWaiting(seconds) {
    this.#tell(
      `No connection. Your answer is kept on this device and goes out again in ${seconds} s; Submit tries at once.`,
      "error",
    );
  }

  /** A Date, null when the device keeps nothing, undefined when there is nothing to keep yet. */
  #tellSaved(savedAt) {
    const failed = "Not kept on this device: its storage is full or closed.";
    const words = savedAt === null ? failed : savedAt ? `Saved on this device ${clock(savedAt)}` : "";
    byId("saved").textContent = words;
    byId("saved").classList.toggle("is-wrong", savedAt === null);
  }

  #setSmoothing(smooth) {
    byId("smoothing").setAttribute("aria-pressed", String(smooth));
    this.#editor?.setSmoothing(smooth);
  }

  #toggleSmoothing() {
    const smooth = byId("smoothing").getAttribute("aria-pressed") !== "true";
    storeSmoothing(smooth);
    this.#setSmoothing(smooth);
  }

  // Keys and clicks.

  #listen() {
    this.#sheet.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    const clicks = {
      undo: () => this.#undo(),
      redo: () => this.#editor.redo(),
      fit: () => this.#editor.fit(),
      smoothing: () => this.#toggleSmoothing(),
      "open-report": () => this.#report(),
      "open-instructions": () => dialogs.openInstructions(),
    };
    for (const [id, act] of Object.entries(clicks)) {
      byId(id).addEventListener("click", (event) => {
        event.preventDefault();
        act();
      });
    }
    dialogs.closeWithButtons();
    this.#listenToThePage();
  }

  #listenToThePage() {
    // The editor has its own Ctrl+Z, which knows nothing of the tick.
    byId("picture").addEventListener("keydown", (event) => this.#undoTick(event), { capture: true });
    document.addEventListener("keydown", (event) => this.#key(event));
    for (const type of ["keydown", "pointerdown", "wheel"]) {
      document.addEventListener(type, () => this.#use(), { passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#since = performance.now();
      else if (this.#assignment) this.#keep();
    });
    this.#channel.addEventListener("message", ({ data }) => this.#answeredElsewhere(data.answered));
    setInterval(() => this.#beat(), BEAT_MS);
  }

  #undoTick(event) {
    const undoes = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undoes || !this.#form.asked || !this.#form.cannotOutline) return;
    event.preventDefault();
    event.stopPropagation();
    this.#tick(false);
  }

  #key(event) {
    if (event.defaultPrevented || event.altKey || dialogs.anyOpen() || isTyping(event.target)) return;
    if (event.key === "?") {
      event.preventDefault();
      dialogs.openInstructions();
      return;
    }
    if (this.#sheet.hidden) return;
    const act = event.ctrlKey || event.metaKey ? this.#chord(event) : this.#keyAction(event);
    if (!act) return;
    event.preventDefault();
    act();
  }

  #chord({ key, shiftKey }) {
    if (!this.#form.asked || this.#sent) return null;
    const undoes = { z: shiftKey ? "redo" : "undo", y: "redo" }[key.toLowerCase()];
    if (undoes === "undo") return () => this.#undo();
    return undoes ? () => this.#editor.redo() : null;
  }

  #keyAction({ key, target, repeat }) {
    if (key === "Enter") return repeat || pressesItself(target) ? null : () => this.#submit();
    const letter = key.length === 1 ? key.toLowerCase() : key;
    if (letter === "s") return () => this.#toggleSmoothing();
    if (this.#sent) return null;
    if (/^[1-4]$/.test(letter)) return repeat ? null : () => this.#digit(Number(letter));
    const acts = {
      u: () => this.#form.asked && this.#undo(),
      n: () => this.#form.asked && !repeat && this.#tick(!this.#form.cannotOutline),
      y: () => this.#form.asked && this.#editor.redo(),
      0: () => this.#editor.fit(),
      "+": () => this.#editor.zoomBy(1.5),
      "-": () => this.#editor.zoomBy(1 / 1.5),
      r: () => this.#report(),
    };
    return acts[letter] ?? null;
  }

  #digit(key) {
    const { open } = this.#form;
    if (QUESTIONS.includes(open)) this.#form.choose(open, key);
    else if (this.#form.asked) this.#form.toggleStatement(key);
  }
}

function receiptWords({ receipt, received_at, counted }) {
  const words = `Received ${clock(new Date(received_at))}, receipt ${receipt}.`;
  return counted ? words : `${words} It came after its place was taken: it is kept and published, and does not count.`;
}

function clock(date) {
  return date.toLocaleTimeString("en-GB");
}

function isTyping(target) {
  return target.matches?.("textarea, input:not([type=radio], [type=checkbox]), select") ?? false;
}

/** Enter on these does what they are there for. */
function pressesItself(target) {
  return target.closest?.("button, a, summary") != null;
}

function storedSmoothing() {
  try {
    return localStorage.getItem(SMOOTHING) !== "off";
  } catch {
    return true;
  }
}

function storeSmoothing(smooth) {
  try {
    localStorage.setItem(SMOOTHING, smooth ? "on" : "off");
  } catch {
    // Storage is closed to this page: the choice lasts until the next picture.
  }
}

new Page().start();

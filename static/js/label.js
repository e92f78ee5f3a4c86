// The labeling page: one picture, its form, and the way to the next one.
//
// What is submitted goes into the outbox of this device, and the next picture is shown at once. The answer is sent
// beside that. Its receipt is told when it comes; an answer that is refused brings its picture back with everything.

import { post, Refusal, Unreachable } from "./label_api.js";
import { Bar } from "./label_bar.js";
import * as dialogs from "./label_dialogs.js";
import { Device } from "./label_drafts.js";
import { Keys, OF_EDITOR } from "./label_keys.js";
import { Outbox, WAITS_FOR } from "./label_outbox.js";
import { Pictures } from "./label_pictures.js";
import { Sheet } from "./label_sheet.js";
import { Use } from "./label_use.js";
import { clock, counted, data, fill, words } from "./label_words.js";

const AHEAD = 2;
const LOOK_AGAIN_S = 60;
const NOTICES_EVERY_BEATS = 5;
const SUBMIT_TO_PAINT = "submit-to-paint";
const MOST_MEASURES = 1000;

const byId = (id) => document.getElementById(id);

class Page {
  #bar = new Bar();
  #device = new Device(data.username);
  #channel = new BroadcastChannel("unanimous.labeling");
  #keys = new Keys({ ...data.keys, address: data.preferencesUrl, onChange: () => {} });
  #sheet = new Sheet(this.#bar, this.#keys, data.looks, {
    change: () => this.#keep(),
    looks: (changed) => this.#remember(changed),
    imageFailed: (setUrl) => this.#imageFailed(setUrl),
  });
  #pictures = new Pictures(data.api, {
    most: data.ahead ? AHEAD : 0,
    draftOf: (id) => this.#device.draftOf(id),
    onAhead: ({ instructions }) => this.#fetchNews(instructions),
    onStopped: () => this.#fetchNotices(),
  });
  #outbox = new Outbox(this.#device, data.username, {
    received: (entry, receipt) => this.#received(entry, receipt),
    refused: (entry, refusal, draft) => this.#refused(entry, refusal, draft),
    answered: (entry, { detail }) => this.#settled(entry.assignment, detail),
    waiting: (entries, why) => this.#waiting(entries, why),
    signIn: (wrongAccount) => this.#signInToSend(wrongAccount),
  });
  #use = new Use({
    onBeat: () => this.#beat(),
    onBreak: (minutes) => this.#bar.leave(counted(words.takeABreak, minutes), { name: "break" }),
    breakMinutes: data.breakMinutes,
  });
  #open = false; // whether the picture on screen can be answered
  #revision = 0; // of the draft on screen
  #submittedAt = null; // when what was submitted last was submitted, until the next picture is up
  #queuing = null; // the id of the answer that is just being put into the outbox
  #sentHere = new Set(); // ids of answers that were submitted on this page
  #advancing = false;
  #told = new Set(); // what was said once about this picture
  #looking = 0; // the timer that looks for new pictures
  #beats = 0;
  #read = data.instructionsRead; // the newest version of the instructions that was read
  #news = new Map(); // version -> what changed up to it, as a promise

  async start() {
    this.#listen();
    if (!(await this.#device.open())) this.#bar.tellKept({ unkept: true });
    for (const notice of data.notices) this.#leaveNotice(notice);
    const waiting = (await this.#device.outbox()).map(({ assignment }) => assignment);
    for (const id of waiting) this.#pictures.submitted(id);
    await this.#showFirst(data.assignment, waiting);
    this.#outbox.send();
    this.#use.start();
  }

  async #showFirst(assignment, waiting) {
    if (!assignment) return this.#lookAgainIn(data.retryAfter);
    // Answered before a reload, and not confirmed: what comes next follows from what the server says.
    if (waiting.includes(assignment.id)) return this.#sheet.freeze(true);
    const draft = await this.#device.draftOf(assignment.id);
    this.#pictures.current = assignment;
    // The first form may come back from a plain POST with what was filled in.
    return this.#show(assignment, draft ?? { revision: 0, form: this.#sheet.filledIn });
  }

  get #assignment() {
    return this.#pictures.current;
  }

  // One picture.

  #show(assignment, draft, text = "") {
    clearTimeout(this.#looking);
    byId("empty").hidden = true;
    byId("label-form").hidden = false;
    this.#told.clear();
    this.#revision = draft?.revision ?? 0;
    this.#sheet.freeze(false);
    this.#sheet.show(assignment, draft?.form);
    this.#open = true;
    this.#bar.tellKept(draft?.savedAt ? { savedAt: new Date(draft.savedAt) } : undefined);
    this.#bar.tell(text);
    this.#tellNews(assignment);
    this.#pictures.fill();
    this.#measure();
  }

  async #imageFailed(setUrl) {
    const url = this.#toldOnce("renewed") ? null : await this.#pictures.renewed().catch(() => null);
    if (url) setUrl(url);
    else this.#bar.tell(words.pictureFails, "error");
  }

  /** Put down what is filled in, at once and after every stroke. */
  async #keep() {
    if (!this.#open) return;
    const { id } = this.#assignment;
    const revision = (this.#revision += 1);
    const kept = await this.#device.keep(id, revision, this.#sheet.draft);
    if (!this.#open || this.#assignment.id !== id) return;
    if (kept.submitted) return this.#answeredElsewhere(id);
    if (kept.newer) return this.#adopt(id, words.changedElsewhere);
    this.#bar.tellKept(kept);
    this.#shout({ drafted: id, revision });
  }

  /** Show what another window has made of the picture on screen. */
  async #adopt(id, text = "") {
    const draft = await this.#device.draftOf(id);
    if (!draft || !this.#open || this.#assignment.id !== id) return;
    this.#revision = draft.revision;
    this.#sheet.fill(draft.form);
    this.#bar.tellKept({ savedAt: new Date(draft.savedAt) });
    this.#bar.tell(text);
  }

  // Submitting.

  async #submit() {
    if (!this.#open) return void this.#outbox.send();
    const missing = this.#sheet.missing.map((each) => each.words);
    if (missing.length) {
      this.#sheet.goOn();
      return this.#bar.tell(fill(words.notSentMissing, { parts: missing.join(", ") }), "error");
    }
    this.#submittedAt = performance.now();
    await this.#queue(this.#assignment);
    this.#outbox.send();
    return this.#advance("");
  }

  async #queue(assignment) {
    const { id } = assignment;
    const { answer, draft: form } = this.#sheet;
    this.#close();
    this.#queuing = id;
    this.#sentHere.add(id);
    this.#pictures.submitted(id);
    await this.#device.queue({ assignment: id, api: data.api, shown: assignment, answer, form, revision: this.#revision });
    this.#queuing = null;
    this.#shout({ queued: id });
    this.#device.askToPersist().catch(() => {});
  }

  #close() {
    this.#open = false;
    this.#sheet.freeze(true);
  }

  /** From the key to the picture on the screen, also where it had to be waited for; for whoever measures. */
  async #measure() {
    const start = this.#submittedAt;
    if (start === null) return;
    this.#submittedAt = null;
    await this.#sheet.decoded;
    await painted();
    performance.measure(SUBMIT_TO_PAINT, { start });
    if (performance.getEntriesByName(SUBMIT_TO_PAINT).length >= MOST_MEASURES) performance.clearMeasures(SUBMIT_TO_PAINT);
  }

  // What became of an answer.

  #received({ assignment: id, api }, receipt) {
    if (receipt.go && api === data.api) return location.assign(receipt.go);
    const earlier = !this.#sentHere.has(id);
    if (!receipt.counted) this.#bar.leave(fill(words.surplus, { receipt: receipt.receipt }));
    return this.#settled(id, receiptWords(receipt, earlier));
  }

  #settled(id, text) {
    this.#shout({ settled: id });
    this.#sentHere.delete(id);
    this.#pictures.settled(id);
    if (this.#open) {
      this.#bar.tell(text);
      this.#pictures.fill();
    } else if (!this.#queuing) {
      this.#advance(text);
    }
  }

  /** Back to the picture, with everything that was filled in. The one on screen waits for its turn. */
  #refused({ assignment: id, api, shown }, refusal, draft) {
    this.#shout({ settled: id });
    this.#pictures.settled(id);
    const text = fill(words.notReceived, { detail: refusal.detail });
    if (api !== data.api) return this.#bar.tell(text, "error");
    const current = this.#open ? { revision: this.#revision, savedAt: Date.now(), form: this.#sheet.draft } : null;
    this.#pictures.interrupt(shown, current);
    this.#submittedAt = null;
    this.#show(shown, draft);
    this.#sheet.showErrors(refusal.fields ?? {});
    return this.#bar.tell(text, "error");
  }

  #waiting(entries, why) {
    this.#bar.tellWaiting(entries.length, why, this.#device.mayLose);
    if (entries.length) return void (this.#open || this.#queuing || this.#showWaiting(entries.length, why));
    this.#pictures.settledBut(this.#queuing);
    if (!this.#open && !this.#queuing && this.#isFrozen) this.#advance("");
  }

  /** Whether a form is on screen that was submitted. */
  get #isFrozen() {
    return !byId("label-form").hidden;
  }

  async #signInToSend(wrongAccount) {
    if (wrongAccount) this.#bar.tell(fill(words.wrongAccount, { username: data.username }), "error");
    const signedIn = await this.#signInAgain();
    if (!signedIn) this.#bar.tell(words.signInPutOff, "error");
    return signedIn;
  }

  #signInAgain() {
    return dialogs.askToSignIn(data.signIn);
  }

  // The next picture.

  async #advance(text) {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      await this.#goOn(text);
    } catch (error) {
      await this.#noNext(text, error);
    } finally {
      this.#advancing = false;
    }
  }

  async #goOn(text) {
    const ready = this.#pictures.take();
    if (ready) return this.#showNext(ready.assignment, ready.draft, text);
    // Until the server has these it would give the same pictures again. What it says of them leads back here.
    if (this.#pictures.waiting) return undefined;
    const { assignment, draft, retryAfter } = await this.#pictures.ask();
    if (assignment) return this.#showNext(assignment, draft, text);
    return this.#showEmpty(text, retryAfter);
  }

  /** For who does not see the picture change: the focus may stay where it is. */
  #showNext(assignment, draft, text) {
    this.#show(assignment, draft, text);
    this.#bar.speak(words.nextPicture);
  }

  async #noNext(text, error) {
    if (error instanceof Unreachable) {
      this.#showEmpty(text, 0, words.noConnection, words.noConnectionNext);
    } else if (error instanceof Refusal && error.needsSignIn) {
      this.#showEmpty(text, 0, words.signInEnded, words.signInEndedNext);
      if (await this.#signInAgain()) await this.#goOn(text).catch((again) => this.#noNext(text, again));
    } else if (error instanceof Refusal) {
      this.#showEmpty(text, 0, words.noMore, error.detail);
    } else {
      throw error;
    }
  }

  #showWaiting(count, why) {
    const [title, forms] =
      why === WAITS_FOR.signIn ? [words.signInEnded, words.waitForSignIn] : [words.noConnection, words.waitForNetwork];
    const kept = this.#device.mayLose ? words.leaveOpen : words.goesOutByItself;
    this.#showEmpty("", 0, title, `${counted(forms, count)} ${counted(kept, count)}`);
  }

  #showEmpty(text, retryAfter, title = "", explanation = "") {
    const held = retryAfter > 0;
    this.#submittedAt = null;
    byId("label-form").hidden = true;
    byId("empty").hidden = false;
    byId("empty-title").textContent = title || (held ? words.nothingFree : words.nothingLeft);
    byId("empty-words").textContent = explanation || (held ? words.nothingFreeNext : words.nothingLeftNext);
    this.#bar.tell(text);
    byId("look-again").focus({ preventScroll: true });
    this.#lookAgainIn(retryAfter);
  }

  #lookAgainIn(seconds) {
    clearTimeout(this.#looking);
    this.#looking = setTimeout(() => this.#lookAgain(), (seconds || LOOK_AGAIN_S) * 1000);
  }

  async #lookAgain() {
    if (this.#open || dialogs.anyOpen()) return;
    if (document.visibilityState !== "visible") return void this.#lookAgainIn(LOOK_AGAIN_S);
    this.#lookAgainIn(LOOK_AGAIN_S);
    if (this.#pictures.waiting) await this.#outbox.send();
    else await this.#advance(words.cameIn);
  }

  async #report() {
    if (!this.#open) return;
    const assignment = this.#assignment;
    const gone = await dialogs.askToReport(data.api, assignment, () => this.#signInAgain());
    if (!gone || this.#assignment !== assignment) return;
    this.#close();
    await this.#device.dropDraft(assignment.id);
    await this.#advance(words.reported);
  }

  async #ask() {
    if (await dialogs.askQuestion(data.questionsUrl, () => this.#signInAgain())) this.#bar.tell(words.asked);
  }

  // Other windows.

  #shout(news) {
    this.#channel.postMessage({ ...news, account: data.username });
  }

  #hear({ account, drafted, revision, queued, settled }) {
    if (account !== data.username) return;
    if (drafted) this.#draftedElsewhere(drafted, revision);
    if (queued) {
      this.#pictures.submitted(queued);
      this.#answeredElsewhere(queued);
    }
    if (settled) {
      this.#pictures.settled(settled);
      if (!this.#open && !this.#queuing && this.#isFrozen) this.#advance("");
    }
  }

  #draftedElsewhere(id, revision) {
    if (this.#open && this.#assignment.id === id && revision > this.#revision) this.#adopt(id);
    else this.#pictures.refresh(id);
  }

  #answeredElsewhere(id) {
    this.#pictures.drop(id);
    if (!this.#open || this.#assignment.id !== id) return;
    this.#close();
    this.#advance(words.answeredElsewhere);
  }

  // The lease is renewed while the page is in use.

  async #beat() {
    this.#beats += 1;
    if (this.#beats % NOTICES_EVERY_BEATS === 0) this.#fetchNotices();
    for (const { id, lease_token } of this.#pictures.held) {
      try {
        await post(`${data.api}${id}/heartbeat/`, { lease_token });
      } catch (error) {
        this.#leaseTrouble(id, error);
      }
    }
  }

  #leaseTrouble(id, error) {
    if (!(error instanceof Refusal)) return;
    if (error.needsSignIn) {
      if (!this.#toldOnce("sign-in")) this.#bar.tell(words.signInEndedGoOn);
    } else if (id !== this.#assignment?.id) {
      this.#pictures.drop(id);
    } else if (!this.#toldOnce("lease")) {
      this.#bar.tell(error.detail, "error");
    }
  }

  #toldOnce(what) {
    const told = this.#told.has(what);
    this.#told.add(what);
    return told;
  }

  // What the organizers tell.

  #leaveNotice({ id, text }) {
    const seen = () => post(`${data.noticesUrl}${id}/seen/`).catch(ignored);
    this.#bar.leave(text, { name: `notice-${id}`, onDismiss: seen });
  }

  async #fetchNotices() {
    for (const notice of await dialogs.notices(data.noticesUrl)) this.#leaveNotice(notice);
  }

  /** What changed up to a version, asked for as soon as a picture under it is at hand. */
  #fetchNews(version) {
    if (!(version > this.#read)) return null;
    if (!this.#news.has(version)) this.#news.set(version, dialogs.newsSince(data.newsUrl, this.#read));
    return this.#news.get(version);
  }

  /** New instructions are read before the form of a picture under them opens. */
  async #tellNews({ id, instructions }) {
    const fetching = this.#fetchNews(instructions);
    if (!fetching) return;
    this.#sheet.freeze(true);
    const news = await fetching;
    if (news === null) this.#news.delete(instructions);
    await dialogs.showNews(news);
    if (news !== null && instructions > this.#read) {
      this.#read = instructions;
      this.#remember({ instructions });
    }
    if (!this.#open || this.#assignment.id !== id) return;
    this.#sheet.freeze(false);
    this.#sheet.goOn();
  }

  #remember(preferences) {
    post(data.preferencesUrl, preferences).catch(ignored);
  }

  // Keys and clicks.

  #listen() {
    byId("label-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    // The second click of a double click would meet the next picture.
    byId("submit").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
    for (const button of document.querySelectorAll("[data-act]")) {
      button.addEventListener("click", (event) => {
        event.preventDefault();
        // First, so that a dialog has a place in sight to give the focus back to.
        byId("more").hidePopover?.();
        this.#act(button.dataset.act);
      });
    }
    dialogs.closeWithButtons();
    // The editor has its own Ctrl+Z, which knows nothing of the tick.
    byId("picture").addEventListener("keydown", (event) => this.#undoTick(event), { capture: true });
    document.addEventListener("keydown", (event) => this.#key(event));
    this.#channel.addEventListener("message", (event) => this.#hear(event.data));
    addEventListener("beforeunload", (event) => this.#device.mayLose && event.preventDefault());
  }

  /** What each action does, by its name in the table of keys. One that cannot be done returns the words that say why. */
  #acts = {
    ...Object.fromEntries(Object.keys(OF_EDITOR).map((name) => [name, () => this.#sheet.draw(name)])),
    choice_1: () => this.#sheet.choose(1),
    choice_2: () => this.#sheet.choose(2),
    choice_3: () => this.#sheet.choose(3),
    choice_4: () => this.#sheet.choose(4),
    next_question: () => this.#sheet.step(1),
    previous_question: () => this.#sheet.step(-1),
    cannot_outline: () => this.#sheet.toggleCannotOutline(),
    submit: () => this.#submit(),
    undo: () => this.#sheet.undo(),
    redo: () => this.#sheet.redo(),
    zoom_in: () => this.#sheet.zoomIn(),
    zoom_out: () => this.#sheet.zoomOut(),
    fit: () => this.#sheet.fit(),
    move: () => this.#sheet.toggleMove(),
    smoothing: () => this.#sheet.toggleSmoothing(),
    instructions: () => dialogs.openInstructions(),
    report: () => this.#report(),
    ask: () => this.#ask(),
    receipts: async () => dialogs.showReceipts(await this.#device.receipts()),
    keys: () => this.#keys.open(),
    dismiss: () => this.#bar.dismiss() || words.noMessage,
    look_again: () => (this.#pictures.waiting ? this.#outbox.send() : this.#advance("")),
  };

  #undoTick(event) {
    const undoes = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undoes || !this.#open || !this.#sheet.undoesTick) return;
    event.preventDefault();
    event.stopPropagation();
    this.#sheet.undo();
  }

  #key(event) {
    if (event.defaultPrevented || event.altKey || dialogs.anyOpen() || isTyping(event.target)) return;
    const name = event.ctrlKey || event.metaKey ? chord(event) : this.#keys.actionOf(event);
    if (event.key === "Enter" && pressesItself(event.target)) return;
    if (name === null || !this.#mayAct(name)) {
      // A radio button would submit the form with Enter, whatever key does so by choice.
      if (event.key === "Enter") event.preventDefault();
      return;
    }
    event.preventDefault();
    if (!(event.repeat && ONCE.has(name))) this.#act(name);
  }

  #act(name) {
    const whyNot = this.#acts[name]();
    if (typeof whyNot === "string") this.#bar.tell(whyNot);
  }

  #mayAct(name) {
    return this.#open || ANYTIME.has(name);
  }
}

// What can be done without an open form, and what a key held down does once.
const ANYTIME = new Set(["submit", "instructions", "ask", "receipts", "keys", "dismiss"]);
const ONCE = new Set(["choice_1", "choice_2", "choice_3", "choice_4", "submit", "cannot_outline"]);

function chord({ key, shiftKey }) {
  return { z: shiftKey ? "redo" : "undo", y: "redo" }[key.toLowerCase()] ?? null;
}

function receiptWords({ receipt, received_at, counted: counts }, earlier) {
  const said = fill(words.received, { time: clock(new Date(received_at)), receipt });
  const all = counts ? said : `${said} ${words.keptAsSurplus}`;
  return earlier ? fill(words.earlier, { said: all }) : all;
}

/** Comfort alone: without an answer it is simply not remembered. */
function ignored(error) {
  if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
}

/** Resolves when the next frame has been painted. */
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  });
}

function isTyping(target) {
  return target.matches?.("textarea, input:not([type=radio], [type=checkbox]), select") ?? false;
}

/** Enter on these does what they are there for. */
function pressesItself(target) {
  return target.closest?.("button, a, summary") != null;
}

new Page().start();

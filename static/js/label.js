// The labeling page: one picture, its form, and the way to the next one.
//
// What is submitted goes into the outbox of this device, and the next picture is shown at once. The answer is sent
// beside that. Its receipt is shown when it comes; an answer that is refused brings its picture back with everything.

import { byId } from "./dom.js";
import { Actions } from "./label_actions.js";
import { Answers } from "./label_answers.js";
import { Refusal, Unreachable } from "./label_api.js";
import { Bar } from "./label_bar.js";
import * as dialogs from "./label_dialogs.js";
import { DraftKeeper, newestDraft } from "./label_draft_keeper.js";
import { Device, Windows } from "./label_drafts.js";
import { EmptyScreen } from "./label_empty.js";
import { Keys, OF_EDITOR } from "./label_keys.js";
import { Leases } from "./label_leases.js";
import { News, rememberSoon } from "./label_news.js";
import { Pictures } from "./label_pictures.js";
import { Sheet } from "./label_sheet.js";
import { Use } from "./label_use.js";
import { counted, data, fill, words } from "./label_words.js";

/** @import { Draft, WindowNews } from "./label_drafts.js" */
/** @import { Assignment } from "./label_words.js" */

const AHEAD = 2;
const NOTICES_EVERY_BEATS = 5;

class Page {
  #bar = new Bar();
  #device = new Device(data.username);
  #windows = new Windows(data.username);
  #news = new News(this.#bar);
  #empty = new EmptyScreen(this.#bar, () => this.#lookAgain());
  #keys = new Keys({ ...data.keys, address: data.preferencesUrl });
  #sheet = new Sheet(this.#bar, this.#keys, data.looks, {
    change: () => this.#changed(),
    looks: (changed) => rememberSoon(changed),
    imageFailed: (setUrl) => this.#imageFailed(setUrl),
  });
  #pictures = new Pictures(data.api, {
    most: data.ahead ? AHEAD : 0,
    draftOf: (assignment) => newestDraft(this.#device, assignment),
    onAhead: ({ instructions }) => this.#news.fetch(instructions),
    onStopped: () => this.#news.fetchNotices(),
  });
  #drafts = new DraftKeeper(
    {
      bar: this.#bar,
      device: this.#device,
      pictures: this.#pictures,
      sheet: this.#sheet,
      windows: this.#windows,
    },
    {
      isOnScreen: (id) => this.#isOnScreen(id),
      answeredElsewhere: (id) => this.#answeredElsewhere(id),
    },
  );
  #leases = new Leases(this.#pictures, this.#bar);
  #answers = new Answers(
    {
      bar: this.#bar,
      device: this.#device,
      empty: this.#empty,
      pictures: this.#pictures,
      sheet: this.#sheet,
      windows: this.#windows,
    },
    {
      isOpen: () => this.#open,
      revisions: () => this.#drafts.revisions,
      close: () => this.#close(),
      show: (assignment, draft) => this.#show(assignment, draft),
      advance: (text) => this.#advance(text),
      advanceIfFrozen: () => this.#advanceIfFrozen(),
      signIn: signInAgain,
    },
  );
  #use = new Use({
    onBeat: () => this.#beat(),
    onBreak: (minutes) => this.#bar.leave(counted(words.takeABreak, minutes), { name: "break" }),
    breakMinutes: data.breakMinutes,
  });
  #open = false; // whether the picture on screen can be answered
  #complained = false; // whether the status says that something is missing
  #advancing = false;
  #renewed = false; // whether the picture on screen got a fresh address once
  #beats = 0;

  /** What each action does, by its name in the table of keys. One that cannot be done returns the words that say why. */
  #actions = new Actions(
    {
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
      zoom_in: () => this.#sheet.picture.zoomIn(),
      zoom_out: () => this.#sheet.picture.zoomOut(),
      fit: () => this.#sheet.picture.fit(),
      move: () => this.#sheet.picture.toggleMove(),
      smoothing: () => this.#sheet.picture.toggle("smoothing"),
      brighter: () => this.#sheet.picture.changeLight("brightness", 1),
      darker: () => this.#sheet.picture.changeLight("brightness", -1),
      more_contrast: () => this.#sheet.picture.changeLight("contrast", 1),
      less_contrast: () => this.#sheet.picture.changeLight("contrast", -1),
      as_sent: () => this.#sheet.picture.resetLight(),
      guides: () => this.#sheet.picture.toggle("guides"),
      minimap: () => this.#sheet.picture.toggle("minimap"),
      instructions: () => dialogs.openInstructions(),
      report: () => this.#report(),
      ask: () => this.#askQuestion(),
      receipts: async () => dialogs.showReceipts(await this.#device.receipts()),
      keys: () => this.#keys.open(),
      dismiss: () => this.#bar.dismiss() || words.noMessage,
      take_back: () => void this.#answers.takeBack(),
      look_again: () => (this.#pictures.waiting ? this.#answers.sendNow() : this.#advance("")),
    },
    this.#keys,
    this.#bar,
    () => this.#open,
  );

  async start() {
    this.#listen();
    if (!(await this.#device.open())) this.#bar.showSaved({ unkept: true });
    this.#news.showNotices(data.notices);
    const waiting = (await this.#device.outbox()).map(({ assignment }) => assignment);
    for (const id of waiting) this.#pictures.submitted(id);
    await this.#showFirst(data.assignment, waiting);
    this.#answers.sendNow();
    this.#use.start();
  }

  #listen() {
    byId("label-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    // The second click of a double click would meet the next picture.
    byId("submit").addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
    dialogs.closeWithButtons();
    // The editor has its own Ctrl+Z, which knows nothing of the tick.
    byId("picture").addEventListener("keydown", (event) => this.#undoTick(event), { capture: true });
    this.#actions.listen();
    this.#windows.listen((news) => this.#hear(news));
    this.#answers.listen();
    this.#drafts.listen();
    addEventListener("beforeunload", (event) => this.#device.mayLose && event.preventDefault());
  }

  /**
   * @param {Assignment | null} assignment
   * @param {string[]} waiting ids of answers in the outbox
   */
  async #showFirst(assignment, waiting) {
    if (!assignment) return this.#empty.lookAgainIn(data.retryAfter);
    // Answered before a reload, and not confirmed: what comes next follows from what the server says.
    if (waiting.includes(assignment.id)) return this.#sheet.freeze(true);
    const draft = await newestDraft(this.#device, assignment);
    this.#pictures.current = assignment;
    // The first form may come back from a plain POST with what was filled in.
    return this.#show(assignment, draft ?? { revision: 0, form: this.#sheet.filledIn });
  }

  // One picture.

  /**
   * @param {Assignment} assignment
   * @param {Draft | null} draft
   * @param {string} text
   */
  #show(assignment, draft, text = "") {
    this.#empty.hide();
    this.#renewed = false;
    this.#leases.forgetTroubles();
    this.#sheet.freeze(false);
    this.#sheet.show(assignment, draft?.form);
    this.#open = true;
    this.#drafts.begin(draft);
    this.#bar.show(text);
    this.#showNews(assignment);
    this.#pictures.fill();
  }

  /** @param {string} id */
  #isOnScreen(id) {
    return this.#open && this.#pictures.current?.id === id;
  }

  /**
   * New instructions are read before the form of a picture under them opens.
   * @param {Assignment} assignment
   */
  async #showNews({ id, instructions }) {
    const fetching = this.#news.fetch(instructions);
    if (!fetching) return;
    this.#sheet.freeze(true);
    await this.#news.show(instructions, fetching);
    if (!this.#isOnScreen(id)) return;
    this.#sheet.freeze(false);
    this.#sheet.goOn();
  }

  /** @param {(url: string) => void} setUrl */
  async #imageFailed(setUrl) {
    const isFirst = !this.#renewed;
    this.#renewed = true;
    const url = isFirst ? await this.#pictures.renewed().catch(() => null) : null;
    if (url) setUrl(url);
    else this.#bar.show(words.pictureFails, "error");
  }

  #changed() {
    // What was missing may not be missing now: the line beside Submit says it.
    if (this.#complained) this.#bar.show("");
    this.#complained = false;
    return this.#drafts.keep();
  }

  /** @param {KeyboardEvent} event */
  #undoTick(event) {
    const undoes = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undoes || !this.#open || !this.#sheet.undoesTick) return;
    event.preventDefault();
    event.stopPropagation();
    this.#sheet.undo();
  }

  // Submitting.

  async #submit() {
    const { current } = this.#pictures;
    if (!this.#open || !current) return void this.#answers.sendNow();
    const missing = this.#sheet.missing.map((each) => each.words);
    if (missing.length) {
      this.#sheet.goOn();
      this.#complained = true;
      return this.#bar.show(fill(words.notSentMissing, { parts: missing.join(", ") }), "error");
    }
    await this.#answers.queue(current);
    this.#answers.send();
    return this.#advance("");
  }

  #close() {
    this.#open = false;
    this.#sheet.freeze(true);
  }

  /** Go on where the form on screen was submitted. */
  #advanceIfFrozen() {
    if (!this.#open && !this.#answers.isQueuing && !byId("label-form").hidden) this.#advance("");
  }

  // The next picture.

  /** @param {string} text */
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

  /** @param {string} text */
  async #goOn(text) {
    // A picture whose answer has come back meanwhile stays on screen.
    if (this.#open || this.#showNext(text)) return undefined;
    // What the server says of the answers on their way leads back here. One that is held is not waited for.
    if (this.#pictures.waiting > Number(this.#answers.isHolding)) return undefined;
    const { retryAfter, held } = await this.#pictures.ask();
    if (this.#open || this.#showNext(text)) return undefined;
    return this.#empty.showHeld(text, retryAfter, held);
  }

  /**
   * Show the next picture at hand; returns whether there is one.
   * @param {string} text
   */
  #showNext(text) {
    const ready = this.#pictures.take();
    if (!ready) return false;
    this.#show(ready.assignment, ready.draft, text);
    // For who does not see the picture change: the focus may stay where it is.
    this.#bar.speak(words.nextPicture);
    return true;
  }

  /**
   * @param {string} text
   * @param {unknown} error
   */
  async #noNext(text, error) {
    if (!(error instanceof Unreachable || error instanceof Refusal)) throw error;
    if (this.#open) return;
    if (error instanceof Unreachable) {
      this.#empty.show(text, 0, words.noConnection, words.noConnectionNext);
    } else if (error.needsSignIn) {
      this.#empty.show(text, 0, words.signInEnded, words.signInEndedNext);
      if (await signInAgain()) await this.#goOn(text).catch((again) => this.#noNext(text, again));
    } else {
      this.#empty.show(text, 0, words.noMore, error.detail);
    }
  }

  async #lookAgain() {
    if (this.#open) return;
    if (this.#pictures.waiting) await this.#answers.send();
    else await this.#advance(words.cameIn);
  }

  async #report() {
    const { current } = this.#pictures;
    if (!this.#open || !current) return;
    const gone = await dialogs.askToReport(data.api, current, signInAgain);
    if (!gone || this.#pictures.current !== current) return;
    this.#close();
    await this.#device.dropDraft(current.id);
    await this.#advance(words.reported);
  }

  async #askQuestion() {
    if (await dialogs.askQuestion(data.questionsUrl, signInAgain)) this.#bar.show(words.questionSent);
  }

  // Other windows.

  /** @param {WindowNews} news */
  #hear({ drafted, revision = 0, queued, settled }) {
    if (drafted) this.#drafts.hear(drafted, revision);
    if (queued) {
      this.#pictures.submitted(queued);
      this.#answeredElsewhere(queued);
    }
    if (settled) {
      this.#pictures.settled(settled);
      this.#advanceIfFrozen();
    }
  }

  /** @param {string} id */
  #answeredElsewhere(id) {
    this.#pictures.drop(id);
    if (!this.#isOnScreen(id)) return;
    this.#close();
    this.#advance(words.answeredElsewhere);
  }

  async #beat() {
    this.#beats += 1;
    if (this.#beats % NOTICES_EVERY_BEATS === 0) this.#news.fetchNotices();
    await this.#leases.renew();
  }
}

function signInAgain() {
  return dialogs.askToSignIn(data.signIn);
}

new Page().start();

// The draft of the picture on screen: kept on this device after each change, and a moment later on the server, so that
// another browser goes on with it. Of two browsers, the one that has not seen the other's draft gets it, and an undo
// brings back the outline that it replaces.

import { post, Refusal, Unreachable } from "./label_api.js";
import { data, words } from "./label_words.js";

/** @import { Bar } from "./label_bar.js" */
/** @import { Device, Draft, Form, Windows } from "./label_drafts.js" */
/** @import { Pictures } from "./label_pictures.js" */
/** @import { Sheet } from "./label_sheet.js" */
/** @import { Assignment, DraftOnServer } from "./label_words.js" */
/** @typedef {{bar: Bar, device: Device, pictures: Pictures, sheet: Sheet, windows: Windows}} KeeperParts */
/**
 * @typedef {object} KeeperEvents
 * @property {(id: string) => boolean} isOnScreen whether a picture is on screen and can be answered
 * @property {(id: string) => void} answeredElsewhere its answer is on its way, or received
 */

// After the last change. Who answers at once never sends a draft.
const REST_MS = 2500;
const BROWSER = "unanimous.browser";

/** A random name of this browser; of this page alone where its storage is closed. */
const browser = (() => {
  const name = crypto.randomUUID?.() ?? URL.createObjectURL(new Blob()).slice(-36);
  try {
    const known = localStorage.getItem(BROWSER) ?? name;
    localStorage.setItem(BROWSER, known);
    return known;
  } catch {
    return name;
  }
})();

/**
 * The newer draft of a picture: of this device, or the one that came from the server with it.
 * @param {Device} device
 * @param {Assignment} assignment
 * @returns {Promise<Draft | null>}
 */
export async function newestDraft(device, { id, draft }) {
  const here = await device.draftOf(id);
  return draft && draft.revision > (here?.revision ?? 0) ? fromServer(draft) : here;
}

/**
 * @param {DraftOnServer} draft
 * @returns {Draft}
 */
function fromServer({ revision, saved_at: savedAt, form }) {
  return { revision, base: revision, savedAt: Date.parse(savedAt), form: form ?? {} };
}

export class DraftKeeper {
  #parts;
  #on;
  /** @type {Form} */
  #form = {}; // what this revision is; the time of work alone would make another one of it
  #revision = 0;
  #base = 0; // the revision of the server's draft that this one began from
  #sent = 0; // the newest revision that the server has
  #timer = 0;
  #isSending = false;

  /**
   * @param {KeeperParts} parts
   * @param {KeeperEvents} on
   */
  constructor(parts, on) {
    this.#parts = parts;
    this.#on = on;
  }

  /** Of the draft on screen. */
  get revisions() {
    return { revision: this.#revision, base: this.#base };
  }

  listen() {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.#sendChanges();
      else this.#send();
    });
  }

  /**
   * Another picture is on screen, with this draft.
   * @param {Draft | null} draft
   */
  begin(draft) {
    clearTimeout(this.#timer);
    this.#remember(draft ?? { revision: 0 });
    this.#sent = this.#base;
    if (draft?.savedAt && this.#revision > this.#base) this.#sendSoon();
    this.#parts.bar.showSaved(draft?.savedAt ? { savedAt: new Date(draft.savedAt) } : undefined);
  }

  /** @param {Draft} draft */
  #remember({ revision, base = 0, form = {} }) {
    this.#revision = revision;
    this.#base = base;
    this.#form = form;
  }

  /** Keep what is filled in, at once and after every stroke. */
  async keep() {
    const { bar, device, pictures, sheet, windows } = this.#parts;
    const id = pictures.current?.id;
    if (!id || !this.#on.isOnScreen(id)) return;
    const revision = (this.#revision += 1);
    const form = (this.#form = sheet.draft);
    const kept = await device.keep(id, revision, form, this.#base);
    if (!this.#on.isOnScreen(id)) return;
    if (kept.submitted) {
      this.#on.answeredElsewhere(id);
    } else if (kept.newer) {
      await this.#adoptHere(id, words.changedElsewhere);
    } else {
      bar.showSaved(kept);
      windows.send({ drafted: id, revision });
      this.#sendSoon();
    }
  }

  /**
   * Another window has kept a draft.
   * @param {string} id
   * @param {number} revision
   */
  hear(id, revision) {
    if (!this.#on.isOnScreen(id)) this.#parts.pictures.refresh(id);
    else if (revision > this.#revision) this.#adoptHere(id);
  }

  /**
   * Show what another window of this browser has made of the picture on screen.
   * @param {string} id
   * @param {string} text
   */
  async #adoptHere(id, text = "") {
    const draft = await this.#parts.device.draftOf(id);
    if (draft && this.#on.isOnScreen(id)) this.#adopt(draft, text);
  }

  /**
   * Show another draft. One that comes in the middle of a stroke is found again when the stroke is kept.
   * @param {Draft} draft
   * @param {string} text
   */
  #adopt(draft, text) {
    const { bar, sheet } = this.#parts;
    if (sheet.isDrawing) return false;
    this.#remember(draft);
    sheet.adopt(draft.form ?? {});
    bar.showSaved(draft.savedAt ? { savedAt: new Date(draft.savedAt) } : undefined);
    bar.show(text);
    return true;
  }

  // On the server. The qualification has no drafts there.

  #sendSoon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#sendChanges(), REST_MS);
  }

  #sendChanges() {
    if (this.#revision > this.#sent) this.#send();
  }

  /** Send the draft on screen, or ask for a newer one. */
  #send() {
    clearTimeout(this.#timer);
    const { current } = this.#parts.pictures;
    if (!data.ahead || !current || !this.#on.isOnScreen(current.id)) return;
    if (this.#isSending) {
      // One at a time: what has changed meanwhile waits for its turn.
      this.#sendSoon();
      return;
    }
    this.#isSending = true;
    this.#exchange(current).finally(() => {
      this.#isSending = false;
    });
  }

  /** @param {Assignment} assignment */
  async #exchange({ id, lease_token }) {
    const sent = { lease_token, browser, ...this.revisions, form: this.#form };
    try {
      const reply = await post(`${data.api}${id}/draft/`, sent);
      const draft = /** @type {DraftOnServer | null} */ (reply.data);
      if (draft && this.#on.isOnScreen(id)) this.#exchanged(draft, sent.revision);
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
      // A draft that is not taken stays on this device, and goes out with the next change. That a lease has ended is
      // said by its renewal.
      if (error instanceof Refusal && error.code === "already_answered") this.#on.answeredElsewhere(id);
    }
  }

  /**
   * @param {DraftOnServer} draft the one that the server keeps now
   * @param {number} sent the revision of the one that was sent
   */
  #exchanged(draft, sent) {
    const isOwn = !draft.form;
    if (isOwn) this.#sent = draft.revision;
    if (this.#revision !== sent) this.#sendSoon();
    else if (isOwn) this.#parts.bar.showSaved({ savedAt: new Date(draft.saved_at), onServer: true });
    else if (draft.revision !== this.#base) this.#adoptFromServer(draft);
  }

  /** @param {DraftOnServer} draft of another browser */
  #adoptFromServer(draft) {
    const revision = this.#revision;
    if (!this.#adopt(fromServer(draft), revision ? words.changedElsewhere : "")) return;
    this.#sent = draft.revision;
    if (revision < draft.revision) return;
    // This device has kept a later one: the draft that is shown now follows it.
    this.#revision = revision;
    this.keep();
  }
}

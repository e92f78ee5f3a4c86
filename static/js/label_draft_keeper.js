// The draft of the picture on screen: kept on this device after each change, and a moment later on the server, so that
// another browser goes on with it. Changes are numbered; the draft with the higher number stands.

import { post, Refusal, Unreachable } from "./label_api.js";
import { data, words } from "./label_words.js";

/** @import { Bar } from "./label_bar.js" */
/** @import { Device, Draft, Windows } from "./label_drafts.js" */
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
  return { revision, savedAt: Date.parse(savedAt), form: form ?? {} };
}

export class DraftKeeper {
  /** Of the draft on screen. */
  revision = 0;
  #parts;
  #on;
  #kept = 0; // the revision that the server has, as far as this page knows
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
    this.revision = draft?.revision ?? 0;
    this.#kept = 0;
    if (draft?.savedAt) this.#sendSoon();
    this.#parts.bar.showSaved(draft?.savedAt ? { savedAt: new Date(draft.savedAt) } : undefined);
  }

  /** Keep what is filled in, at once and after every stroke. */
  async keep() {
    const { bar, device, pictures, sheet, windows } = this.#parts;
    const id = pictures.current?.id;
    if (!id || !this.#on.isOnScreen(id)) return;
    const revision = (this.revision += 1);
    const kept = await device.keep(id, revision, sheet.draft);
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
    else if (revision > this.revision) this.#adoptHere(id);
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
   * @param {Draft} draft
   * @param {string} text
   */
  #adopt({ revision, savedAt, form = {} }, text) {
    const { bar, sheet } = this.#parts;
    this.revision = revision;
    sheet.adopt(form);
    bar.showSaved(savedAt ? { savedAt: new Date(savedAt) } : undefined);
    bar.show(text);
  }

  // On the server. The qualification has no drafts there.

  #sendSoon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#sendChanges(), REST_MS);
  }

  #sendChanges() {
    if (this.revision > this.#kept) this.#send();
  }

  /** Send the draft on screen, or ask for a newer one. */
  #send() {
    clearTimeout(this.#timer);
    const { current } = this.#parts.pictures;
    if (this.#isSending || !data.ahead || !current || !this.#on.isOnScreen(current.id)) return;
    this.#isSending = true;
    this.#exchange(current).finally(() => {
      this.#isSending = false;
    });
  }

  /** @param {Assignment} assignment */
  async #exchange({ id, lease_token }) {
    const { revision } = this;
    const form = revision ? this.#parts.sheet.draft : {};
    try {
      const reply = await post(`${data.api}${id}/draft/`, { lease_token, revision, form });
      const draft = /** @type {DraftOnServer | null} */ (reply.data);
      if (draft && this.#on.isOnScreen(id)) this.#exchanged(draft, revision);
    } catch (error) {
      // It stays on this device, and goes out with the next change. That a lease has ended is said by its renewal.
      if (!(error instanceof Refusal || error instanceof Unreachable)) throw error;
    }
  }

  /**
   * @param {DraftOnServer} draft the one that the server keeps now
   * @param {number} sent the revision of the one that was sent
   */
  #exchanged(draft, sent) {
    this.#kept = draft.revision;
    if (this.revision !== sent) {
      this.#sendSoon();
    } else if (draft.form) {
      this.#adopt(fromServer(draft), sent ? words.changedElsewhere : "");
    } else {
      this.#parts.bar.showSaved({ savedAt: new Date(draft.saved_at), onServer: true });
    }
  }
}

// Sends a hand-in's files and shows how far they are. Without this script the form sends itself, and only the progress
// is missing.
import { csrfToken } from "./csrf.js";
import { find, findAll } from "./dom.js";
import { FileGone, keyOf, PIECE_BYTES, PieceRefused, sendPieces, SignedOut } from "./upload_pieces.js";

/** @typedef {{address?: string, detail?: string, fields?: Record<string, string[]>}} Answer of the server to an upload */

const MEGABYTE = 1_000_000;
const CONFLICT = 409;
const ENDED_EARLY =
  "The connection ended before the server had everything, so nothing was taken in. Check your connection and hand in again.";
const SIGNED_OUT = "You are signed out, and nothing was handed in. Your files stay chosen here: sign in, then hand in again.";
const OTHER_TEAM =
  "This page was opened for team {team}, and you are signed in as a member of another team now. Nothing was sent, and your files stay chosen here: sign in for team {team} again, or reload this page to hand in for the other one.";
const FILE_GONE = "A file changed on your device, or cannot be read any more. Nothing was handed in: choose it again.";
const TOO_LARGE = "This file has more than is allowed. Make it smaller.";

/** @param {number} bytes */
const size = (bytes) =>
  bytes >= 1000 * MEGABYTE ? `${(bytes / 1000 / MEGABYTE).toFixed(2)} GB` : `${(bytes / MEGABYTE).toFixed(1)} MB`;

/** @param {number} seconds */
function span(seconds) {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6000 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}

class HandIn {
  /** @param {HTMLFormElement} form */
  constructor(form) {
    this.form = form;
    this.button = find(form, "button[type=submit]", HTMLButtonElement);
    this.progress = find(form, ".progress");
    this.refused = find(form, "[data-refused]");
    form.addEventListener("submit", (event) => this.submit(event));
    for (const input of this.inputs) {
      input.addEventListener("change", () => this.check(input));
    }
  }

  get inputs() {
    return findAll(this.form, "input[type=file]", HTMLInputElement);
  }

  /**
   * Mark a field as wrong with words, or as right without.
   * @param {string} name
   * @param {string} words
   */
  mark(name, words) {
    const input = this.form.elements.namedItem(name);
    if (!(input instanceof HTMLElement)) return false;
    const place = document.getElementById(`${input.id}_error`) ?? errorPlace(input);
    place.textContent = words;
    place.hidden = !words;
    input.toggleAttribute("aria-invalid", Boolean(words));
    if (words) input.setAttribute("aria-invalid", "true");
    return true;
  }

  /** @param {HTMLInputElement} input */
  check(input) {
    const file = input.files?.[0];
    const wrong = file && file.size > Number(input.dataset.limit) ? TOO_LARGE : "";
    this.mark(input.name, wrong);
    return !wrong;
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    this.showRefusal("");
    const wrong = this.inputs.filter((input) => !this.check(input));
    if (wrong.length > 0) {
      wrong[0].focus();
      return;
    }
    this.sendIfSignedIn();
  }

  /**
   * Ask before hours of sending whether the server still knows who sends: it answers anybody else with the sign-in, and
   * members of another team with a conflict.
   */
  async sendIfSignedIn() {
    this.button.disabled = true;
    const { team = "" } = this.form.dataset;
    const answer = await fetch(this.form.action, { method: "HEAD", redirect: "manual" }).catch(() => null);
    if (answer?.status === CONFLICT && team) {
      this.end(OTHER_TEAM.replaceAll("{team}", () => team));
      return;
    }
    if (answer?.type !== "opaqueredirect") {
      await this.sendAll();
      return;
    }
    this.endSignedOut();
  }

  endSignedOut() {
    const { signIn = "" } = this.form.dataset;
    this.end(SIGNED_OUT);
    const link = document.createElement("a");
    link.href = signIn;
    link.target = "_blank";
    link.textContent = "Sign in, in a new tab";
    this.refused.append(" ", link);
  }

  /** The large files first, in pieces; then the form with all others. */
  async sendAll() {
    window.addEventListener("beforeunload", leaving);
    this.button.disabled = true;
    this.progress.hidden = false;
    try {
      this.send(await this.sendLarge());
    } catch (error) {
      if (error instanceof SignedOut) this.endSignedOut();
      else if (error instanceof PieceRefused) this.refuse(error.answer);
      else if (error instanceof FileGone) this.end(FILE_GONE);
      else throw error;
    }
  }

  /**
   * Send each large file. Returns what names them in the form: by field, their key and size.
   * @returns {Promise<Map<string, string>>}
   */
  async sendLarge() {
    const { pieces } = this.form.dataset;
    const kept = new Map();
    const sent = new Map();
    for (const { name, files } of pieces ? this.inputs : []) {
      const file = files?.[0];
      const key = file && file.size > PIECE_BYTES && (await keyOf(file));
      if (!file || !key) continue;
      const began = { at: performance.now(), bytes: -1 };
      await sendPieces(file, `${pieces}${name}/${key}/`, new URL(this.form.action).search, (bytes, broken) => {
        if (began.bytes < 0) began.bytes = bytes;
        const seconds = (performance.now() - began.at) / 1000;
        this.show({ loaded: bytes, total: file.size }, seconds, { before: began.bytes, name: file.name, broken });
      });
      kept.set(name, `${key}:${file.size}`);
      sent.set(name, file);
    }
    // Another file may have been chosen meanwhile.
    const isAsSent = this.inputs.every(({ name, files }) => !sent.has(name) || sent.get(name) === files?.[0]);
    return isAsSent ? kept : this.sendLarge();
  }

  /** @param {Map<string, string>} kept the files that the server has, by field */
  send(kept) {
    const request = new XMLHttpRequest();
    request.open("POST", this.form.action);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", csrfToken());
    const began = performance.now();
    request.upload.addEventListener("progress", (event) => this.show(event, (performance.now() - began) / 1000));
    request.addEventListener("load", () => this.answered(request));
    request.addEventListener("error", () => this.end(ENDED_EARLY));
    const body = new FormData(this.form);
    body.delete("csrfmiddlewaretoken");
    for (const [name, named] of kept) {
      body.delete(name);
      body.set(`${name}_kept`, named);
    }
    request.send(body);
  }

  /**
   * @param {{loaded: number, total: number}} event
   * @param {number} seconds since the upload began
   * @param {{before?: number, name?: string, broken?: boolean}} more what the server had then, the file's name, and whether
   *   the connection is broken
   */
  show({ loaded, total }, seconds, { before = 0, name = "", broken = false } = {}) {
    const bar = find(this.progress, "progress", HTMLProgressElement);
    const words = find(this.progress, "[data-progress]");
    bar.value = total ? loaded / total : 0;
    if (broken) {
      words.textContent = `The connection broke at ${size(loaded)} of ${size(total)}. It goes on from there by itself.`;
      return;
    }
    if (loaded >= total) {
      words.textContent = `${size(total)} are sent. The server checks and keeps them.`;
      return;
    }
    const rate = Math.max(loaded - before, 1) / Math.max(seconds, 0.001);
    words.textContent = `${name && `${name}: `}${size(loaded)} of ${size(total)} sent, ${size(rate)} a second, ${span((total - loaded) / rate)} left`;
  }

  /** @param {XMLHttpRequest} request */
  answered(request) {
    /** @type {Answer} */
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { detail: `The server answered with status ${request.status}. Nothing was taken in; try again.` };
    }
    if (request.status === 201) {
      window.removeEventListener("beforeunload", leaving);
      window.location.assign(answer.address ?? "");
      return;
    }
    this.refuse(answer);
  }

  /** @param {Answer} answer */
  refuse(answer) {
    const fields = Object.entries(answer.fields ?? {});
    const shown = fields.filter(([name, words]) => this.mark(name, words.join(" ")));
    if (shown.length > 0) find(this.form, `[name="${CSS.escape(shown[0][0])}"]`).focus();
    const allMarked = shown.length > 0 && shown.length === fields.length;
    this.end(allMarked ? "Nothing was taken in. Change what is marked." : (answer.detail ?? ""));
  }

  /** @param {string} words */
  end(words) {
    window.removeEventListener("beforeunload", leaving);
    this.button.disabled = false;
    this.progress.hidden = true;
    this.showRefusal(words);
  }

  /** @param {string} words */
  showRefusal(words) {
    this.refused.textContent = words;
    this.refused.hidden = !words;
  }
}

/**
 * Add the place of a field's error, as forms/field.html has it.
 * @param {HTMLElement} input
 */
function errorPlace(input) {
  const place = document.createElement("small");
  place.className = "field-error";
  place.id = `${input.id}_error`;
  input.after(place);
  input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby") ?? ""} ${place.id}`.trim());
  return place;
}

/** @param {Event} event */
const leaving = (event) => event.preventDefault();

for (const form of findAll(document, "form[data-upload]", HTMLFormElement)) new HandIn(form);

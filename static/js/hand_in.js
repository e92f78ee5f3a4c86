// Sends a hand-in's files and shows how far they are. Without this script the form sends itself, and only the progress
// is missing.
import { csrfToken } from "./csrf.js";

const MEGABYTE = 1_000_000;
const CONFLICT = 409;
const ENDED_EARLY =
  "The connection ended before the server had everything, so nothing was taken in. Check your connection and hand in again.";
const SIGNED_OUT = "You are signed out, and nothing was sent. Your files stay chosen here: sign in, then hand in again.";
const OTHER_TEAM =
  "This page was opened for team {team}, and you are signed in as a member of another team now. Nothing was sent, and your files stay chosen here: sign in for team {team} again, or reload this page to hand in for the other one.";
const TOO_LARGE = "This file has more than is allowed. Make it smaller.";

const size = (bytes) =>
  bytes >= 1000 * MEGABYTE ? `${(bytes / 1000 / MEGABYTE).toFixed(2)} GB` : `${(bytes / MEGABYTE).toFixed(1)} MB`;

function span(seconds) {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6000 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}

class HandIn {
  constructor(form) {
    this.form = form;
    this.button = form.querySelector("button[type=submit]");
    this.progress = form.querySelector(".progress");
    this.refused = form.querySelector("[data-refused]");
    form.addEventListener("submit", (event) => this.submit(event));
    for (const input of form.querySelectorAll("input[type=file]")) {
      input.addEventListener("change", () => this.check(input));
    }
  }

  /** Mark a field as wrong with words, or as right without. */
  mark(name, words) {
    const place = this.form.querySelector(`[data-wrong="${CSS.escape(name)}"]`);
    const input = this.form.elements.namedItem(name);
    if (!place || !input) return false;
    place.textContent = words;
    place.hidden = !words;
    input.toggleAttribute("aria-invalid", Boolean(words));
    if (words) input.setAttribute("aria-invalid", "true");
    return true;
  }

  check(input) {
    const file = input.files[0];
    const wrong = file && file.size > Number(input.dataset.most) ? TOO_LARGE : "";
    this.mark(input.name, wrong);
    return !wrong;
  }

  submit(event) {
    event.preventDefault();
    this.tell("");
    const inputs = [...this.form.querySelectorAll("input[type=file]")];
    const wrong = inputs.filter((input) => !this.check(input));
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
    const asked = await fetch(this.form.action, { method: "HEAD", redirect: "manual" }).catch(() => null);
    if (asked?.status === CONFLICT && this.form.dataset.team) {
      this.over(OTHER_TEAM.replaceAll("{team}", () => this.form.dataset.team));
      return;
    }
    if (asked?.type !== "opaqueredirect") {
      this.send();
      return;
    }
    this.over(SIGNED_OUT);
    const link = document.createElement("a");
    link.href = this.form.dataset.signIn;
    link.target = "_blank";
    link.textContent = "Sign in, in a new tab";
    this.refused.append(" ", link);
  }

  send() {
    const request = new XMLHttpRequest();
    request.open("POST", this.form.action);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", csrfToken());
    const began = performance.now();
    request.upload.addEventListener("progress", (event) => this.show(event, (performance.now() - began) / 1000));
    request.addEventListener("load", () => this.answered(request));
    request.addEventListener("error", () => this.over(ENDED_EARLY));
    // A closed tab is told before it throws an upload of hours away.
    window.addEventListener("beforeunload", leaving);
    this.button.disabled = true;
    this.progress.hidden = false;
    const body = new FormData(this.form);
    body.delete("csrfmiddlewaretoken");
    request.send(body);
  }

  show({ loaded, total }, seconds) {
    const bar = this.progress.querySelector("progress");
    const words = this.progress.querySelector("[data-progress]");
    bar.value = total ? loaded / total : 0;
    if (loaded >= total) {
      words.textContent = `${size(total)} are sent. The server checks and keeps them.`;
      return;
    }
    const rate = loaded / Math.max(seconds, 0.001);
    words.textContent = `${size(loaded)} of ${size(total)} sent, ${size(rate)} a second, ${span((total - loaded) / rate)} left`;
  }

  answered(request) {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { detail: `The server answered with status ${request.status}. Nothing was taken in; try again.` };
    }
    if (request.status === 201) {
      window.removeEventListener("beforeunload", leaving);
      window.location.assign(answer.address);
      return;
    }
    const fields = Object.entries(answer.fields ?? {});
    const shown = fields.filter(([name, words]) => this.mark(name, words.join(" ")));
    if (shown.length > 0) this.form.elements.namedItem(shown[0][0]).focus();
    this.over(shown.length > 0 && shown.length === fields.length ? "Nothing was taken in. Change what is marked." : answer.detail);
  }

  over(words) {
    window.removeEventListener("beforeunload", leaving);
    this.button.disabled = false;
    this.progress.hidden = true;
    this.tell(words);
  }

  tell(words) {
    this.refused.textContent = words;
    this.refused.hidden = !words;
  }
}

const leaving = (event) => event.preventDefault();

for (const form of document.querySelectorAll("form[data-upload]")) new HandIn(form);

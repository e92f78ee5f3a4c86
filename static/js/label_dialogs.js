// The dialogs over the form. The browser keeps the focus inside and gives it back.

import { get, post, Refusal, signIn } from "./label_api.js";
import { clock, dayOf, fill, words } from "./label_words.js";
import * as passkeys from "./passkeys.js";

const byId = (id) => document.getElementById(id);

export function anyOpen() {
  return document.querySelector("dialog[open]") !== null;
}

export function openInstructions() {
  byId("instructions-dialog").showModal();
}

export function closeWithButtons() {
  for (const button of document.querySelectorAll("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}

let signingIn = null;

/** Ask over the form; resolves to true once signed in, to false when put off. Whoever asks meanwhile gets the same. */
export function askToSignIn(address) {
  signingIn ??= askIn("sign-in", byId("sign-in-password"), (fields) => signingInWith(address, fields)).finally(() => {
    byId("sign-in-code").hidden = true;
    signingIn = null;
  });
  return signingIn;
}

async function signingInWith(address, fields) {
  const { refused = null, needsCode, passkey } = await signIn(address, Object.fromEntries(fields));
  byId("sign-in-code").hidden = !needsCode;
  byId(needsCode ? "sign-in-otp" : "sign-in-password").value = "";
  offerPasskey(passkey);
  if (needsCode) byId("sign-in-otp").focus();
  return refused;
}

/** Show the button that signs in with a passkey, where the account has one and the browser can. */
function offerPasskey(options) {
  const [button, answer] = [byId("sign-in-passkey"), byId("sign-in-answer")];
  answer.value = "";
  button.hidden = !(options && passkeys.supported);
  button.onclick = async () => {
    try {
      answer.value = await passkeys.sign(options);
    } catch {
      byId("sign-in-error").textContent = words.passkeyPutOff;
      return;
    }
    button.form.requestSubmit();
  };
}

/** Ask what is wrong with the picture and give it back. Resolves to true when it is gone. */
export function askToReport(api, { id, lease_token }, signInAgain) {
  const first = byId("report-form").querySelector("input");
  return askIn("report", first, (fields) => {
    const { kind, problem } = Object.fromEntries(fields);
    return told(() => post(`${api}${id}/release/`, { lease_token, kind, problem: problem.trim() }), signInAgain);
  });
}

/** Ask a question to the organizers. Resolves to true when they have it. */
export function askQuestion(address, signInAgain) {
  const field = byId("question-text");
  return askIn("question", field, () => told(() => post(address, { text: field.value.trim() }), signInAgain));
}

/** Do it; null when done, else in words why not. */
async function told(act, signInAgain) {
  try {
    await act();
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.needsSignIn) return error.detail;
    return (await signInAgain()) ? words.signedInSendAgain : words.signInToSend;
  }
}

/** Open a dialog until `act` answers null (resolves to true) or it is closed (false); else show what `act` says. */
function askIn(name, field, act) {
  const [dialog, form, problem] = [byId(`${name}-dialog`), byId(`${name}-form`), byId(`${name}-error`)];
  const listening = new AbortController();
  const { signal } = listening;
  form.reset();
  problem.textContent = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    const end = (done) => {
      listening.abort();
      dialog.close();
      form.reset();
      resolve(done);
    };
    dialog.addEventListener("close", () => end(false), { signal });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      acting(form, act).then((text) => {
        if (text === null) return end(true);
        problem.textContent = text;
        if (!form.contains(document.activeElement) || document.activeElement.type === "submit") field.focus();
        return undefined;
      });
    }, { signal });
  });
}

async function acting(form, act) {
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    return await act(new FormData(form));
  } catch {
    return words.noAnswer;
  } finally {
    button.disabled = false;
  }
}

// What changed in the instructions.

/** Fetch what changed after `version`; null when that cannot be had just now. */
export function newsSince(address, version) {
  return get(`${address}?since=${version}`).then(({ data }) => data, () => null);
}

/** Fetch what the tasker is told and has not seen; nothing when that cannot be had just now. */
export function notices(address) {
  return get(address).then(({ data }) => data, () => []);
}

/** Show what changed until it is acknowledged. `news` is as `newsSince` gives it. */
export function showNews(news) {
  const dialog = byId("news-dialog");
  byId("news-list").replaceChildren(...(news ?? []).map(newsItem));
  byId("news-missing").hidden = Boolean(news?.length);
  dialog.showModal();
  byId("news-form").querySelector("button").focus();
  // Escape would open the form of a picture without the news being read.
  const listening = new AbortController();
  const { signal } = listening;
  dialog.addEventListener("cancel", (event) => event.preventDefault(), { signal });
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      listening.abort();
      byId("clarifications").prepend(...byId("news-list").children);
      resolve();
    }, { signal });
  });
}

function newsItem({ version, since, summary, clarification }) {
  const item = byId("news-item").content.firstElementChild.cloneNode(true);
  item.querySelector("h3").textContent = fill(words.newsOf, { version, day: dayOf(new Date(since)) });
  item.querySelector(".summary").textContent = summary;
  item.querySelector(".clarification").textContent = clarification;
  return item;
}

// Receipts.

/** Show the last receipts, [{receipt, received_at, counted}], newest first. */
export function showReceipts(receipts) {
  byId("receipts-rows").replaceChildren(...receipts.map(receiptRow));
  byId("receipts-none").hidden = receipts.length > 0;
  byId("receipts-table").hidden = receipts.length === 0;
  byId("receipts-dialog").showModal();
}

function receiptRow({ receipt, received_at, counted }) {
  const row = byId("receipts-row").content.firstElementChild.cloneNode(true);
  const at = new Date(received_at);
  const [time, number, kept] = row.children;
  time.textContent = `${dayOf(at)}, ${clock(at)}`;
  number.textContent = receipt;
  kept.textContent = counted ? words.receiptCounted : words.receiptSurplus;
  return row;
}

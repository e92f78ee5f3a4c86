// The dialogs over the form. The browser keeps the focus inside and gives it back.

import { byId, copyOfTemplate, find, findAll } from "./dom.js";
import { get, post, Refusal, signIn } from "./label_api.js";
import { clock, data, dayOf, fill, words } from "./label_words.js";
import * as passkeys from "./passkeys.js";

/** @import { KeptReceipt } from "./label_drafts.js" */
/** @import { Assignment } from "./label_words.js" */
/** @typedef {{id: string, text: string}} Notice of an organizer to the tasker */
/** @typedef {{version: number, since: string, summary: string, clarification: string}} NewsItem of the instructions */

export function anyOpen() {
  return document.querySelector("dialog[open]") !== null;
}

/** Open the instructions at the section about the open question. */
export function openInstructions() {
  const dialog = byId("instructions-dialog", HTMLDialogElement);
  dialog.showModal();
  const field = document.querySelector("#label-form .question[open]")?.getAttribute("data-field");
  const section = field && dialog.querySelector(`[data-about="${field}"]`);
  (section || byId("instructions-title")).scrollIntoView();
}

export function closeWithButtons() {
  for (const dialog of findAll(document, "dialog", HTMLDialogElement)) {
    for (const button of findAll(dialog, "[data-close]")) button.addEventListener("click", () => dialog.close());
  }
}

/** @type {Promise<boolean> | null} */
let signingIn = null;

/**
 * Ask over the form; resolves to true once signed in, to false when put off. A second call meanwhile gets the same.
 * @param {string} address
 */
export function askToSignIn(address) {
  signingIn ??= askIn("sign-in", byId("sign-in-password"), (fields) => signingInWith(address, fields)).finally(() => {
    byId("sign-in-code").hidden = true;
    signingIn = null;
  });
  return signingIn;
}

/**
 * @param {string} address
 * @param {Record<string, string>} fields
 */
async function signingInWith(address, fields) {
  const { refused = null, needsCode = false, passkey } = await signIn(address, fields);
  byId("sign-in-code").hidden = !needsCode;
  byId(needsCode ? "sign-in-otp" : "sign-in-password", HTMLInputElement).value = "";
  offerPasskey(passkey);
  if (needsCode) byId("sign-in-otp").focus();
  return refused;
}

/**
 * Show the button that signs in with a passkey, where the account has one and the browser can.
 * @param {PublicKeyCredentialRequestOptionsJSON | undefined} options
 */
function offerPasskey(options) {
  const button = byId("sign-in-passkey", HTMLButtonElement);
  const answer = byId("sign-in-answer", HTMLInputElement);
  answer.value = "";
  button.hidden = !(options && passkeys.supported);
  button.onclick = async () => {
    if (!options) return;
    try {
      answer.value = await passkeys.sign(options);
    } catch {
      byId("sign-in-error").textContent = words.passkeyPutOff;
      return;
    }
    button.form?.requestSubmit();
  };
}

/**
 * Ask what is wrong with the picture and give it back. Resolves to true when it is gone.
 * @param {string} api
 * @param {Assignment} assignment
 * @param {() => Promise<boolean>} signInAgain
 */
export function askToReport(api, { id, lease_token }, signInAgain) {
  const first = find(byId("report-form"), "input");
  return askIn("report", first, (fields) => {
    const { kind, problem } = fields;
    return reasonNot(() => post(`${api}${id}/release/`, { lease_token, kind, problem: problem.trim() }), signInAgain);
  });
}

/**
 * Ask a question to the organizers. Resolves to true when they have it.
 * @param {string} address
 * @param {() => Promise<boolean>} signInAgain
 */
export function askQuestion(address, signInAgain) {
  const field = byId("question-text", HTMLTextAreaElement);
  return askIn("question", field, () => reasonNot(() => post(address, { text: field.value.trim() }), signInAgain));
}

/**
 * Do it; null when done, else in words why not.
 * @param {() => Promise<unknown>} act
 * @param {() => Promise<boolean>} signInAgain
 */
async function reasonNot(act, signInAgain) {
  try {
    await act();
    return null;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.needsSignIn) return error.detail;
    return (await signInAgain()) ? words.signedInSendAgain : words.signInToSend;
  }
}

/**
 * Open a dialog until `act` returns null (resolves to true) or it is closed (false); else show what `act` returns.
 * @param {string} name
 * @param {HTMLElement} field that gets the focus
 * @param {(fields: Record<string, string>) => Promise<string | null>} act
 * @returns {Promise<boolean>}
 */
function askIn(name, field, act) {
  const dialog = byId(`${name}-dialog`, HTMLDialogElement);
  const form = byId(`${name}-form`, HTMLFormElement);
  const problem = byId(`${name}-error`);
  const listening = new AbortController();
  const { signal } = listening;
  form.reset();
  problem.textContent = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ done) => {
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
        const { activeElement: active } = document;
        const isSubmit = active instanceof HTMLButtonElement && active.type === "submit";
        if (!form.contains(active) || isSubmit) field.focus();
        return undefined;
      });
    }, { signal });
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {(fields: Record<string, string>) => Promise<string | null>} act
 */
async function acting(form, act) {
  const button = find(form, "[type=submit]", HTMLButtonElement);
  button.disabled = true;
  try {
    const fields = Array.from(new FormData(form), ([name, value]) => [name, String(value)]);
    return await act(Object.fromEntries(fields));
  } catch {
    return words.noAnswer;
  } finally {
    button.disabled = false;
  }
}

// What changed in the instructions.

/**
 * Fetch what changed after `version`; null when that cannot be had just now.
 * @param {string} address
 * @param {number} version
 * @returns {Promise<NewsItem[] | null>}
 */
export async function newsSince(address, version) {
  try {
    return /** @type {NewsItem[]} */ ((await get(`${address}?since=${version}`)).data);
  } catch {
    return null;
  }
}

/**
 * Fetch the notices that the tasker has not seen; none when that cannot be had just now.
 * @param {string} address
 * @returns {Promise<Notice[]>}
 */
export async function notices(address) {
  try {
    return /** @type {Notice[]} */ ((await get(address)).data);
  } catch {
    return [];
  }
}

/**
 * Show what changed until it is acknowledged.
 * @param {NewsItem[] | null} news
 * @returns {Promise<void>}
 */
export function showNews(news) {
  const dialog = byId("news-dialog", HTMLDialogElement);
  byId("news-list").replaceChildren(...(news ?? []).map(newsItem));
  byId("news-missing").hidden = Boolean(news?.length);
  dialog.showModal();
  find(byId("news-form"), "button").focus();
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

/** @param {NewsItem} news */
function newsItem({ version, since, summary, clarification }) {
  const item = copyOfTemplate("news-item");
  find(item, "h3").textContent = fill(words.newsOf, { version, day: dayOf(new Date(since)) });
  find(item, ".summary").textContent = summary;
  find(item, ".clarification").textContent = clarification;
  return item;
}

// Receipts.

/**
 * Show the last receipts, newest first.
 * @param {KeptReceipt[]} receipts
 */
export function showReceipts(receipts) {
  byId("receipts-rows").replaceChildren(...receipts.map(receiptRow));
  byId("receipts-none").hidden = receipts.length > 0;
  byId("receipts-table").hidden = receipts.length === 0;
  byId("receipts-dialog", HTMLDialogElement).showModal();
}

/**
 * To the picture with what was said of it; in a tab of its own, since the form stays as it is.
 * @param {string} assignment
 * @param {string} receipt
 */
function linkToAnswer(assignment, receipt) {
  const link = document.createElement("a");
  link.href = `${data.myWorkUrl}${assignment}/`;
  link.target = "_blank";
  link.textContent = receipt;
  return link;
}

/** @param {KeptReceipt} kept */
function receiptRow({ assignment, receipt, received_at, counted, go }) {
  const row = copyOfTemplate("receipts-row");
  const at = new Date(received_at);
  const [time, number, kept] = row.children;
  time.textContent = `${dayOf(at)}, ${clock(at)}`;
  number.textContent = receipt;
  if (!go) number.replaceChildren(linkToAnswer(assignment, receipt));
  kept.textContent = counted ? words.receiptCounted : words.receiptSurplus;
  return row;
}

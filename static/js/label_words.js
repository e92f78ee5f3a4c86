// What the page came with, and its words: they come in the reader's language, never from a script.

/** @import { Form, Receipt } from "./label_drafts.js" */
/** @import { Notice } from "./label_dialogs.js" */
/** @import { ActionKey } from "./label_keys.js" */
/** @import { Looks } from "./label_picture.js" */
/** @import { LabelChanges } from "./outline_words.js" */
/** @typedef {"contains_bird" | "contains_bicycle"} Question */
/** @typedef {"complete" | "unoccluded" | "real"} Statement */
/** @typedef {Record<string, string>} Gate "<bird> <bicycle>", as answered -> the class that questions 3 and 4 are about */
/** @typedef {Record<string, string> & {other: string}} Forms words by plural category */
/**
 * @typedef {object} Assignment a picture to label, as the API gives it
 * @property {string} id
 * @property {string} lease_token
 * @property {{url: string, width: number, height: number}} image
 * @property {string} outline_gate
 * @property {string} tie_break
 * @property {number} instructions their version
 * @property {DraftOnServer} [draft] what was filled in before, also in another browser
 */
/** @typedef {{revision: number, saved_at: string, form?: Form}} DraftOnServer */
/**
 * @typedef {"outlines" | "corners" | "leaveOpen" | "goesOutByItself" | "waitForNetwork" | "waitForSignIn"
 *   | "takeABreak" | "nothingFreeNext" | "missingNextClosing"} CountedWord
 */
/**
 * @typedef {"questionNumber" | "statementNumbers" | "true" | "false" | "open" | "missing" | "ready"
 *   | "notSentMissing" | "noSuchStatement" | "noMessage" | "nothingToTakeBack" | "takenBack" | "missingUncrossed"
 *   | "missingClosing" | "missingChange" | "missingOutline" | "noOutlineAsked" | "answerFirst" | "nothingToClose"
 *   | "nothingTraced" | "noCornerYet" | "noCornerChosen" | "nothingToUndo" | "nothingToRedo" | "saidCannot"
 *   | "saidCanAfterAll" | "saidSentAgain" | "shortCannot" | "shortWrong" | "shortDrawing" | "notSent"
 *   | "notSentKept" | "light" | "drawn" | "drawnSoFar" | "saved" | "savedOnServer" | "notKept"
 *   | "changedElsewhere"
 *   | "answeredElsewhere" | "received" | "keptAsSurplus" | "earlier" | "surplus" | "receiptCounted"
 *   | "receiptSurplus" | "notReceived" | "nothingFree" | "nothingLeft" | "nothingLeftNext" | "noMore"
 *   | "noConnection" | "noConnectionNext" | "cameIn" | "nextPicture" | "pictureFails" | "reported"
 *   | "questionSent" | "newsOf" | "noAnswer" | "signInEnded" | "signInEndedNext" | "signInEndedGoOn"
 *   | "signInPutOff" | "wrongAccount" | "signInClosed" | "wrongPassword" | "signInAnswered" | "codeNeeded"
 *   | "wrongCode" | "wrongPasskey" | "passkeyPutOff" | "signedInSendAgain" | "signInToSend" | "changeKey"
 *   | "pressKey" | "keyUnchanged" | "keyRefused" | "keyChanged" | "keySwapped" | "keysReset" | "keysNotKept"} Word
 */
/**
 * @typedef {object} EditorWords
 * @property {LabelChanges & {needsThree: string, problems: Record<string, string>}} editor
 * @property {Record<string, string>} touchProblems in place of those of the editor, for a finger
 */
/** @typedef {Record<Word, string> & Record<CountedWord, Forms> & EditorWords} PageWords */
/**
 * @typedef {object} PageData what the server wrote into the page (labeling/pages/label_form.py)
 * @property {Assignment | null} assignment
 * @property {number} retryAfter seconds
 * @property {boolean} ahead whether pictures are loaded before they are needed
 * @property {number} breakMinutes
 * @property {number} holdSeconds for how long an answer can be taken back
 * @property {number} maxSeconds of work on a picture that the server takes
 * @property {Record<string, Gate>} gates by their name
 * @property {Record<string, Record<string, string>>} followUps words of questions 3 and 4 by class
 * @property {Record<string, string>} tieBreaks
 * @property {PageWords} words
 * @property {string} username
 * @property {string} language
 * @property {string} timeZone
 * @property {number} instructionsRead a version
 * @property {Looks} looks
 * @property {{actions: ActionKey[], hints: Record<string, string>}} keys
 * @property {Notice[]} notices
 * @property {string} api
 * @property {string} signIn
 * @property {string} preferencesUrl
 * @property {string} newsUrl
 * @property {string} noticesUrl
 * @property {string} questionsUrl
 * @property {string} myWorkUrl
 */

/** @type {PageData} */
export const data = JSON.parse(document.getElementById("page-data")?.textContent ?? "");
export const words = data.words;
// A finger has no keys to press.
if (matchMedia("(pointer: coarse)").matches) Object.assign(words.editor.problems, words.touchProblems);

const RECEIPT = /\b([0-9A-F]{4}(?:-[0-9A-F]{4}){2})\b/;
const plural = new Intl.PluralRules(data.language);
const number = new Intl.NumberFormat(data.language);
const share = new Intl.NumberFormat(data.language, { style: "percent", maximumFractionDigits: 0 });
const time = new Intl.DateTimeFormat(data.language, {
  timeStyle: "medium",
  hourCycle: "h23",
  timeZone: data.timeZone || undefined,
});
const day = new Intl.DateTimeFormat(data.language, { dateStyle: "long", timeZone: data.timeZone || undefined });
const and = new Intl.ListFormat(data.language, { type: "conjunction" });

/**
 * The template with {names} replaced by values.
 * @param {string} template
 * @param {Record<string, string | number>} values
 */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/**
 * A share in percent, in the reader's language.
 * @param {number} hundredths
 */
export function percent(hundredths) {
  return share.format(hundredths / 100);
}

/**
 * The form of `forms` for this many, with the number and further values filled in.
 * @param {Forms} forms
 * @param {number} count
 * @param {Record<string, string>} values
 */
export function counted(forms, count, values = {}) {
  return fill(forms[plural.select(count)] ?? forms.other, { ...values, count: number.format(count) });
}

/**
 * Put text into an element, its receipt codes in one piece each.
 * @param {Element} element
 * @param {string} text
 */
export function put(element, text) {
  element.replaceChildren(...text.split(RECEIPT).map((part, at) => (at % 2 ? whole(part) : part)));
}

/** @param {string} receipt */
function whole(receipt) {
  const piece = document.createElement("span");
  piece.className = "receipt";
  piece.textContent = receipt;
  return piece;
}

/**
 * The words for a receipt; `earlier` where its answer was submitted before this page was opened.
 * @param {Receipt} receipt
 * @param {boolean} earlier
 */
export function receiptWords({ receipt, received_at, counted: isCounted }, earlier) {
  const received = fill(words.received, { time: clock(new Date(received_at)), receipt });
  const all = isCounted ? received : `${received} ${words.keptAsSurplus}`;
  return earlier ? fill(words.earlier, { said: all }) : all;
}

/**
 * The time of day, in the tasker's zone.
 * @param {Date} date
 */
export function clock(date) {
  return time.format(date);
}

/**
 * The day, in the tasker's zone.
 * @param {Date} date
 */
export function dayOf(date) {
  return day.format(date);
}

/**
 * "1 and 2" in the reader's language.
 * @param {number[]} parts
 */
export function listed(parts) {
  return and.format(parts.map(String));
}

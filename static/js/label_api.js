// Calls of the labeling API from the page: the session's cookie, the CSRF token of the moment, and errors by kind.

import { csrfToken } from "./csrf.js";
import { fill, words } from "./label_words.js";

/** @typedef {Record<string, string[]>} FieldErrors what to change, by field */
/** @typedef {{code?: string, detail?: string, fields?: FieldErrors}} ErrorBody */
/** @typedef {{pictures: number, until: Date}} Held pictures that others are at; `until` is when the last lease ends */
/**
 * @template [Body=unknown]
 * @typedef {{status: number, data: Body, retryAfter: number, held: Held | null}} Reply with the seconds after which to ask
 *   again, and what others hold meanwhile
 */

const PATIENCE_MS = 20000;
const MAX_KEEPALIVE_CHARACTERS = 15_000;

/** The server said no: `status`, the stable `code`, `detail` in words, and `fields` for a 400. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {ErrorBody} body
   */
  constructor(status, { code = "", detail = "", fields = {} }) {
    super(detail);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.fields = fields;
  }

  /** Whether signing in again may help: nobody is signed in, or the page's CSRF token is an old one. */
  get needsSignIn() {
    return this.status === 401 || (this.status === 403 && this.code === "permission_denied");
  }
}

/** No answer, or one that says nothing about the request: worth the same try again. */
export class Unreachable extends Error {}

/**
 * POST `body` as JSON; throws Refusal or Unreachable.
 * @template [Body=unknown]
 * @param {string} url
 * @param {object} body
 * @returns {Promise<Reply<Body>>}
 */
export function post(url, body = {}) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrfToken() };
  const text = JSON.stringify(body);
  // It goes on when the page is left; browsers do that for small bodies alone.
  return send(url, { method: "POST", headers, body: text, keepalive: text.length < MAX_KEEPALIVE_CHARACTERS });
}

/**
 * As `post`, without a body.
 * @template [Body=unknown]
 * @param {string} url
 * @returns {Promise<Reply<Body>>}
 */
export function get(url) {
  return send(url, {});
}

/**
 * @template Body
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<Reply<Body>>}
 */
async function send(url, options) {
  const response = await reach(url, options);
  if (response.status >= 500 || response.status === 429) throw new Unreachable(`status ${response.status}`);
  const data = response.status === 204 ? null : await jsonOf(response);
  if (!response.ok) throw new Refusal(response.status, data);
  const { status, headers } = response;
  return { status, data, retryAfter: Number(headers.get("Retry-After")) || 0, held: heldByOthers(headers) };
}

/**
 * @param {Headers} headers
 * @returns {Held | null}
 */
function heldByOthers(headers) {
  const pictures = Number(headers.get("Held-By-Others"));
  return pictures ? { pictures, until: new Date(headers.get("Held-Until") ?? "") } : null;
}

/**
 * Sign in through the site's own page. Returns {} when done, else in words why nobody was signed in, whether the code of
 * a second factor is needed, and what a passkey signs in its place.
 * @param {string} url
 * @param {Record<string, string>} fields username, password, and otp or passkey where there is a second factor
 * @returns {Promise<{refused?: string, needsCode?: boolean, passkey?: PublicKeyCredentialRequestOptionsJSON}>}
 */
export async function signIn(url, { otp = "", ...fields }) {
  if (!csrfToken()) await reach(url, {});
  const body = new URLSearchParams({ ...fields, otp, csrfmiddlewaretoken: csrfToken() });
  // A redirect is the page's way to say yes; where it leads does not matter here.
  const response = await reach(url, { method: "POST", body, redirect: "manual" });
  if (response.type === "opaqueredirect") return {};
  const needsCode = response.headers.get("Second-Factor") === "needed";
  if (needsCode) {
    const options = response.headers.get("Passkey-Options");
    const refused = fields.passkey ? words.wrongPasskey : otp ? words.wrongCode : words.codeNeeded;
    return { needsCode, refused, ...(options && { passkey: JSON.parse(options) }) };
  }
  if (response.status === 429) return { refused: words.signInClosed };
  if (response.status === 200) return { refused: words.wrongPassword };
  return { refused: fill(words.signInAnswered, { status: response.status }) };
}

/**
 * @param {string} url
 * @param {RequestInit} options
 */
async function reach(url, options) {
  try {
    return await fetch(url, {
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...options,
    });
  } catch (error) {
    throw new Unreachable(String(error));
  }
}

/** @param {Response} response */
async function jsonOf(response) {
  try {
    return await response.json();
  } catch (error) {
    // A proxy's page, or an answer cut off half way.
    throw new Unreachable(String(error));
  }
}

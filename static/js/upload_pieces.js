// Sends a large file in pieces, each where the server's copy ends, so that a broken connection costs one piece at most.
// The file is known by its key: chosen again, also after a reload, it goes on where it stopped.

import { csrfToken } from "./csrf.js";

/** @typedef {{bytes?: number, code?: string, detail?: string, fields?: Record<string, string[]>}} PieceAnswer */
/** @typedef {(sent: number, broken: boolean) => void} OnSent hears how many bytes are there, and of a broken connection */

export const PIECE_BYTES = 8 * 1024 * 1024;
const MAX_WAIT_S = 30;
const SERVER_ERROR = 500;
const BUSY = 503;
// Another piece of the file arrived meanwhile, or is arriving: the server says where to go on.
const ELSEWHERE = new Set(["wrong_place", "busy"]);

/** The server said no; `answer` says why. */
export class PieceRefused extends Error {
  /** @param {PieceAnswer} answer */
  constructor(answer) {
    super(answer.detail);
    this.answer = answer;
  }
}

/** The file on this device is not the one that was chosen, or cannot be read any more. */
export class FileGone extends Error {}

/** Nobody is signed in any more. */
export class SignedOut extends Error {}

/**
 * What a file is known by: the SHA-256 of its name, size, date, beginning and end. Null where the page is not secure,
 * as browsers call it, and cannot compute one.
 * @param {File} file
 */
export async function keyOf(file) {
  if (!crypto.subtle) return null;
  const facts = new TextEncoder().encode(`${file.name}\n${file.size}\n${file.lastModified}\n`);
  const known = new Blob([facts, file.slice(0, PIECE_BYTES), file.slice(-PIECE_BYTES)]);
  const hash = await crypto.subtle.digest("SHA-256", await contentOf(known));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {Blob} piece */
function contentOf(piece) {
  return piece.arrayBuffer().catch(() => {
    throw new FileGone();
  });
}

/**
 * Send what the server lacks of a file. Throws PieceRefused or SignedOut; a broken connection is waited for.
 * @param {File} file
 * @param {string} address of its pieces
 * @param {string} query of the page, which names the team
 * @param {OnSent} onSent
 */
export async function sendPieces(file, address, query, onSent) {
  let at = -1; // where to go on; to be asked for first, and after each trouble
  let tries = 0;
  while (at < file.size) {
    const { bytes, elsewhere } = at < 0 ? await asked(address + query) : await sent(file, at, address, query);
    if (bytes !== null) {
      at = bytes;
      tries = 0;
      onSent(at, false);
    } else {
      if (!elsewhere) onSent(Math.max(at, 0), true);
      await rest(tries);
      tries += 1;
      at = -1;
    }
  }
}

/** @param {string} address */
function asked(address) {
  return bytesOf(fetch(address, { redirect: "manual", cache: "no-store", headers: { Accept: "application/json" } }));
}

/**
 * @param {File} file
 * @param {number} at
 * @param {string} address
 * @param {string} query
 */
async function sent(file, at, address, query) {
  const headers = { "Content-Type": "application/octet-stream", "X-CSRFToken": csrfToken(), Accept: "application/json" };
  const body = await contentOf(file.slice(at, at + PIECE_BYTES));
  const place = `${address}${query}${query ? "&" : "?"}at=${at}&size=${file.size}`;
  return bytesOf(fetch(place, { method: "POST", redirect: "manual", headers, body }));
}

/**
 * How much of the file the server has; null where that is not known.
 * @param {Promise<Response>} asking
 * @returns {Promise<{bytes: number | null, elsewhere?: boolean}>}
 */
async function bytesOf(asking) {
  const response = await asking.catch(() => null);
  if (!response) return { bytes: null };
  if (response.type === "opaqueredirect") throw new SignedOut();
  /** @type {PieceAnswer} */
  const answer = await response.json().catch(() => ({}));
  if (response.ok && answer.bytes !== undefined) return { bytes: answer.bytes };
  if (ELSEWHERE.has(answer.code ?? "")) return { bytes: null, elsewhere: true };
  // Without a code it is no word of the site: a proxy's page, or a server that is being restarted.
  if (response.status === BUSY || (response.status >= SERVER_ERROR && !answer.code)) return { bytes: null };
  throw new PieceRefused({ detail: `The server answered with status ${response.status}. Try again.`, ...answer });
}

/**
 * Wait a while, longer each time; not longer than until the network is back.
 * @param {number} tries
 */
function rest(tries) {
  return new Promise((resolve) => {
    const wait = Math.min(2 ** tries, MAX_WAIT_S) * 1000;
    const timer = setTimeout(done, wait);
    addEventListener("online", done);
    function done() {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve(undefined);
    }
  });
}

// What is filled in, kept on this device by assignment until the server has confirmed it.

const PREFIX = "unanimous.draft.";
const OLDEST_MS = 30 * 24 * 3600 * 1000;

/** Keep a draft. Returns the time it was kept at, or null where the device keeps nothing. */
export function keepDraft(id, draft) {
  const savedAt = Date.now();
  try {
    localStorage.setItem(PREFIX + id, JSON.stringify({ ...draft, savedAt }));
    return new Date(savedAt);
  } catch {
    return null;
  }
}

/** The draft of an assignment, or null. */
export function draftOf(id) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + id));
  } catch {
    return null;
  }
}

export function dropDraft(id) {
  try {
    localStorage.removeItem(PREFIX + id);
  } catch {
    // Storage is closed to this page; then nothing was kept either.
  }
}

/** Drafts whose answer went out and was never confirmed, as {id, sent}; very old drafts are cleared away. */
export function unconfirmedDrafts() {
  const found = [];
  for (const id of ids()) {
    const draft = draftOf(id);
    if (!draft || Date.now() - draft.savedAt > OLDEST_MS) dropDraft(id);
    else if (draft.sent) found.push({ id, sent: draft.sent });
  }
  return found;
}

function ids() {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}

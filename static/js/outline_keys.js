// Which key does what in the editor. The page may give any action other keys.

/**
 * Action -> its keys, as KeyboardEvent.key says them, letters in lower case.
 *
 * left, right, up, down: move the crosshair or the chosen corner by 1 px; with Shift 10 px, with Ctrl or Cmd 50 px, with
 * Alt 0.1 px.
 * place: a corner at the crosshair; on the first corner, or while the mouse draws, close the ring.
 * hold: the same when let go, and held down it moves the picture under the mouse.
 * close: close the ring. previous, next: choose a corner. insert: a corner after the chosen one.
 * remove: the chosen corner, or the last one placed. leave: let the corner go, or give up the ring being drawn.
 * fewer, more: corners of the line traced last. zoomIn, zoomOut, fit: as the methods of the editor.
 * Undo and redo are Ctrl+Z and Ctrl+Y or Ctrl+Shift+Z, with Cmd on a Mac, as everywhere.
 */
/** @type {Readonly<Record<string, string[]>>} */
export const KEYS = Object.freeze({
  left: ["ArrowLeft"],
  right: ["ArrowRight"],
  up: ["ArrowUp"],
  down: ["ArrowDown"],
  place: ["Enter"],
  hold: [" "],
  close: ["c"],
  previous: ["[", "PageUp"],
  next: ["]", "PageDown"],
  insert: ["i"],
  remove: ["Delete", "Backspace"],
  leave: ["Escape"],
  fewer: [","],
  more: ["."],
  zoomIn: ["+", "="],
  zoomOut: ["-"],
  fit: ["0"],
});

/** The keys of one editor: KEYS, with the actions in `changes` given other ones, one key or several. */
export class Keys {
  /** @type {Record<string, string | string[]>} */
  #keys;
  /** @type {Map<string, string>} */
  #actions = new Map();

  /** @param {Record<string, string | string[]>} changes */
  constructor(changes = {}) {
    this.#keys = { ...KEYS, ...changes };
    // What the page changed comes last, so that it wins over a key that an action has by default.
    for (const action of [...Object.keys(KEYS), ...Object.keys(changes)]) {
      for (const key of [this.#keys[action]].flat()) this.#actions.set(plain(key), action);
    }
  }

  /** @param {{key: string}} event */
  actionOf({ key }) {
    return this.#actions.get(plain(key)) ?? null;
  }

  /**
   * The key to name to a person for an action; empty when it has none.
   * @param {string} action
   */
  nameOf(action) {
    const [key = ""] = [this.#keys[action]].flat();
    return key.length === 1 ? key.toUpperCase() : key;
  }
}

/** @param {string} key */
function plain(key) {
  return key.length === 1 ? key.toLowerCase() : key;
}

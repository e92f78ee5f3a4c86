// Whether the page is in use: then leases are renewed, and after a long time without a pause a break is suggested.

const BEAT_MS = 60 * 1000;
const IDLE_MS = 10 * 60 * 1000;
const PAUSE_MS = 5 * 60 * 1000;
const WORK = "unanimous.work";

export class Use {
  #onBeat;
  #onBreak;
  #breakMs;
  #used = Date.now();
  #beaten = Date.now();

  /**
   * @param {object} options
   * @param {() => void} options.onBeat is called once a minute while the page is seen and used, and at once when somebody
   *   comes back to it
   * @param {(minutes: number) => void} options.onBreak is called after `breakMinutes` without a pause of five, and again
   *   after as many more
   * @param {number} options.breakMinutes
   */
  constructor({ onBeat, onBreak, breakMinutes }) {
    this.#onBeat = onBeat;
    this.#onBreak = onBreak;
    this.#breakMs = breakMinutes * 60 * 1000;
  }

  start() {
    for (const type of ["keydown", "pointerdown", "wheel"]) {
      document.addEventListener(type, () => this.#use(), { passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#use();
    });
    setInterval(() => this.#beat(), BEAT_MS);
    this.#use();
  }

  #use() {
    this.#used = Date.now();
    if (this.#used - this.#beaten > BEAT_MS) this.#beat();
    this.#work();
  }

  #beat() {
    if (document.visibilityState !== "visible" || Date.now() - this.#used > IDLE_MS) return;
    this.#beaten = Date.now();
    this.#onBeat();
  }

  #work() {
    const now = Date.now();
    const { since, last } = stored();
    const goesOn = last <= now && now - last < PAUSE_MS;
    const began = goesOn ? since : now;
    const due = now - began >= this.#breakMs;
    store({ since: due ? now : began, last: now });
    if (due) this.#onBreak(Math.round((now - began) / 60000));
  }
}

/** @typedef {{since: number, last: number}} Work when it began, and when the page was used last */

// Work goes on over a reload and in another window.

/** @type {Work} */
let remembered = { since: 0, last: 0 };

/** @returns {Work} */
function stored() {
  try {
    return JSON.parse(localStorage.getItem(WORK) ?? "null") ?? remembered;
  } catch {
    return remembered;
  }
}

/** @param {Work} work */
function store(work) {
  remembered = work;
  try {
    localStorage.setItem(WORK, JSON.stringify(work));
  } catch {
    // Storage is closed to this page: then it counts from when the page was opened.
  }
}

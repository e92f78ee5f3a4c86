// What this device keeps until the server has it, in IndexedDB: drafts of pictures not yet answered, answers that were
// submitted and not yet confirmed (the outbox), and the last receipts.
//
// A draft has a revision that grows with every change. A write never replaces a higher revision, nor what was
// submitted: the check and the write are one transaction, and IndexedDB runs those one after the other, over all tabs.

/** @import { Line } from "./geometry_plane.js" */
/** @import { Drawing } from "./outline_drawing.js" */
/** @import { Steps } from "./outline_steps.js" */
/** @import { Assignment, Question, Statement } from "./label_words.js" */
/** @typedef {Partial<Record<Question, string | null>>} Answers to questions 1 and 2 */
/** @typedef {Partial<Record<Statement, boolean | null>>} Statements of question 4 */
/** @typedef {{drawing: Drawing, steps?: Steps, statements: Statements, cannotOutline: boolean}} ClassWork of one class */
/**
 * @typedef {object} Form what is filled in, to be kept and filled in again
 * @property {Answers} [answers]
 * @property {Statements} [statements]
 * @property {boolean} [cannotOutline]
 * @property {Drawing} [drawing]
 * @property {Steps} [steps] of the drawing's history
 * @property {string | null} [askedLast] the class that the drawing belongs to
 * @property {Record<string, ClassWork>} [kept] by class, for when an answer changes back
 * @property {number} [seconds] of work
 */
/** @typedef {{revision: number, base?: number, savedAt?: number, form?: Form}} Draft `base`: the server's before it */
/** @typedef {Draft & {assignment: string, account: string, savedAt: number}} KeptDraft */
/** @typedef {{lease_token: string, outline: Line[] | null, seconds: number} & Answers & Statements} Answer as it is sent */
/**
 * @typedef {object} SubmittedAnswer
 * @property {string} assignment
 * @property {string} api the address that takes it
 * @property {Assignment} shown
 * @property {Answer} answer
 * @property {Form} form
 * @property {number} revision
 * @property {number} [base] as of the draft; entries of earlier pages do not have it
 * @property {number} [sendAt] until then it can be taken back, in milliseconds as of Date.now()
 */
/** @typedef {SubmittedAnswer & {account: string, order: number}} QueuedAnswer */
/** @typedef {{receipt: string, received_at: string, counted: boolean, go?: string}} Receipt `go` leads to the next page */
/** @typedef {Partial<Receipt> & {assignment: string, account: string, settledAt: number}} SettledAnswer */
/** @typedef {SettledAnswer & Receipt} KeptReceipt */
/**
 * @typedef {object} WindowNews
 * @property {string} [drafted] the id of an assignment whose draft has changed
 * @property {number} [revision] of that draft
 * @property {string} [queued] the id of an assignment that was submitted
 * @property {string} [settled] the id of an assignment whose answer is settled
 */
/** @typedef {{savedAt?: Date, newer?: true, submitted?: true, unkept?: true}} Kept what came of keeping a draft */
/**
 * @template Row
 * @typedef {object} Store an object store whose requests are promises
 * @property {(key: string) => Promise<Row | undefined>} get
 * @property {() => Promise<Row[]>} all
 * @property {(row: Row) => Promise<unknown>} put
 * @property {(key: string) => Promise<unknown>} delete
 */
/** @typedef {{drafts: Store<KeptDraft>, outbox: Store<QueuedAnswer>, receipts: Store<SettledAnswer>}} Stores */

const DATABASE = "unanimous";
const DAY_MS = 24 * 3600 * 1000;
const MAX_DRAFT_AGE_MS = 14 * DAY_MS;
const MAX_RECEIPTS = 50;
const STORES = ["drafts", "outbox", "receipts"];

export class Device {
  #account;
  /** @type {Promise<IDBDatabase> | null} */
  #database = null;
  // What the database would not take. It lasts as long as the page does.
  /** @type {{drafts: Map<string, KeptDraft>, outbox: Map<string, QueuedAnswer>}} */
  #unkept = { drafts: new Map(), outbox: new Map() };
  /** @type {Set<string>} */
  #done = new Set(); // ids of answers that the database would not let go: this page never sends them again
  #order = 0;

  /** @param {string} account the user name: what others left on this device is neither shown nor sent */
  constructor(account) {
    this.#account = account;
  }

  /** Whether something would be gone with this page. */
  get mayLose() {
    return this.#unkept.drafts.size + this.#unkept.outbox.size > 0;
  }

  /** Clear old drafts away, whoever left them. Returns whether this device keeps anything at all. */
  async open() {
    try {
      await this.#run(async ({ drafts }) => {
        const old = Date.now() - MAX_DRAFT_AGE_MS;
        for (const { assignment, savedAt } of await drafts.all()) {
          if (savedAt < old) await drafts.delete(assignment);
        }
      });
      return true;
    } catch {
      return false;
    }
  }

  /** Ask the browser not to clear this away when space gets short. A no changes nothing. */
  async askToPersist() {
    const storage = navigator.storage;
    if (!storage?.persist || (await storage.persisted())) return;
    await storage.persist();
  }

  /**
   * The draft of an assignment, or null.
   * @param {string} assignment
   * @returns {Promise<KeptDraft | null>}
   */
  async draftOf(assignment) {
    const unkept = this.#unkept.drafts.get(assignment);
    if (unkept) return unkept;
    const draft = await this.#run(({ drafts }) => drafts.get(assignment), "readonly").catch(() => null);
    return draft && draft.account === this.#account ? draft : null;
  }

  /**
   * Keep a draft. Returns {savedAt}; {newer: true} where another window has kept a later one; {submitted: true} where
   * the answer is on its way or received already; and {unkept: true} where this device takes nothing.
   * @param {string} assignment
   * @param {number} revision
   * @param {Form} form
   * @param {number} [base] the revision of the server's draft that it began from
   * @returns {Promise<Kept>}
   */
  async keep(assignment, revision, form, base = 0) {
    const draft = { assignment, account: this.#account, revision, base, savedAt: Date.now(), form };
    try {
      const refused = await this.#run(async ({ drafts, outbox, receipts }) => {
        /** @type {Kept | null} */
        let reason = null;
        const before = await drafts.get(assignment);
        const queued = !this.#done.has(assignment) && (await outbox.get(assignment));
        if (queued || (await receipts.get(assignment))) reason = { submitted: true };
        else if (before && before.revision >= revision) reason = { newer: true };
        else {
          await drafts.put(draft);
          await outbox.delete(assignment); // what came back and could not be taken out: the next page would send it
        }
        return reason;
      });
      this.#unkept.drafts.delete(assignment);
      if (!refused) this.#done.delete(assignment);
      return refused ?? { savedAt: new Date(draft.savedAt) };
    } catch {
      this.#unkept.drafts.set(assignment, draft);
      return { unkept: true };
    }
  }

  /** @param {string} assignment */
  async dropDraft(assignment) {
    this.#unkept.drafts.delete(assignment);
    await this.#run(({ drafts }) => drafts.delete(assignment)).catch(() => {});
  }

  /**
   * Put an answer into the outbox in place of its draft, in one transaction. Returns whether it is kept; where it is
   * not, the outbox of this page has it all the same.
   * @param {SubmittedAnswer} entry
   */
  async queue(entry) {
    this.#order = Math.max(this.#order + 1, Date.now());
    const queued = { ...entry, account: this.#account, order: this.#order };
    this.#unkept.drafts.delete(entry.assignment);
    try {
      await this.#run(async ({ drafts, outbox }) => {
        await outbox.put(queued);
        await drafts.delete(entry.assignment);
      }, "readwrite", "strict");
      this.#done.delete(entry.assignment);
      return true;
    } catch {
      this.#unkept.outbox.set(entry.assignment, queued);
      return false;
    }
  }

  /** The answers of this account that are not confirmed yet, in the order in which they were given. */
  async outbox() {
    /** @type {QueuedAnswer[]} */
    const kept = await this.#run(({ outbox }) => outbox.all(), "readonly").catch(() => []);
    const mine = kept.filter(({ account, assignment }) => account === this.#account && !this.#done.has(assignment));
    return [...mine, ...this.#unkept.outbox.values()].sort((one, other) => one.order - other.order);
  }

  /**
   * The server has an answer: with `receipt` this one, without one that was given elsewhere.
   * @param {string} assignment
   * @param {Receipt | null} receipt
   */
  async settle(assignment, receipt = null) {
    this.#unkept.drafts.delete(assignment);
    const known = { ...receipt, assignment, account: this.#account, settledAt: Date.now() };
    await this.#takeOut(assignment, async ({ drafts, receipts }) => {
      await drafts.delete(assignment);
      await receipts.put(known);
      const old = (await receipts.all()).sort((one, other) => other.settledAt - one.settledAt).slice(MAX_RECEIPTS);
      for (const each of old) await receipts.delete(each.assignment);
    });
  }

  /**
   * The server wants an answer changed: it becomes a draft again.
   * @param {QueuedAnswer} answer
   * @returns {Promise<KeptDraft>}
   */
  async giveBack({ assignment, revision, base = 0, form }) {
    const draft = { assignment, account: this.#account, revision: revision + 1, base, savedAt: Date.now(), form };
    const isKept = await this.#takeOut(assignment, ({ drafts }) => drafts.put(draft));
    if (!isKept) this.#unkept.drafts.set(assignment, draft);
    return draft;
  }

  /**
   * Take an answer out of the outbox, in one transaction with `work`. A full device may refuse what that puts: then the
   * answer is taken out alone, since one that stays would be sent again at once. Returns whether `work` was done.
   * @param {string} assignment
   * @param {(stores: Stores) => Promise<unknown>} work
   */
  async #takeOut(assignment, work) {
    this.#unkept.outbox.delete(assignment);
    try {
      await this.#run(async (stores) => {
        await stores.outbox.delete(assignment);
        await work(stores);
      });
      return true;
    } catch {
      await this.#run(({ outbox }) => outbox.delete(assignment)).catch(() => this.#done.add(assignment));
      return false;
    }
  }

  /**
   * The last receipts of this account, newest first.
   * @returns {Promise<KeptReceipt[]>}
   */
  async receipts() {
    /** @type {SettledAnswer[]} */
    const all = await this.#run(({ receipts }) => receipts.all(), "readonly").catch(() => []);
    return all
      .filter(({ account }) => account === this.#account)
      .filter(isReceipt)
      .sort((one, other) => other.settledAt - one.settledAt);
  }

  /**
   * One transaction over all stores. `work` may wait for nothing but the stores it is given.
   * @template Result
   * @param {(stores: Stores) => Promise<Result>} work
   * @param {IDBTransactionMode} mode
   * @param {IDBTransactionDurability} durability
   * @returns {Promise<Result>}
   */
  async #run(work, mode = "readwrite", durability = "relaxed") {
    const database = await this.#opened();
    const transaction = database.transaction(STORES, mode, { durability });
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(undefined);
      transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
    });
    const stores = Object.fromEntries(STORES.map((name) => [name, promised(transaction.objectStore(name))]));
    const working = work(/** @type {Stores} */ (/** @type {unknown} */ (stores))).catch((error) => {
      transaction.abort();
      throw error;
    });
    return (await Promise.all([working, done]))[0];
  }

  #opened() {
    this.#database ??= openDatabase(() => {
      this.#database = null;
    }).catch((error) => {
      this.#database = null;
      throw error;
    });
    return this.#database;
  }
}

/** Windows of this browser that label for the same account: each hears what the others have done. */
export class Windows {
  #account;
  #channel = new BroadcastChannel("unanimous.labeling");

  /** @param {string} account */
  constructor(account) {
    this.#account = account;
  }

  /** @param {WindowNews} news */
  send(news) {
    this.#channel.postMessage({ ...news, account: this.#account });
  }

  /** @param {(news: WindowNews) => void} onNews */
  listen(onNews) {
    this.#channel.addEventListener("message", ({ data: { account, ...news } }) => {
      if (account === this.#account) onNews(news);
    });
  }
}

/**
 * @param {SettledAnswer} settled
 * @returns {settled is KeptReceipt}
 */
function isReceipt(settled) {
  return Boolean(settled.receipt);
}

/**
 * Open the database; `onGone` is called when the browser, or a newer page, has closed it.
 * @param {() => void} onGone
 * @returns {Promise<IDBDatabase>}
 */
function openDatabase(onGone) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      for (const name of STORES) request.result.createObjectStore(name, { keyPath: "assignment" });
    };
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked"));
    request.onsuccess = () => {
      const database = request.result;
      database.onclose = onGone;
      database.onversionchange = () => {
        database.close();
        onGone();
      };
      resolve(database);
    };
  });
}

/**
 * @param {IDBObjectStore} store
 * @returns {Store<unknown>}
 */
function promised(store) {
  /**
   * @template Result
   * @param {IDBRequest<Result>} request
   * @returns {Promise<Result>}
   */
  const wait = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  return {
    get: (key) => wait(store.get(key)),
    all: () => wait(store.getAll()),
    put: (value) => wait(store.put(value)),
    delete: (key) => wait(store.delete(key)),
  };
}

// What this device keeps until the server has it, in IndexedDB: drafts of pictures not yet answered, answers that were
// submitted and not yet confirmed (the outbox), and the last receipts.
//
// A draft has a revision that grows with every change. A write never replaces a higher revision, nor what was
// submitted: the check and the write are one transaction, and IndexedDB runs those one after the other, over all tabs.

const DATABASE = "unanimous";
const DAY_MS = 24 * 3600 * 1000;
const OLDEST_DRAFT_MS = 14 * DAY_MS;
const MOST_RECEIPTS = 50;
const STORES = ["drafts", "outbox", "receipts"];

export class Device {
  #account;
  #database = null; // a promise of the open database
  // What the database would not take. It lasts as long as the page does.
  #unkept = { drafts: new Map(), outbox: new Map() };
  #order = 0;

  /** `account` is the user name: what others left on this device is neither shown nor sent. */
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
        const old = Date.now() - OLDEST_DRAFT_MS;
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

  /** The draft of an assignment as {revision, savedAt, form}, or null. */
  async draftOf(assignment) {
    const unkept = this.#unkept.drafts.get(assignment);
    if (unkept) return unkept;
    const draft = await this.#run(({ drafts }) => drafts.get(assignment), "readonly").catch(() => null);
    return draft?.account === this.#account ? draft : null;
  }

  /**
   * Keep a draft. Returns {savedAt}; {newer: true} where another window has kept a later one; {submitted: true} where
   * the answer is on its way or received already; and {unkept: true} where this device takes nothing.
   */
  async keep(assignment, revision, form) {
    const draft = { assignment, account: this.#account, revision, savedAt: Date.now(), form };
    try {
      const refused = await this.#run(async ({ drafts, outbox, receipts }) => {
        if ((await outbox.get(assignment)) || (await receipts.get(assignment))) return { submitted: true };
        if ((await drafts.get(assignment))?.revision >= revision) return { newer: true };
        return void (await drafts.put(draft));
      });
      this.#unkept.drafts.delete(assignment);
      return refused ?? { savedAt: new Date(draft.savedAt) };
    } catch {
      this.#unkept.drafts.set(assignment, draft);
      return { unkept: true };
    }
  }

  async dropDraft(assignment) {
    this.#unkept.drafts.delete(assignment);
    await this.#run(({ drafts }) => drafts.delete(assignment)).catch(() => {});
  }

  /**
   * Put an answer into the outbox in place of its draft, in one transaction. Returns whether it is kept; where it is
   * not, the outbox of this page has it all the same.
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
      return true;
    } catch {
      this.#unkept.outbox.set(entry.assignment, queued);
      return false;
    }
  }

  /** The answers of this account that are not confirmed yet, in the order in which they were given. */
  async outbox() {
    const kept = await this.#run(({ outbox }) => outbox.all(), "readonly").catch(() => []);
    const mine = kept.filter(({ account }) => account === this.#account);
    return [...mine, ...this.#unkept.outbox.values()].sort((one, other) => one.order - other.order);
  }

  /** The server has an answer: with `receipt` this one, without one that was given elsewhere. */
  async settle(assignment, receipt = null) {
    this.#unkept.outbox.delete(assignment);
    this.#unkept.drafts.delete(assignment);
    const known = { ...receipt, assignment, account: this.#account, settledAt: Date.now() };
    await this.#run(async ({ drafts, outbox, receipts }) => {
      await outbox.delete(assignment);
      await drafts.delete(assignment);
      await receipts.put(known);
      const old = (await receipts.all()).sort((one, other) => other.settledAt - one.settledAt).slice(MOST_RECEIPTS);
      for (const each of old) await receipts.delete(each.assignment);
    }).catch(() => {});
  }

  /** The server wants an answer changed: it becomes a draft again. */
  async giveBack({ assignment, revision, form }) {
    const draft = { assignment, account: this.#account, revision: revision + 1, savedAt: Date.now(), form };
    this.#unkept.outbox.delete(assignment);
    try {
      await this.#run(async ({ drafts, outbox }) => {
        await outbox.delete(assignment);
        await drafts.put(draft);
      });
    } catch {
      this.#unkept.drafts.set(assignment, draft);
    }
    return draft;
  }

  /** The last receipts of this account, newest first. */
  async receipts() {
    const all = await this.#run(({ receipts }) => receipts.all(), "readonly").catch(() => []);
    return all
      .filter(({ account, receipt }) => account === this.#account && receipt)
      .sort((one, other) => other.settledAt - one.settledAt);
  }

  /** One transaction over all stores. `work` may wait for nothing but the stores it is given. */
  async #run(work, mode = "readwrite", durability = "relaxed") {
    const database = await this.#opened();
    const transaction = database.transaction(STORES, mode, { durability });
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
    });
    const stores = Object.fromEntries(STORES.map((name) => [name, promised(transaction.objectStore(name))]));
    const working = work(stores).catch((error) => {
      transaction.abort();
      throw error;
    });
    return (await Promise.all([working, done]))[0];
  }

  #opened() {
    this.#database ??= opened(() => {
      this.#database = null;
    }).catch((error) => {
      this.#database = null;
      throw error;
    });
    return this.#database;
  }
}

/** Open the database; `onGone` is called when the browser, or a newer page, has closed it. */
function opened(onGone) {
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

/** An object store whose requests are promises. */
function promised(store) {
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

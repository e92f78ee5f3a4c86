// What this device keeps: drafts, the outbox and the receipts, in a database as the browser has it.
import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { IDBFactory } from "fake-indexeddb";

import { Device } from "../../static/js/label_drafts.js";

const DAY_MS = 24 * 3600 * 1000;
const form = (bird) => ({ answers: { contains_bird: bird } });
const answer = (assignment, revision = 1) => ({ assignment, api: "/api/", shown: {}, answer: {}, form: form("unsure_no"), revision });
const receipt = (number) => ({ receipt: `R-${number}`, received_at: "2026-11-24T12:00:00Z", counted: true });
const names = (rows) => rows.map((row) => row.assignment);

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
  mock.timers.reset();
  mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
});

for (const [first, second, kept, result, why] of [
  [1, 2, 2, "savedAt", "a later revision replaces an earlier one"],
  [2, 1, 2, "newer", "an earlier one, of another window, does not replace a later one"],
  [2, 2, 2, "newer", "of two windows with the same revision the first one is kept"],
]) {
  test(`a draft is kept by its revision: ${why}`, async () => {
    const [here, elsewhere] = [new Device("tara"), new Device("tara")];
    assert.ok((await here.keep("A-1", first, form("first"))).savedAt);
    assert.ok((await elsewhere.keep("A-1", second, form("second")))[result]);
    assert.equal((await here.draftOf("A-1")).revision, kept);
  });
}

test("an answer takes the place of its draft, and no draft comes after it", async () => {
  const device = new Device("tara");
  await device.keep("A-1", 1, form("definitely_yes"));
  assert.equal(await device.queue(answer("A-1")), true);
  assert.equal(await device.draftOf("A-1"), null);
  assert.deepEqual(await device.keep("A-1", 2, form("definitely_no")), { submitted: true });
  await device.settle("A-1", receipt(1));
  assert.deepEqual(await device.keep("A-1", 3, form("definitely_no")), { submitted: true }, "nor after its receipt");
  assert.deepEqual(names(await device.outbox()), []);
});

test("the outbox has the answers in their order, also those of one millisecond", async () => {
  const device = new Device("tara");
  for (const each of ["A-2", "A-1", "A-3"]) await device.queue(answer(each));
  assert.deepEqual(names(await new Device("tara").outbox()), ["A-2", "A-1", "A-3"]);
});

test("an answer that the server refuses becomes a draft again, of a later revision", async () => {
  const device = new Device("tara");
  await device.queue(answer("A-1", 4));
  const [queued] = await device.outbox();
  const draft = await device.giveBack(queued);
  assert.deepEqual([draft.revision, draft.form], [5, form("unsure_no")]);
  assert.deepEqual(await device.outbox(), []);
  assert.equal((await device.draftOf("A-1")).revision, 5);
});

for (const [base, then, why] of [
  [7, 7, "the server's draft that it began from stays known"],
  [undefined, 0, "an entry of an earlier page does not say it"],
]) {
  test(`an answer that comes back is a draft that follows the same one: ${why}`, async () => {
    const device = new Device("tara");
    await device.queue({ ...answer("A-1", 8), base });
    const [queued] = await device.outbox();
    assert.equal((await device.giveBack(queued)).base, then);
    assert.equal((await device.draftOf("A-1")).base, then);
  });
}

test("what another account left on this device is neither shown nor sent", async () => {
  const tara = new Device("tara");
  await tara.keep("A-1", 1, form("definitely_yes"));
  await tara.queue(answer("A-2"));
  await tara.settle("A-3", receipt(3));
  const tom = new Device("tom");
  assert.deepEqual([await tom.draftOf("A-1"), await tom.outbox(), await tom.receipts()], [null, [], []]);
});

test("drafts of two weeks ago are cleared away, later ones are not", async () => {
  const device = new Device("tara");
  await device.keep("A-old", 1, form("unsure_no"));
  mock.timers.tick(DAY_MS);
  await device.keep("A-new", 1, form("unsure_no"));
  mock.timers.tick(13 * DAY_MS + 1);
  assert.equal(await device.open(), true);
  assert.deepEqual([await device.draftOf("A-old"), (await device.draftOf("A-new")).revision], [null, 1]);
});

test("the last fifty receipts stay, newest first; what was answered elsewhere has none", async () => {
  const device = new Device("tara");
  for (let number = 1; number <= 52; number += 1) {
    await device.settle(`A-${number}`, number === 52 ? null : receipt(number));
    mock.timers.tick(1);
  }
  const kept = (await device.receipts()).map((each) => each.receipt);
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [49, "R-51", "R-3"]);
});

for (const [calls, inDatabase, why] of [
  [["put"], [], "a full device takes nothing more"],
  [["put", "delete"], ["A-1"], "it lets nothing go either"],
]) {
  for (const [end, leave] of [
    ["comes back", (device, queued) => device.giveBack(queued)],
    ["is received", (device) => device.settle("A-1", receipt(1))],
  ]) {
    test(`an answer that ${end} is not sent once more, where ${why}`, async (context) => {
      const device = new Device("tara");
      await device.queue(answer("A-1", 4));
      const [queued] = await device.outbox();
      const store = globalThis.IDBObjectStore.prototype;
      const full = () => { throw new DOMException("full", "QuotaExceededError"); };
      const broken = calls.map((call) => context.mock.method(store, call, full));
      await leave(device, queued);
      assert.deepEqual(names(await device.outbox()), []);
      assert.equal((await device.draftOf("A-1"))?.revision, end === "comes back" ? 5 : undefined);
      for (const each of broken) each.mock.restore();
      assert.deepEqual(names(await new Device("tara").outbox()), inDatabase, "nor by the next page");
      await device.queue(answer("A-1", 6));
      assert.deepEqual((await device.outbox()).map((each) => each.revision), [6], "what follows it goes out");
    });
  }
}

test("an answer that came back, where the device lets nothing go, stays a draft and is never sent", async (context) => {
  const device = new Device("tara");
  await device.queue(answer("A-1", 4));
  const [queued] = await device.outbox();
  const store = globalThis.IDBObjectStore.prototype;
  const full = () => { throw new DOMException("full", "QuotaExceededError"); };
  const broken = ["put", "delete"].map((call) => context.mock.method(store, call, full));
  await device.giveBack(queued);
  assert.deepEqual(await device.keep("A-1", 6, form("definitely_no")), { unkept: true });
  assert.equal((await device.draftOf("A-1")).revision, 6, "the next stroke is in this page");
  for (const each of broken) each.mock.restore();
  assert.ok((await device.keep("A-1", 7, form("definitely_no"))).savedAt);
  const next = new Device("tara");
  assert.deepEqual([(await next.draftOf("A-1")).revision, await next.outbox()], [7, []]);
});

test("where the browser keeps nothing the page does, and says that it may lose it", async () => {
  globalThis.indexedDB = { open: () => { throw new Error("private window"); } };
  const device = new Device("tara");
  assert.equal(await device.open(), false);
  assert.deepEqual(await device.keep("A-1", 1, form("unsure_no")), { unkept: true });
  assert.equal(await device.queue(answer("A-2")), false);
  assert.deepEqual([(await device.draftOf("A-1")).revision, names(await device.outbox()), device.mayLose], [1, ["A-2"], true]);
  await device.settle("A-2", receipt(2));
  await device.dropDraft("A-1");
  assert.equal(device.mayLose, false);
});

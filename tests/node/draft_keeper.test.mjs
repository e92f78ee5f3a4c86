// The draft on screen, as it goes to the server. What is on screen and what the server says are small stand-ins here;
// the browser's journeys have the real ones.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

const data = { language: "en", timeZone: "UTC", words: {}, ahead: true, api: "/api/" };
globalThis.document = { cookie: "", getElementById: () => ({ textContent: JSON.stringify(data) }) };
globalThis.matchMedia = () => ({ matches: false });
globalThis.window = globalThis;
const { DraftKeeper } = await import("../../static/js/label_draft_keeper.js");

const REST_MS = 2_500;
const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

/** A keeper with picture A on screen. `sent` has each draft that went out, with what makes its exchange end. */
function keeping() {
  const sent = [];
  const pictures = { current: { id: "A", lease_token: "" } };
  globalThis.fetch = (url, { body }) =>
    new Promise((resolve, fail) => {
      const { revision } = JSON.parse(body);
      const reply = { revision, saved_at: "2026-11-24T12:00:00Z" };
      const stored = () => resolve(new Response(JSON.stringify(reply)));
      sent.push({ what: [url, revision], stored, lost: () => fail(new TypeError("the network is away")) });
    });
  const keeper = new DraftKeeper(
    {
      bar: { showSaved: () => {} },
      device: { keep: async () => ({ savedAt: new Date() }) },
      pictures,
      sheet: { draft: {} },
      windows: { send: () => {} },
    },
    { isOnScreen: (id) => id === pictures.current.id, answeredElsewhere: () => {} },
  );
  const rest = async () => {
    mock.timers.tick(REST_MS);
    await settled();
  };
  const change = async () => {
    await keeper.keep();
    await rest();
  };
  return { keeper, pictures, sent, change, rest };
}

const drafts = (sent) => sent.map(({ what }) => what);

test("a draft goes out a moment after the last change, and once", async () => {
  const { sent, change, rest } = keeping();
  await change();
  sent[0].stored();
  await settled();
  await rest();
  assert.deepEqual(drafts(sent), [["/api/A/draft/", 1]]);
});

test("a change that rests while an exchange is lost goes out after it, without another change", async () => {
  const { sent, change, rest } = keeping();
  await change();
  await change();
  assert.equal(sent.length, 1, "one at a time");
  sent[0].lost();
  await settled();
  await rest();
  assert.deepEqual(drafts(sent), [["/api/A/draft/", 1], ["/api/A/draft/", 2]]);
});

test("a change that rests while another picture's draft is on its way goes out after it", async () => {
  const { keeper, pictures, sent, change, rest } = keeping();
  await change();
  pictures.current = { id: "B", lease_token: "" };
  keeper.begin(null);
  await change();
  sent[0].stored();
  await settled();
  await rest();
  assert.deepEqual(drafts(sent), [["/api/A/draft/", 1], ["/api/B/draft/", 1]]);
});

test("a draft that is lost goes out with the next change", async () => {
  const { sent, change, rest } = keeping();
  await change();
  sent[0].lost();
  await settled();
  await rest();
  assert.equal(sent.length, 1, "no loop while the server cannot be reached");
  await change();
  assert.deepEqual(drafts(sent), [["/api/A/draft/", 1], ["/api/A/draft/", 2]]);
});

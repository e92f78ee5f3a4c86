// The pictures at hand.
import assert from "node:assert/strict";
import { test } from "node:test";

const data = { language: "en", timeZone: "UTC", words: {} };
globalThis.document = { cookie: "", getElementById: () => ({ textContent: JSON.stringify(data) }) };
globalThis.matchMedia = () => ({ matches: false });
globalThis.window = globalThis;
globalThis.Image = class {
  async decode() {}
};
const { Pictures } = await import("../../static/js/label_pictures.js");

for (const [meanwhile, ahead, why] of [
  [() => {}, ["A-1"], "nothing happened"],
  [(pictures) => pictures.submitted("A-1"), [], "another window put its answer into the outbox"],
]) {
  test(`a leased picture is kept ready once its draft is read: ${why}`, async () => {
    const onAhead = [];
    const pictures = new Pictures("/api/", {
      most: 2,
      draftOf: async () => meanwhile(pictures) ?? null,
      onAhead: ({ id }) => onAhead.push(id),
      onStopped: () => {},
    });
    await pictures.add({ id: "A-1", image: { url: "/1" } });
    assert.deepEqual([pictures.held.map(({ id }) => id), onAhead], [ahead, ahead]);
  });
}

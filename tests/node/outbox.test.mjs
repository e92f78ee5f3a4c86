// The outbox: oldest first, the very same bytes until the server has said what became of them. The server and what the
// device keeps are small stand-ins here; the browser's journeys have the real ones.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = {
  cookie: "csrftoken=of-this-moment",
  getElementById: () => ({ textContent: JSON.stringify({ language: "en", timeZone: "UTC", words: {} }) }),
};
globalThis.matchMedia = () => ({ matches: false });
globalThis.addEventListener = () => {};
globalThis.navigator ??= {};
const { Outbox } = await import("../../static/js/label_outbox.js");

const answered = (status, data) => new Response(JSON.stringify(data), { status });
const receipt = (number) => answered(201, { receipt: `R-${number}` });
const refusal = (status, code) => answered(status, { code, detail: "No." });
const lost = () => Promise.reject(new TypeError("the network is away"));

/** An answer in the outbox, which can be taken back for some milliseconds from now. */
function queued(assignment, held = 0) {
  return { assignment, api: "/api/", answer: { assignment }, order: Date.now(), sendAt: Date.now() + held };
}

/** An outbox with answers in it; the server says `answers`, one after the other. Returns what went out and was told. */
async function send(waiting, answers, { signIn = () => true, room = () => null, during = () => {}, held = {} } = {}) {
  const told = { sent: [], told: [], kept: waiting.map((assignment) => queued(assignment, held[assignment])) };
  const settle = async (assignment) => {
    told.kept = told.kept.filter((entry) => entry.assignment !== assignment);
  };
  const device = {
    outbox: async () => [...told.kept],
    settle,
    giveBack: async ({ assignment }) => (await settle(assignment), { draftOf: assignment }),
  };
  const tell = (name) => (...about) => void told.told.push([name, ...about]);
  const outbox = new Outbox(device, "tara", {
    room,
    next: async ({ id }) => tell("next")(id),
    received: ({ assignment }, { receipt: code }) => tell("received")(assignment, code),
    refused: ({ assignment }, { code }, draft) => tell("refused")(assignment, code, draft),
    answered: ({ assignment }, { code }) => tell("answered")(assignment, code),
    waiting: (entries, why) => {
      tell("waiting")(entries.length, why);
      if (why === "network") queueMicrotask(() => outbox.send()); // as the browser does when it is online again
    },
    signIn: async (wrongAccount) => (tell("signIn")(wrongAccount), signIn()),
  });
  globalThis.fetch = async (url, { body, headers }) => {
    told.sent.push(body ? `${url} ${body} ${headers["X-CSRFToken"]}` : url);
    return answers.shift()();
  };
  const sending = outbox.send();
  await during(outbox, told);
  await sending;
  assert.equal(answers.length, 0, "everything that the server had to say was asked for");
  return told;
}

const posted = (assignment) => `/api/${assignment}/response/ {"assignment":"${assignment}"} of-this-moment`;

test("answers go out in the order in which they were given, each once", async () => {
  const { sent, told, kept } = await send(["a", "b"], [() => receipt(1), () => receipt(2)]);
  assert.deepEqual(sent, [posted("a"), posted("b")]);
  assert.deepEqual(told, [["received", "a", "R-1"], ["received", "b", "R-2"], ["waiting", 0, undefined]]);
  assert.deepEqual(kept, []);
});

for (const [name, failure] of [
  ["the network is away", lost],
  ["the server is broken", () => answered(500, {})],
  ["too many were sent", () => answered(429, {})],
  ["a proxy's page came", () => new Response("<html>", { status: 200 })],
]) {
  test(`the very same goes out again when ${name}`, async () => {
    const { sent, told, kept } = await send(["a"], [failure, () => answered(200, { receipt: "R-1" })]);
    assert.deepEqual(sent, [posted("a"), posted("a")]);
    assert.deepEqual(told[0], ["waiting", 1, "network"]);
    assert.deepEqual(told[1], ["received", "a", "R-1"]);
    assert.deepEqual(kept, []);
  });
}

test("the last answer asks for the next picture where there is room for it, and the others do not", async () => {
  const replies = [() => receipt(1), () => answered(201, { receipt: "R-2", next: { id: "c" } })];
  const { sent, told } = await send(["a", "b"], replies, { room: () => ["held"] });
  assert.deepEqual(sent, [posted("a"), '/api/b/response/ {"assignment":"b","next":true,"holding":["held"]} of-this-moment']);
  const [, next, received] = told;
  assert.deepEqual([next, received], [["next", "c"], ["received", "b", "R-2"]], "it is ready before the page goes on");
});

test("an answer of another page, here a qualification's, asks for no picture", async () => {
  const { sent } = await send(["a"], [() => receipt(1)], { room: ({ api }) => (api === "/labels/" ? [] : null) });
  assert.deepEqual(sent, [posted("a")]);
});

test("a receipt without a picture is a receipt", async () => {
  const { told } = await send(["a"], [() => answered(201, { receipt: "R-1", next: null, retry_after: 10 })], { room: () => [] });
  assert.deepEqual(told[0], ["received", "a", "R-1"]);
});

test("what the server refuses becomes a draft again, and the next one goes out", async () => {
  const { told, kept } = await send(["a", "b"], [() => refusal(400, "invalid"), () => receipt(2)]);
  assert.deepEqual(told[0], ["refused", "a", "invalid", { draftOf: "a" }]);
  assert.deepEqual(told[1], ["received", "b", "R-2"]);
  assert.deepEqual(kept, []);
});

test("what was answered elsewhere is settled", async () => {
  const { told, kept } = await send(["a"], [() => refusal(409, "already_answered")]);
  assert.deepEqual(told[0], ["answered", "a", "already_answered"]);
  assert.deepEqual(kept, []);
});

for (const [name, status, code] of [
  ["nobody is signed in", 401, "not_authenticated"],
  ["the token is an old one", 403, "permission_denied"],
]) {
  test(`somebody has to sign in, and then it goes out, when ${name}`, async () => {
    const { told } = await send(["a"], [() => refusal(status, code), () => receipt(1)]);
    assert.deepEqual(told.slice(0, 3), [["waiting", 1, "signIn"], ["signIn", false], ["received", "a", "R-1"]]);
  });
}

test("it waits when nobody signs in", async () => {
  const { kept } = await send(["a"], [() => refusal(401, "")], { signIn: () => false });
  assert.equal(kept.length, 1);
});

test("somebody else who signed in does not send it", async () => {
  const other = () => answered(200, { username: "otto" });
  const { told } = await send(["a"], [() => refusal(404, "not_found"), other, () => receipt(1)]);
  assert.deepEqual(told[1], ["signIn", true]);
});

test("a picture that is gone for the same account is refused", async () => {
  const { told } = await send(["a"], [() => refusal(404, "not_found"), () => answered(200, { username: "tara" })]);
  assert.deepEqual(told[0], ["refused", "a", "not_found", { draftOf: "a" }]);
});

// Taking an answer back.

const soon = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("an answer that is held goes out when its time is over", async () => {
  const begun = Date.now();
  const { sent } = await send(["a"], [() => receipt(1)], { held: { a: 60 } });
  assert.deepEqual(sent, [posted("a")]);
  assert.ok(Date.now() - begun >= 59);
});

test("the next answer sends the one before it, which asks for a picture; then it is held itself", async () => {
  const during = async (outbox, told) => {
    await soon(20);
    assert.deepEqual(told.sent, []);
    told.kept.push(queued("b", 60));
    outbox.send();
    await soon(10);
    assert.equal(told.sent.length, 1, "a alone");
  };
  const replies = [() => answered(201, { receipt: "R-1", next: { id: "d" } }), () => receipt(2)];
  const { sent } = await send(["a"], replies, { held: { a: 9_000 }, room: ({ assignment }) => (assignment === "a" ? ["b"] : null), during });
  assert.deepEqual(sent, ['/api/a/response/ {"assignment":"a","next":true,"holding":["b"]} of-this-moment', posted("b")]);
});

test("what is taken back is a draft again, and nothing goes out", async () => {
  const during = async (outbox) => {
    await soon(5);
    assert.equal(await outbox.takeBack("b"), null, "another window's");
    const { draft } = await outbox.takeBack("a");
    assert.deepEqual(draft, { draftOf: "a" });
    assert.equal(await outbox.takeBack("a"), null, "there is nothing more to take back");
    outbox.send();
  };
  const { sent, kept } = await send(["a"], [], { held: { a: 9_000 }, during });
  assert.deepEqual([sent, kept], [[], []]);
});

test("whoever leaves the page sends at once what could still be taken back", async () => {
  const during = async (outbox) => {
    await soon(5);
    outbox.sendNow();
    assert.equal(await outbox.takeBack("a"), null, "too late");
  };
  const { sent } = await send(["a"], [() => receipt(1)], { held: { a: 9_000 }, during });
  assert.deepEqual(sent, [posted("a")]);
});

test("a clock that was set back holds nothing for hours", async () => {
  const { sent } = await send(["a"], [() => receipt(1)], { held: { a: 3_600_000 } });
  assert.deepEqual(sent, [posted("a")]);
});

// Signing in again from the labeling page, through the site's own page: what each of its answers means.
import assert from "node:assert/strict";
import { test } from "node:test";

const words = {
  codeNeeded: "the code is asked for",
  wrongCode: "not the code",
  wrongPassword: "not the password",
  signInClosed: "closed for now",
  signInAnswered: "answered {status}",
};
globalThis.document = {
  cookie: "csrftoken=of-this-moment",
  getElementById: () => ({ textContent: JSON.stringify({ language: "en", timeZone: "UTC", words }) }),
};
globalThis.matchMedia = () => ({ matches: false });
const { signIn, Unreachable } = await import("../../static/js/label_api.js");
const { counted } = await import("../../static/js/label_words.js");

const asksForCode = { "Second-Factor": "needed" };
for (const [answer, otp, expected, why] of [
  [{ type: "opaqueredirect" }, "", {}, "a redirect is a yes"],
  [{ status: 200 }, "", { refused: words.wrongPassword }, "the form again is a no"],
  [{ status: 200, headers: asksForCode }, "", { needsCode: true, refused: words.codeNeeded }, "a second factor"],
  [{ status: 200, headers: asksForCode }, "123456", { needsCode: true, refused: words.wrongCode }, "a wrong code"],
  [{ status: 429 }, "", { refused: words.signInClosed }, "too many tries"],
  [{ status: 500 }, "", { refused: "answered 500" }, "a broken server"],
]) {
  test(`signing in again: ${why}`, async () => {
    const sent = [];
    globalThis.fetch = async (url, { body }) => {
      sent.push(`${url} ${body}`);
      return { status: 0, ...answer, headers: new Headers(answer.headers) };
    };
    assert.deepEqual(await signIn("/sign-in/", { username: "tara", password: "x y", otp }), expected);
    assert.deepEqual(sent, [`/sign-in/ username=tara&password=x+y&otp=${otp}&csrfmiddlewaretoken=of-this-moment`]);
  });
}

test("no answer is told apart from a no", async () => {
  globalThis.fetch = () => Promise.reject(new TypeError("the network is away"));
  await assert.rejects(signIn("/sign-in/", { username: "tara", password: "x" }), Unreachable);
});

test("one is told as one, and many with their number, as the language writes it", () => {
  const forms = { one: "{count} answer waits", other: "{count} answers wait" };
  assert.deepEqual([1, 2, 1234].map((count) => counted(forms, count)), [
    "1 answer waits",
    "2 answers wait",
    "1,234 answers wait",
  ]);
});

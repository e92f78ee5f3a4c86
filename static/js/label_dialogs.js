// The three dialogs over the form. The browser keeps the focus inside and gives it back.

import { post, Refusal, signIn } from "./label_api.js";

const NO_ANSWER = "No answer from the server. Check the connection and try again; nothing is lost.";

const byId = (id) => document.getElementById(id);

export function anyOpen() {
  return document.querySelector("dialog[open]") !== null;
}

export function openInstructions() {
  byId("instructions-dialog").showModal();
}

export function closeWithButtons() {
  for (const button of document.querySelectorAll("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}

/** Ask over the form; resolves to true once signed in, to false when put off. */
export function askToSignIn(address) {
  const password = byId("sign-in-password");
  return askIn("sign-in", password, () => signIn(address, byId("sign-in-username").value, password.value));
}

/** Ask what is wrong with the picture and give it back. Resolves to true when it is gone. */
export function askToReport(api, { id, lease_token }, signInAgain) {
  const problem = byId("report-problem");
  return askIn("report", problem, async () => {
    try {
      await post(`${api}${id}/release/`, { lease_token, problem: problem.value.trim() });
      return null;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!error.needsSignIn) return error.detail;
      return (await signInAgain()) ? "You are signed in. Report it now." : "Reporting needs you to be signed in.";
    }
  });
}

/** Open a dialog until `act` answers null (resolves to true) or it is closed (false); else show what `act` says. */
function askIn(name, field, act) {
  const [dialog, form, problem] = [byId(`${name}-dialog`), byId(`${name}-form`), byId(`${name}-error`)];
  const listening = new AbortController();
  const { signal } = listening;
  field.value = "";
  problem.textContent = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    const end = (done) => {
      listening.abort();
      dialog.close();
      field.value = "";
      resolve(done);
    };
    dialog.addEventListener("close", () => end(false), { signal });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      acting(form, act).then((words) => {
        if (words === null) return end(true);
        problem.textContent = words;
        if (field.type === "password") field.value = "";
        return field.focus();
      });
    }, { signal });
  });
}

async function acting(form, act) {
  const button = form.querySelector("[type=submit]");
  button.disabled = true;
  try {
    return await act();
  } catch {
    return NO_ANSWER;
  } finally {
    button.disabled = false;
  }
}

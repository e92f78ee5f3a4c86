// A form that a passkey fills in: the button calls the browser, and its answer is sent.

import { byId, find } from "./dom.js";
import { make, sign, supported } from "./passkeys.js";

const place = byId("passkey");
const answer = find(place, "[data-answer]", HTMLInputElement);
const [button, problem] = [find(place, "button"), find(place, "[role=alert]")];

async function fillIn() {
  problem.hidden = true;
  const options = JSON.parse(byId("passkey-options").textContent ?? "");
  try {
    answer.value = await (place.dataset.ceremony === "make" ? make : sign)(options);
  } catch {
    problem.hidden = false;
    return;
  }
  // Without the browser's own checks: the field for a code stays empty.
  answer.form?.submit();
}

if (supported) {
  button.hidden = false;
  button.addEventListener("click", fillIn);
} else {
  find(place, "[data-unsupported]").hidden = false;
}

// A form that a passkey fills in: the button calls the browser, and its answer is sent.

import { make, sign, supported } from "./passkeys.js";

const place = document.getElementById("passkey");
const [button, answer, problem] = ["button", "[data-answer]", "[role=alert]"].map((each) => place?.querySelector(each));

async function fillIn() {
  problem.hidden = true;
  const options = JSON.parse(document.getElementById("passkey-options").textContent);
  try {
    answer.value = await (place.dataset.ceremony === "make" ? make : sign)(options);
  } catch {
    problem.hidden = false;
    return;
  }
  // Without the browser's own checks: the field for a code stays empty.
  answer.form.submit();
}

if (place && supported) {
  button.hidden = false;
  button.addEventListener("click", fillIn);
} else if (place) {
  place.querySelector("[data-unsupported]").hidden = false;
}

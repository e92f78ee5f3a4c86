// The sweep by keyboard: one key for each button and link, and for what is drawn over the picture.
import { byId, find } from "./dom.js";
import { isTyping, press } from "./legend.js";

let sent = false;
let sure = false;
const form = byId("sweep", HTMLFormElement);
const question = byId("sure", HTMLDialogElement);
form.addEventListener("submit", (event) => {
  if (event.submitter?.getAttribute("name") === "case" && !sure) {
    event.preventDefault();
    question.returnValue = "";
    question.showModal();
    return;
  }
  // A key that is held down would confirm the next picture as well.
  if (sent) event.preventDefault();
  sent = true;
});
question.addEventListener("close", () => {
  const button = find(form, '[name="case"]');
  if (question.returnValue !== "open") return button.focus();
  sure = true;
  form.requestSubmit(button);
});
addEventListener("pageshow", () => { sent = sure = false; });

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || question.open) return;
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (named instanceof HTMLElement) named.click();
  else if (!press(event.key)) return;
  event.preventDefault();
});

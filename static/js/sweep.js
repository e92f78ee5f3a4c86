// The sweep by keyboard: one key for each button and link, and for what is drawn over the picture.
const at = (id) => document.getElementById(id);
const isTyping = (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox])");

/** Tick or untick a box of the legend, and tell it. */
function toggle(box) {
  if (!box || box.disabled) return;
  box.checked = !box.checked;
  at("spoken").textContent = `${box.closest("label").textContent.trim().replace(/\s+/g, " ")}: ${box.checked ? "shown" : "hidden"}`;
}

function toggleAll() {
  const boxes = [...document.querySelectorAll('.legend input:not(:disabled)')].filter((box) => /\d$/.test(box.id));
  const shown = !boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = shown;
  at("spoken").textContent = shown ? "All outlines shown" : "All outlines hidden";
}

let sent = false;
let sure = false;
const form = at("sweep");
const question = at("sure");
form.addEventListener("submit", (event) => {
  if (event.submitter?.name === "case" && !sure) {
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
  const button = form.querySelector('[name="case"]');
  if (question.returnValue !== "open") return button.focus();
  sure = true;
  form.requestSubmit(button);
});
addEventListener("pageshow", () => { sent = sure = false; });

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || question.open) return;
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (named) named.click();
  else if (/^[1-9]$/.test(event.key)) toggle(at(`show-${event.key}`));
  else if (event.key === "0") toggleAll();
  else if (event.key === "b") toggle(at("show-box"));
  else return;
  event.preventDefault();
});

// The pages of learning by keyboard: digits choose, arrows go on and back. Everything works without this.

/** @param {string} id */
const byId = (id) => document.getElementById(id);

// The page begins at what was right and what was not, also where the button is below the edge of a phone.
byId("next")?.focus({ preventScroll: true });

document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.closest("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const ahead = document.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const back = document.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const choice = document.querySelector(`#ask button[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  const target = choice ?? { [ahead]: byId("next"), [back]: byId("before") }[event.key];
  if (!(target instanceof HTMLElement)) return;
  event.preventDefault();
  target.click();
});

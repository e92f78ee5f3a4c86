// The pages of learning by keyboard: digits choose, arrows go on and back. Everything works without this.

const byId = (id) => document.getElementById(id);

// The page begins at what was right and what was not, also where the button is below the edge of a phone.
byId("next")?.focus({ preventScroll: true });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const ahead = document.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
  const back = document.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
  const choice = document.querySelector(`#ask button[aria-keyshortcuts="${CSS.escape(event.key)}"]`);
  const target = choice ?? { [ahead]: byId("next"), [back]: byId("before") }[event.key];
  if (!target) return;
  event.preventDefault();
  target.click();
});

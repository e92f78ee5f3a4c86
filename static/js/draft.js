// What is typed into a form with `data-draft` outlives a sign-in in the same tab. `data-draft` is the name it is kept
// under, with the account in it; `data-draft-of` what it was typed upon: a draft upon something older is forgotten, as is
// one that a page names in `data-sent`, because it was recorded.
const FIELDS = "textarea[name], select[name], input[name]:not([type=hidden])";
const isTicked = (field) => field.type === "radio" || field.type === "checkbox";

function read(form) {
  const values = {};
  for (const field of form.querySelectorAll(FIELDS)) {
    values[field.name] ??= [];
    if (!isTicked(field) || field.checked) values[field.name].push(field.value);
  }
  return values;
}

function write(form, values) {
  for (const field of form.querySelectorAll(FIELDS)) {
    if (!(field.name in values)) continue;
    if (isTicked(field)) {
      field.checked = values[field.name].includes(field.value);
      continue;
    }
    field.value = values[field.name][0] ?? "";
    if (field.value) field.closest("details")?.setAttribute("open", "");
  }
}

function keep(form) {
  const { draft: name, draftOf: of = "" } = form.dataset;
  const kept = JSON.parse(sessionStorage.getItem(name) ?? "null");
  if (kept && kept.of !== of) sessionStorage.removeItem(name);
  else if (kept && JSON.stringify(kept.values) !== JSON.stringify(read(form))) restore(form, kept.values);
  for (const event of ["input", "change"]) {
    form.addEventListener(event, () => sessionStorage.setItem(name, JSON.stringify({ of, values: read(form) })));
  }
}

function restore(form, values) {
  write(form, values);
  const told = form.querySelector("[data-restored]");
  told.textContent = told.dataset.restored;
  // What else of the page follows the words follows these.
  for (const field of form.querySelectorAll("textarea")) field.dispatchEvent(new Event("input"));
}

for (const sent of document.querySelectorAll("[data-sent]")) sessionStorage.removeItem(sent.dataset.sent);
for (const form of document.querySelectorAll("form[data-draft]")) keep(form);

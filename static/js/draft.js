// What is typed into a form with `data-draft` outlives a sign-in in the same tab. `data-draft` is the name it is kept
// under, with the account in it; `data-draft-of` what it was typed upon: a draft upon something older is forgotten, as is
// one that a page names in `data-sent`, because it was recorded.
const FIELDS = "textarea[name], select[name], input[name]:not([type=hidden], [type=file])";

/** @typedef {Record<string, string[]>} Values what is typed or ticked, by the name of the field */

/**
 * @param {HTMLFormElement} form
 * @returns {NodeListOf<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>}
 */
const fieldsOf = (form) => form.querySelectorAll(FIELDS);

/**
 * @param {Element & {type: string}} field
 * @returns {field is HTMLInputElement}
 */
const isTicked = (field) => field.type === "radio" || field.type === "checkbox";

/** @param {HTMLFormElement} form */
function read(form) {
  /** @type {Values} */
  const values = {};
  for (const field of fieldsOf(form)) {
    values[field.name] ??= [];
    if (!isTicked(field) || field.checked) values[field.name].push(field.value);
  }
  return values;
}

/**
 * @param {HTMLFormElement} form
 * @param {Values} values
 */
function write(form, values) {
  for (const field of fieldsOf(form)) {
    if (!(field.name in values)) continue;
    if (isTicked(field)) {
      field.checked = values[field.name].includes(field.value);
      continue;
    }
    field.value = values[field.name][0] ?? "";
    if (field.value) field.closest("details")?.setAttribute("open", "");
  }
}

/** @param {HTMLFormElement} form */
function keep(form) {
  const { draft: name = "", draftOf: of = "" } = form.dataset;
  const kept = JSON.parse(sessionStorage.getItem(name) ?? "null");
  if (kept && kept.of !== of) sessionStorage.removeItem(name);
  else if (kept && JSON.stringify(kept.values) !== JSON.stringify(read(form))) restore(form, kept.values);
  for (const event of ["input", "change"]) {
    form.addEventListener(event, () => sessionStorage.setItem(name, JSON.stringify({ of, values: read(form) })));
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {Values} values
 */
function restore(form, values) {
  write(form, values);
  const notice = /** @type {HTMLElement} */ (form.querySelector("[data-restored]"));
  notice.textContent = notice.dataset.restored ?? "";
  // What else of the page follows the words follows these.
  for (const field of form.querySelectorAll("textarea")) field.dispatchEvent(new Event("input"));
}

/** @type {NodeListOf<HTMLElement>} */
const recorded = document.querySelectorAll("[data-sent]");
for (const { dataset } of recorded) sessionStorage.removeItem(dataset.sent ?? "");
/** @type {NodeListOf<HTMLFormElement>} */
const forms = document.querySelectorAll("form[data-draft]");
for (const form of forms) keep(form);

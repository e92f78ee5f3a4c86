// Elements of the page by id or selector, each checked to be of the kind that the script expects.

/**
 * Return an element that every page with this script has.
 * @template {Element} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function byId(id, kind) {
  return ofKind(document.getElementById(id), `#${id}`, kind);
}

/**
 * Return the first element inside `root` that matches; there is always one.
 * @template {Element} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function find(root, selector, kind) {
  return ofKind(root.querySelector(selector), selector, kind);
}

/**
 * Return all elements inside `root` that match, also none.
 * @template {Element} [T=HTMLElement]
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => T} [kind]
 * @returns {T[]}
 */
export function findAll(root, selector, kind) {
  return [...root.querySelectorAll(selector)].map((element) => ofKind(element, selector, kind));
}

/**
 * Return a new copy of what a <template> holds.
 * @param {string} id
 */
export function copyOfTemplate(id) {
  const { firstElementChild } = byId(id, HTMLTemplateElement).content;
  return /** @type {HTMLElement} */ (ofKind(firstElementChild, `#${id} > *`).cloneNode(true));
}

/**
 * @template {Element} T
 * @param {Element | null} element
 * @param {string} name
 * @param {new () => T} [kind]
 * @returns {T}
 */
function ofKind(element, name, kind = /** @type {new () => T} */ (/** @type {unknown} */ (HTMLElement))) {
  if (!(element instanceof kind)) throw new TypeError(`The page has no ${kind.name} ${name}.`);
  return element;
}

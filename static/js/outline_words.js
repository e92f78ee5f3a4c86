// What the editor says, to be spoken by the page and shown beside the picture, in English. A page in another language
// gives its own through the option `labels`: any of these names, and inside `problems` any of those.
//
// Values in braces: {x} and {y} are the place in image pixels; {ring} and {corner} count from 1; {corners} is how
// many there are; {tolerance} is a distance in image pixels; {close}, {next} and {previous} are names of keys.

/** @import { Point } from "./geometry_plane.js" */
/** @import { Keys } from "./outline_keys.js" */
/** @typedef {{point?: Point, [name: string]: number | Point | undefined}} Values what fills the places of a label */
/** @typedef {typeof LABELS} Labels */
/** @typedef {Exclude<keyof Labels, "problems" | "describedBy">} Label the name of words to say */
/** @typedef {Partial<Omit<Labels, "problems">> & {problems?: Partial<Labels["problems"]>}} LabelChanges */

export const LABELS = {
  // The names of the drawing surface, and the id of an element that describes it.
  name: "Outline of the object",
  role: "outline editor",
  describedBy: /** @type {string | null} */ (null),
  // The list of corners for people who do not see them.
  list: "Corners of the outline",
  listRing: "Ring {ring}, {corners} corners",
  listOpen: "Ring {ring}, not closed, {corners} corners",
  listCorner: "Corner {corner} at {x}, {y}",
  // The bar after a traced line.
  fineness: "Corners of the traced line",
  fewerCorners: "Fewer corners",
  moreCorners: "More corners",
  fineEnough: "Done",
  fine: "{corners} corners, within {tolerance} px",
  // What has just happened.
  at: "{x}, {y}",
  placed: "Corner {corner} at {x}, {y}",
  moved: "Corner {corner} of {corners} moved to {x}, {y}",
  selected: "Ring {ring}, corner {corner} of {corners} at {x}, {y}",
  released: "No corner selected",
  inserted: "Corner {corner} of {corners} inserted at {x}, {y}",
  removed: "Corner removed",
  ringRemoved: "Ring removed",
  closed: "Ring {ring} closed with {corners} corners",
  cancelled: "Ring cancelled",
  cleared: "Outline cleared",
  undone: "Undone",
  redone: "Redone",
  noEdge: "There is no edge after this corner",
  needsThree: "A ring needs at least three corners",
  // What keeps the outline from being sent.
  problems: {
    outline_empty: "No outline yet. Place corners around the object.",
    outline_unfinished: "The ring is not closed. Choose its first corner, or press {close}.",
    outline_shape: "The outline cannot be read. Clear it and draw it again.",
    outline_non_finite: "Ring {ring} has a corner without a position. Remove it and place it again.",
    outline_too_many_corners: "The outline has too many corners: 1,000 in 20 rings are the most. Remove some.",
    outline_too_few_corners: "Ring {ring} has fewer than three different corners. Add corners or remove the ring.",
    outline_zero_area: "Ring {ring} encloses nothing. Move a corner off the line.",
    outline_self_crossing: "Ring {ring} crosses or touches itself where it is marked. Move a corner there.",
    outline_outside: "The outline lies outside the picture. Draw it around the object.",
  },
};

const KEY_NAMES = ["close", "next", "previous"];

/** The words of one editor in the language of its place in the page, which also writes the numbers. */
export class Words {
  #numbers;
  #keys;
  /** @type {Labels} */
  labels;

  /**
   * @param {string | undefined} language
   * @param {Keys} keys the keys that words name
   * @param {LabelChanges} changes in place of any of LABELS
   */
  constructor(language, keys, changes = {}) {
    this.labels = { ...LABELS, ...changes, problems: { ...LABELS.problems, ...changes.problems } };
    this.#keys = keys;
    this.#numbers = new Intl.NumberFormat(language || undefined, { maximumFractionDigits: 2, useGrouping: false });
  }

  /**
   * @param {Label} label
   * @param {Values} values
   */
  say(label, values = {}) {
    return this.#filled(this.labels[label], values);
  }

  /**
   * @param {string} code
   * @param {number} ring
   */
  problem(code, ring) {
    return this.#filled(this.labels.problems[/** @type {keyof Labels["problems"]} */ (code)], { ring });
  }

  /**
   * @param {string} template
   * @param {Values} values
   */
  #filled(template, { point, ...values }) {
    const [x, y] = point ?? [];
    /** @type {Record<string, unknown>} */
    const known = { x, y, ...values };
    return template.replace(/\{(\w+)\}/g, (_, name) => this.#value(known[name], name));
  }

  /**
   * @param {unknown} value
   * @param {string} name
   */
  #value(value, name) {
    if (KEY_NAMES.includes(name)) return this.#keys.nameOf(name);
    return typeof value === "number" ? this.#numbers.format(value) : "";
  }
}

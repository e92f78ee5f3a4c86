// The picture on the form with the editor over it: how it is looked at, and what the page's own buttons do with it.

import { byId, findAll } from "./dom.js";
import { OF_EDITOR } from "./label_keys.js";
import { fill, percent, words } from "./label_words.js";
import { OutlineEditor } from "./outline_editor.js";

/** @import { Keys } from "./label_keys.js" */
/** @import { Assignment } from "./label_words.js" */
/**
 * @typedef {object} Looks as the tasker likes them
 * @property {boolean} smoothing
 * @property {number} simplify how far a traced line may lie from its corners
 * @property {number} brightness in percent of the picture's own
 * @property {number} contrast the same
 * @property {boolean} guides
 * @property {boolean} minimap
 */
/**
 * @typedef {object} PictureEvents
 * @property {(settled: boolean) => void} drawn the drawing has changed
 * @property {(changed: Partial<Looks>) => void} looks another way of looking was chosen
 * @property {() => void} ignored the picture was pressed where no outline is asked for
 * @property {(setUrl: (url: string) => void) => void} imageFailed the picture does not load
 * @property {(text: string) => void} say words for a screen reader
 */

const LIGHT = Object.freeze({ step: 10, least: 50, most: 200, own: 100 });
/** @type {("smoothing" | "guides" | "minimap")[]} */
const SWITCHES = ["smoothing", "guides", "minimap"];
const SELECTS = new Set(["next_corner", "previous_corner", "insert_corner"]);

export class Picture {
  #keys;
  #looks;
  #on;
  /** @type {OutlineEditor | null} */
  #editor = null;

  /**
   * @param {Keys} keys
   * @param {Looks} looks
   * @param {PictureEvents} on
   */
  constructor(keys, looks, on) {
    this.#keys = keys;
    this.#looks = looks;
    this.#on = on;
  }

  /** The editor of the picture that is up, or null. */
  get editor() {
    return this.#editor;
  }

  /**
   * Put a picture up, with nothing drawn.
   * @param {Assignment["image"]} image
   */
  show({ url, width, height }) {
    const before = this.#editor;
    this.#editor = null;
    before?.destroy();
    byId("picture").replaceChildren();
    const editor = new OutlineEditor(byId("picture"), {
      imageUrl: url,
      width,
      height,
      labels: { ...words.editor, describedBy: "outline-words outline-keys" },
      keys: this.#keys.ofEditor,
      simplify: this.#looks.simplify,
      onSimplify: (simplify) => this.#look({ simplify }),
      onChange: (changed, { settled }) => changed === this.#editor && this.#on.drawn(settled),
      announce: (text) => this.#on.say(text),
      onIgnored: () => this.#on.ignored(),
      onZoom: (scale) => {
        byId("zoom").textContent = percent(scale * 100);
      },
    });
    this.#editor = editor;
    editor.setEnabled(false);
    for (const name of SWITCHES) this.#show(name);
    this.#showLight();
    this.#showPressed("move", false);
    this.#watchImage();
  }

  #watchImage() {
    const image = byId("picture").querySelector("image");
    image?.addEventListener("error", () =>
      this.#on.imageFailed((url) => image.isConnected && image.setAttribute("href", url)),
    );
  }

  /** @param {Partial<Looks>} changed */
  #look(changed) {
    Object.assign(this.#looks, changed);
    this.#on.looks(changed);
  }

  /** @param {"smoothing" | "guides" | "minimap"} name */
  toggle(name) {
    this.#look({ [name]: !this.#looks[name] });
    this.#show(name);
  }

  /** @param {"smoothing" | "guides" | "minimap"} name */
  #show(name) {
    const isOn = this.#looks[name];
    this.#showPressed(name, isOn);
    if (name === "smoothing") this.#editor?.setSmoothing(isOn);
    else if (name === "guides") this.#editor?.setGuides(isOn);
    else this.#editor?.setMinimap(isOn);
  }

  /**
   * Change brightness or contrast by a step. Returns what they are now, in words.
   * @param {"brightness" | "contrast"} name
   * @param {1 | -1} step
   */
  changeLight(name, step) {
    const value = this.#looks[name] + step * LIGHT.step;
    return this.#setLight({ [name]: Math.min(LIGHT.most, Math.max(LIGHT.least, value)) });
  }

  /** Show the picture as it was sent. Returns that in words. */
  resetLight() {
    return this.#setLight({ brightness: LIGHT.own, contrast: LIGHT.own });
  }

  /** @param {Partial<Looks>} light */
  #setLight(light) {
    this.#look(light);
    return this.#showLight();
  }

  #showLight() {
    const { brightness, contrast } = this.#looks;
    this.#editor?.setLight(brightness, contrast);
    const values = { brightness: percent(brightness), contrast: percent(contrast) };
    byId("brightness").textContent = values.brightness;
    byId("contrast").textContent = values.contrast;
    const isChanged = brightness !== LIGHT.own || contrast !== LIGHT.own;
    for (const button of findAll(document, ".open-view")) button.classList.toggle("is-changed", isChanged);
    return fill(words.light, values);
  }

  toggleMove() {
    if (!this.#editor) return;
    this.#editor.panning = !this.#editor.panning;
    this.#showPressed("move", this.#editor.panning);
  }

  /**
   * @param {string} act
   * @param {boolean} pressed
   */
  #showPressed(act, pressed) {
    for (const button of findAll(document, `[data-act="${act}"]`)) button.setAttribute("aria-pressed", String(pressed));
  }

  /**
   * Do what a key of the editor does, from outside of it. Returns why not, in words, or nothing.
   * @param {string} name
   */
  draw(name) {
    if (!this.#editor) return undefined;
    if (!this.#editor.perform(OF_EDITOR[name])) return this.#whyNot(name, this.#editor);
    // The arrows move the corner that is selected now.
    if (SELECTS.has(name)) this.#editor.focus();
    return undefined;
  }

  /**
   * @param {string} name
   * @param {OutlineEditor} editor
   */
  #whyNot(name, { drawing, rings }) {
    if (name === "close_outline") return drawing ? words.editor.needsThree : words.nothingToClose;
    if (name === "fewer_corners" || name === "more_corners") return words.nothingTraced;
    return rings.length || drawing ? words.noCornerChosen : words.noCornerYet;
  }

  fit() {
    this.#editor?.fit();
  }

  zoomIn() {
    this.#editor?.zoomIn();
  }

  zoomOut() {
    this.#editor?.zoomOut();
  }
}

// Looks at a picture before it is sent: what the server would refuse is told here first, in the server's own words
// (picture_files.refusals, handed over by the page). What is not looked at here, the server looks at.

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const GREY = [0, 4];
const PALETTE = 3;
const ORIENTATION = 0x0112;
const EXIF = [0x45, 0x78, 0x69, 0x66, 0, 0];
const ZIP_END = [0x50, 0x4b, 0x05, 0x06];
const ZIP_ENTRY = [0x50, 0x4b, 0x01, 0x02];
const ZIP_END_BYTES = 22;
const ZIP_ENTRY_BYTES = 46;
const MAX_COMMENT_BYTES = 65536;

/** @typedef {Record<string, string | number>} Values what fills the places of words */
/**
 * @typedef {object} Rules what the server accepts, and its words for what it refuses
 * @property {number} maxUpload bytes of one upload
 * @property {number} maxEntries pictures of an archive
 * @property {number} maxBytes of a picture
 * @property {number} maxPixels
 * @property {number} size pixels of each side
 * @property {string} lossy the warning for a picture that lost something
 * @property {Record<string, string>} kinds words for colours that are not RGB
 * @property {Record<string, string>} refusals words by reason
 * @property {Record<string, string>} words
 */
/**
 * @typedef {object} Header what the file says of its picture
 * @property {number} width
 * @property {number} height
 * @property {number} bits of a colour
 * @property {number} end the place after its last byte
 * @property {boolean} lossy
 * @property {boolean} animated
 * @property {boolean} turned by EXIF data
 * @property {string} kind of colours that is not RGB, a key of `Rules.kinds`; empty for RGB
 */
/** @typedef {ReturnType<typeof reader>} Reader */
/**
 * @typedef {object} Inspection what is known of a file before it is sent
 * @property {string} [refused] words for why the server would refuse it
 * @property {boolean} [zip]
 * @property {number | null} [pictures] of an archive; null where its list cannot be read
 * @property {HTMLCanvasElement} [canvas]
 * @property {string} [sha256] of the pixels
 * @property {string} [warning]
 */

/** A reason why the picture is refused: a key of the catalogue, and what fills its places. */
class Refused extends Error {
  /**
   * @param {string} reason
   * @param {Values} values
   */
  constructor(reason, values = {}) {
    super(reason);
    this.reason = reason;
    this.values = values;
  }
}

/**
 * @param {string} words
 * @param {Values} values
 */
export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** @param {Uint8Array} bytes */
export function isZip(bytes) {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && [0x03, 0x05, 0x07].includes(bytes[2]);
}

/**
 * @param {Uint8Array} bytes
 * @param {number[]} magic
 */
function starts(bytes, magic, from = 0) {
  return magic.every((each, at) => bytes[from + at] === each);
}

/**
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function text(bytes, at) {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

/**
 * Whether EXIF data between two places says to turn the picture. Data that makes no sense says nothing.
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to
 */
function isTurned(bytes, from, to) {
  const begin = starts(bytes, EXIF, from) ? from + EXIF.length : from;
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset + begin, to - begin);
    const little = view.getUint16(0) === 0x4949;
    const list = view.getUint32(4, little);
    for (let number = 0; number < view.getUint16(list, little); number += 1) {
      const entry = list + 2 + 12 * number;
      if (view.getUint16(entry, little) !== ORIENTATION) continue;
      const turn = view[readerOf(view.getUint16(entry + 2, little))](entry + 8, little);
      return turn >= 2 && turn <= 8;
    }
    return false;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * The way to read a number of an EXIF type.
 * @param {number} type
 */
function readerOf(type) {
  if (type === 1) return "getUint8";
  return type === 4 ? "getUint32" : "getUint16";
}

/**
 * Numbers of the file; reading past its end says that it ends too early.
 * @param {Uint8Array} bytes
 */
function reader(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /**
   * @param {"getUint8" | "getUint16" | "getUint32"} kind
   * @param {number} at
   * @param {boolean} little
   */
  const read = (kind, at, little) => {
    try {
      return view[kind](at, little);
    } catch {
      throw new Refused("truncated");
    }
  };
  return {
    byte: (/** @type {number} */ at) => read("getUint8", at, false),
    short: (/** @type {number} */ at, little = false) => read("getUint16", at, little),
    long: (/** @type {number} */ at, little = false) => read("getUint32", at, little),
  };
}

/**
 * @param {Uint8Array} bytes
 * @param {Reader} from
 * @returns {Header}
 */
function png(bytes, from) {
  if (from.long(8) !== 13 || text(bytes, 12) !== "IHDR") throw new Refused("header");
  const found = { width: from.long(16), height: from.long(20), bits: from.byte(24), lossy: false };
  const colour = from.byte(25);
  const kinds = new Set();
  let turned = false;
  let at = 8;
  for (let kind = ""; kind !== "IEND"; ) {
    const length = from.long(at);
    from.long(at + 4);
    kind = text(bytes, at + 4);
    kinds.add(kind);
    if (kind === "eXIf") turned = isTurned(bytes, at + 8, Math.min(at + 8 + length, bytes.length));
    at += 12 + length;
    if (at > bytes.length) throw new Refused("truncated");
  }
  const grey = GREY.includes(colour) ? (found.bits === 1 ? "blackAndWhite" : "greyscale") : "";
  return { ...found, end: at, animated: kinds.has("acTL"), turned, kind: colour === PALETTE ? "palette" : grey };
}

/**
 * @param {Uint8Array} bytes
 * @param {Reader} from
 * @returns {Header}
 */
function jpeg(bytes, from) {
  /** @type {{bits: number, height: number, width: number, parts: number} | null} */
  let frame = null;
  let turned = false;
  let at = 2;
  for (;;) {
    if (from.byte(at) !== 0xff) throw new Refused("header");
    const marker = from.byte(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    at += 2;
    if (marker === 0xd9) break;
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) continue;
    const length = from.short(at);
    if (length < 2) throw new Refused("header");
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame && frame === null) {
      frame = { bits: from.byte(at + 2), height: from.short(at + 3), width: from.short(at + 5), parts: from.byte(at + 7) };
    }
    const isExif = marker === 0xe1 && starts(bytes, EXIF, at + 2);
    if (isExif) turned ||= isTurned(bytes, at + 2, Math.min(at + length, bytes.length));
    at += length;
    if (marker === 0xda) at = endOfScan(bytes, at);
  }
  if (frame === null) throw new Refused("header");
  const kind = frame.parts === 1 ? "greyscale" : frame.parts === 4 ? "cmyk" : "";
  return { ...frame, end: at, lossy: true, animated: false, turned, kind };
}

/**
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function endOfScan(bytes, at) {
  for (; at + 1 < bytes.length; at += 1) {
    const next = bytes[at + 1];
    if (bytes[at] === 0xff && next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
  throw new Refused("truncated");
}

/**
 * @param {Uint8Array} bytes
 * @param {Reader} from
 * @returns {Header}
 */
function webp(bytes, from) {
  const length = from.long(4, true);
  const end = 8 + length + (length % 2);
  if (end > bytes.length) throw new Refused("truncated");
  const found = { end, bits: 8, animated: false, turned: false, kind: "" };
  const three = (/** @type {number} */ at) => 1 + from.byte(at) + from.byte(at + 1) * 256 + from.byte(at + 2) * 65536;
  switch (text(bytes, 12)) {
    case "VP8X":
      found.animated = (from.byte(20) & 2) !== 0;
      return { ...found, width: three(24), height: three(27), ...chunks(bytes, from, end) };
    case "VP8L": {
      if (from.byte(20) !== 0x2f) break;
      const packed = from.long(21, true);
      return { ...found, width: 1 + (packed & 0x3fff), height: 1 + ((packed >>> 14) & 0x3fff), lossy: false };
    }
    case "VP8 ":
      return { ...found, width: from.short(26, true) & 0x3fff, height: from.short(28, true) & 0x3fff, lossy: true };
  }
  throw new Refused("header");
}

/**
 * What the parts of an extended WebP say: whether it is lossy, and whether it is to be turned.
 * @param {Uint8Array} bytes
 * @param {Reader} from
 * @param {number} end
 */
function chunks(bytes, from, end) {
  const found = { lossy: false, turned: false };
  for (let at = 12; at + 8 <= end; ) {
    const length = from.long(at + 4, true);
    const kind = text(bytes, at);
    if (kind === "VP8 ") found.lossy = true;
    if (kind === "EXIF") found.turned = isTurned(bytes, at + 8, Math.min(at + 8 + length, end));
    at += 8 + length + (length % 2);
  }
  return found;
}

/**
 * How many pictures a zip lists, as contest.attacks.uploads counts them; null where its list cannot be read.
 * @param {Uint8Array} bytes
 */
function zipPictures(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - ZIP_END_BYTES;
  const least = Math.max(end - MAX_COMMENT_BYTES, 0);
  while (end >= least && !starts(bytes, ZIP_END, end)) end -= 1;
  if (end < least) return null;
  const listed = view.getUint16(end + 10, true);
  let at = end - view.getUint32(end + 12, true);
  let pictures = 0;
  for (let number = 0; number < listed; number += 1) {
    if (at < 0 || at + ZIP_ENTRY_BYTES > end || !starts(bytes, ZIP_ENTRY, at)) return null;
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const path = String.fromCharCode(...bytes.subarray(at + ZIP_ENTRY_BYTES, at + ZIP_ENTRY_BYTES + name));
    if (isMeant(path)) pictures += 1;
    at += ZIP_ENTRY_BYTES + name + extra + comment;
  }
  return pictures;
}

/**
 * Whether an entry of a zip is a picture somebody put there: no folder, and none of the files that systems add.
 * @param {string} path
 */
function isMeant(path) {
  const parts = path.split("/");
  const hidden = parts.some((part) => part.startsWith(".") || part.startsWith("__MACOSX"));
  const last = parts[parts.length - 1].toLowerCase();
  return last !== "" && !hidden && last !== "thumbs.db" && last !== "desktop.ini";
}

/**
 * @param {File} file
 * @param {Rules} rules
 * @returns {Promise<Inspection>}
 */
async function lookIntoZip(file, rules) {
  if (file.size > rules.maxUpload) return { zip: true, pictures: null };
  const pictures = zipPictures(new Uint8Array(await file.arrayBuffer()));
  if (pictures === 0) return { zip: true, refused: rules.words.zipEmpty };
  if (pictures !== null && pictures > rules.maxEntries) {
    return { zip: true, refused: fill(rules.words.zipMost, { count: pictures, most: rules.maxEntries }) };
  }
  return { zip: true, pictures };
}

/**
 * What the headers say; throws Refused as the server would, in the order in which it looks.
 * @param {Uint8Array} bytes
 * @param {Rules} rules
 */
function outside(bytes, rules) {
  if (bytes.length > rules.maxBytes) throw new Refused("too_many_bytes", { most: rules.maxBytes / 1024 ** 2 });
  if (bytes.length === 0) throw new Refused("empty");
  const from = reader(bytes);
  /** @type {Header} */
  let found;
  if (starts(bytes, PNG)) found = png(bytes, from);
  else if (starts(bytes, [0xff, 0xd8, 0xff])) found = jpeg(bytes, from);
  else if (text(bytes, 0) === "RIFF" && text(bytes, 8) === "WEBP") found = webp(bytes, from);
  else throw new Refused("not_a_picture");
  const { width, height } = found;
  if (width < 1 || height < 1) throw new Refused("no_pixels");
  if (width * height > rules.maxPixels) throw new Refused("too_many_pixels", { width, height, most: rules.maxPixels / 1e6 });
  if (found.animated) throw new Refused("animated");
  if (bytes.length > found.end) throw new Refused("trailing_bytes", { count: bytes.length - found.end });
  if (width !== rules.size || height !== rules.size) throw new Refused("wrong_size", { width, height, size: rules.size });
  if (found.bits > 8) throw new Refused("wrong_depth", { bits: found.bits });
  if (found.kind) throw new Refused("not_rgb", { kind: rules.kinds[found.kind] });
  return found;
}

/**
 * The pixels as this browser decodes them, red, green, blue and alpha.
 * @param {File} file
 * @param {number} size
 */
async function decoded(file, size) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  } catch {
    throw new Refused("damaged");
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(bitmap, 0, 0);
  return { canvas, pixels: context.getImageData(0, 0, size, size).data };
}

/**
 * The identity of a picture (R2), as picture_files.png.pixels_sha256 has it; "" where the browser gives no hash.
 * @param {Uint8ClampedArray} pixels
 * @param {number} size
 */
async function identity(pixels, size) {
  if (!globalThis.crypto?.subtle) return "";
  const head = new TextEncoder().encode(`RGB8 ${size}x${size}\n`);
  const all = new Uint8Array(head.length + size * size * 3);
  all.set(head);
  for (let from = 0, to = head.length; from < pixels.length; from += 4, to += 3) {
    all.set(pixels.subarray(from, from + 3), to);
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return [...digest].map((each) => each.toString(16).padStart(2, "0")).join("");
}

/**
 * Look at a file before it is sent.
 * @param {File} file
 * @param {Rules} rules
 * @returns {Promise<Inspection>}
 */
export async function look(file, rules) {
  const bytes = new Uint8Array(await file.slice(0, rules.maxBytes + 1).arrayBuffer());
  if (isZip(bytes)) return lookIntoZip(file, rules);
  try {
    const found = outside(bytes, rules);
    const { canvas, pixels } = await decoded(file, rules.size);
    if (found.turned) throw new Refused("exif_rotation");
    for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) throw new Refused("transparent");
    const sha256 = await identity(pixels, rules.size);
    return { canvas, sha256, warning: found.lossy ? rules.lossy : "" };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: fill(rules.refusals[error.reason], error.values) };
  }
}

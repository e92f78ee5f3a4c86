// Looks at a picture before it is sent: what the server would refuse is told here first, in the server's own words
// (labeling.refusals, handed over by the page). What is not looked at here, the server looks at.

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const GREY = [0, 4];
const PALETTE = 3;

/** A reason why the picture is refused: a key of the catalogue, and what fills its places. */
class Refused extends Error {
  constructor(reason, values = {}) {
    super(reason);
    this.reason = reason;
    this.values = values;
  }
}

export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

export function isZip(bytes) {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && [0x03, 0x05, 0x07].includes(bytes[2]);
}

function starts(bytes, magic) {
  return magic.every((each, at) => bytes[at] === each);
}

function text(bytes, at) {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

/** Numbers of the file; reading past its end says that it ends too early. */
function reader(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = (kind, at, little) => {
    try {
      return view[kind](at, little);
    } catch {
      throw new Refused("truncated");
    }
  };
  return {
    byte: (at) => read("getUint8", at),
    short: (at, little = false) => read("getUint16", at, little),
    long: (at, little = false) => read("getUint32", at, little),
  };
}

function png(bytes, from) {
  if (from.long(8) !== 13 || text(bytes, 12) !== "IHDR") throw new Refused("header");
  const found = { width: from.long(16), height: from.long(20), bits: from.byte(24), lossy: false };
  const colour = from.byte(25);
  const kinds = new Set();
  let at = 8;
  for (let kind = ""; kind !== "IEND"; ) {
    const length = from.long(at);
    from.long(at + 4);
    kind = text(bytes, at + 4);
    kinds.add(kind);
    at += 12 + length;
    if (at > bytes.length) throw new Refused("truncated");
  }
  const grey = GREY.includes(colour) ? (found.bits === 1 ? "blackAndWhite" : "greyscale") : "";
  return { ...found, end: at, animated: kinds.has("acTL"), kind: colour === PALETTE ? "palette" : grey };
}

function jpeg(bytes, from) {
  let frame = null;
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
    at += length;
    if (marker === 0xda) at = endOfScan(bytes, at);
  }
  if (frame === null) throw new Refused("header");
  const kind = { 1: "greyscale", 4: "cmyk" }[frame.parts] ?? "";
  return { ...frame, end: at, lossy: true, animated: false, kind };
}

function endOfScan(bytes, at) {
  for (; at + 1 < bytes.length; at += 1) {
    const next = bytes[at + 1];
    if (bytes[at] === 0xff && next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
  throw new Refused("truncated");
}

function webp(bytes, from) {
  const length = from.long(4, true);
  const end = 8 + length + (length % 2);
  if (end > bytes.length) throw new Refused("truncated");
  const found = { end, bits: 8, animated: false, kind: "" };
  const three = (at) => 1 + from.byte(at) + from.byte(at + 1) * 256 + from.byte(at + 2) * 65536;
  switch (text(bytes, 12)) {
    case "VP8X":
      return { ...found, width: three(24), height: three(27), animated: (from.byte(20) & 2) !== 0, lossy: hasLossy(bytes, end) };
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

function hasLossy(bytes, end) {
  for (let at = 30; at < end - 3; at += 1) if (text(bytes, at) === "VP8 ") return true;
  return false;
}

/** What the headers say; throws Refused as the server would, in the order in which it looks. */
function outside(bytes, rules) {
  if (bytes.length > rules.mostBytes) throw new Refused("too_many_bytes", { most: rules.mostBytes / 1024 ** 2 });
  if (bytes.length === 0) throw new Refused("empty");
  const from = reader(bytes);
  let found;
  if (starts(bytes, PNG)) found = png(bytes, from);
  else if (starts(bytes, [0xff, 0xd8, 0xff])) found = jpeg(bytes, from);
  else if (text(bytes, 0) === "RIFF" && text(bytes, 8) === "WEBP") found = webp(bytes, from);
  else throw new Refused("not_a_picture");
  const { width, height } = found;
  if (width < 1 || height < 1) throw new Refused("no_pixels");
  if (width * height > rules.mostPixels) throw new Refused("too_many_pixels", { width, height, most: rules.mostPixels / 1e6 });
  if (found.animated) throw new Refused("animated");
  if (bytes.length > found.end) throw new Refused("trailing_bytes", { count: bytes.length - found.end });
  if (width !== rules.size || height !== rules.size) throw new Refused("wrong_size", { width, height, size: rules.size });
  if (found.bits > 8) throw new Refused("wrong_depth", { bits: found.bits });
  if (found.kind) throw new Refused("not_rgb", { kind: rules.kinds[found.kind] });
  return found;
}

/** The pixels as this browser decodes them, red, green, blue and alpha. */
async function decoded(file, size) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  } catch {
    throw new Refused("damaged");
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return { canvas, pixels: context.getImageData(0, 0, size, size).data };
}

/** The identity of a picture (R2), as labeling.png.pixels_sha256 has it; "" where the browser gives no hash. */
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
 * Look at a file. Returns {zip} for an archive, {refused: words} for what the server would refuse, else
 * {canvas, sha256, warning}.
 */
export async function look(file, rules) {
  const bytes = new Uint8Array(await file.slice(0, rules.mostBytes + 1).arrayBuffer());
  if (isZip(bytes)) return { zip: true };
  try {
    const found = outside(bytes, rules);
    const { canvas, pixels } = await decoded(file, rules.size);
    for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) throw new Refused("transparent");
    const sha256 = await identity(pixels, rules.size);
    return { canvas, sha256, warning: found.lossy ? rules.lossy : "" };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: fill(rules.refusals[error.reason], error.values) };
  }
}

// What keeps a drawing from being sent, and where its lines meet.

import { checkOutline, crossingsOf } from "./geometry.js";

/**
 * {crossings, problem}: crossings as [x, y] in image pixels; problem as {code, label, ring}, or null. `code` is the
 * server's, `label` names the words for it, `ring` counts from 1 and is null for the whole outline.
 */
export function findings({ rings, open }, { width, height }) {
  const inOpen = crossingsOf(open, false);
  const crossings = [...rings.flatMap((ring) => crossingsOf(ring, true)), ...inOpen];
  return { crossings, problem: refused(rings, width, height) ?? unfinished(rings, open, inOpen) };
}

function refused(rings, width, height) {
  if (!rings.length) return null;
  const { code, ring } = checkOutline(rings, width, height);
  return code && { code, label: code, ring };
}

function unfinished(rings, open, crossings) {
  const crossing = "outline_self_crossing";
  if (crossings.length) return { code: crossing, label: crossing, ring: rings.length + 1 };
  if (open.length) return { code: "outline_unfinished", label: "outline_unfinished", ring: null };
  if (!rings.length) return { code: "outline_too_few_corners", label: "outline_empty", ring: null };
  return null;
}

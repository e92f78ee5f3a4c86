// What the editor says, to be spoken by the page and shown beside the picture. A page may replace any of it.

export const LABELS = {
  name: "Outline of the object",
  describedBy: null,
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
  redone: "Done again",
  noEdge: "There is no edge after this corner",
  needsThree: "A ring needs at least three corners",
  problems: {
    outline_empty: "No outline yet. Place corners around the object.",
    outline_unfinished: "The ring is not closed. Choose its first corner, or press C.",
    outline_shape: "The outline cannot be read. Clear it and draw it again.",
    outline_non_finite: "Ring {ring} has a corner without a position. Remove it and place it again.",
    outline_too_many_corners: "The outline has too many corners: 1,000 in 20 rings are the most. Remove some.",
    outline_too_few_corners: "Ring {ring} has fewer than three different corners. Add corners or remove the ring.",
    outline_zero_area: "Ring {ring} encloses nothing. Move a corner off the line.",
    outline_self_crossing: "Ring {ring} crosses or touches itself where it is marked. Move a corner there.",
    outline_outside: "The outline lies outside the picture. Draw it around the object.",
  },
};

/** The template with {names} replaced by values. */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

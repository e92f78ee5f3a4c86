// Answers tests in Python: {call, given} comes in as JSON, and what the call makes of each of `given` goes out.
import { readFileSync } from "node:fs";

const geometry = await import("../../static/js/geometry.js");
const { Trace } = await import("../../static/js/outline_trace.js");
const { LABELS } = await import("../../static/js/outline_words.js");

const CALLS = {
  check: (ring) => {
    const { code, box } = geometry.checkOutline([ring], 299, 299);
    return [code, box && [box.xmin, box.ymin, box.xmax, box.ymax]];
  },
  words: () => LABELS,
  simplify: ([points, tolerance]) => geometry.simplify(points, tolerance),
  trace: ([points, tolerance]) => {
    const line = new Trace({ rings: [], open: [] }, points, true);
    return { points: line.points, ...line.drawn(tolerance) };
  },
};

const { call, given } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(given.map(CALLS[call])));

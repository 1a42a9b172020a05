// Gaps of a recording: what was not recorded, and the rows that say what was found changed after it.

import { grouped } from "report/words.js";

/** The type of the rows that stand for a gap. */
const TYPE = "gap";

/** Offsets [from, to) are missing; the times are those of the records around them.
 * @typedef {{from: number, to: number, begin: number, end: number}} Gap */

/** All gaps in the data. @param {import("report/data.js").Data} data @returns {Gap[]} */
export function gapsOf(data) {
  return data.header.gaps.map((/** @type {[number, number, number|null, number]} */ [from, to, begin, end]) => ({ from, to, begin: begin ?? end, end }));
}

/** True if a row has what was found after a gap, and is no record. @param {import("report/data.js").Data} data @param {number} row */
export function isFound(data, row) {
  return data.header.types[data.type[row]] === TYPE;
}

/** What was not recorded, in words. @param {Gap} gap */
export const gapWords = ({ from, to }) => `offsets ${grouped(from)} to ${grouped(to - 1)} were not recorded`;

/** The gaps inside a range of rows. @param {import("report/data.js").Data} data @param {number} first @param {number} last @returns {Gap[]} */
export function gapsWithin(data, first, last) {
  const [from, to] = [data.effect[first], data.effect[Math.min(last, data.rows - 1)]];
  return gapsOf(data).filter((gap) => from < gap.to && gap.to - 1 <= to);
}

/** The gap at a time; null if it was recorded. @param {import("report/data.js").Data} data @param {number} time */
export function gapAt(data, time) {
  return gapsOf(data).find(({ begin, end }) => time > begin && time < end) ?? null;
}

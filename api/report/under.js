// What is under the pointer: the row, the state in it, and since when; named for the hover and the click.

import { HEALTH_PX, RANKS, ROW_PX, TOP_PX } from "report/bars.js";
import { LEADERLESS, UNDER_REPLICATED } from "report/data.js";
import { gapAt, gapWords } from "report/gaps.js";
import { MARKS } from "report/marks.js";
import { above } from "report/numbers.js";
import { objectsIn, ofKind, outageOf, STATES } from "report/outages.js";
import { ABSENT, worst } from "report/states.js";
import { termText } from "report/terms.js";
import { clockText, countText, durationText, grouped, plain, timeText } from "report/words.js";

/** A narrow bar is hit from this far. */
const NEAR_PX = 2, MARK_PX = 9;

/** A state in the picture: its objects, among which some are in it, and the data's row to look at.
 * @typedef {{objects: number[], bit: number, row: number, name: string|null}} Red */

/** @typedef {import("report/picture.js").Picture} Picture */
/** @typedef {import("report/states.js").Row} Row */

/** The row of the picture at a height; null above and below the rows. @param {Picture} picture @param {number} y @returns {Row|null} */
export function rowAt(picture, y) {
  if (y < TOP_PX || y >= TOP_PX + picture.names.clientHeight) return null;
  return picture.current[Math.floor((y - TOP_PX + picture.names.scrollTop) / ROW_PX)] ?? null;
}

/** The bad state under the pointer; null if it is healthy there. @param {Picture} picture @param {number} x @param {number} y @returns {Red|null} */
export function redAt(picture, x, y) {
  if (gapAt(picture.data, picture.axis.time(x)) !== null) return null;
  const { data, states } = picture, row = rowAt(picture, y);
  if (row === null) return y < HEALTH_PX ? healthAt(picture, x) : null;
  const steps = states.stepsOf(row), step = stepAt(steps, picture.axis, x);
  if (step < 0 || !(steps.bits[step] & ~ABSENT)) return null;
  const objects = row.kind === "topic" ? row.lives.flatMap((life) => data.partitionsOf(life)) : row.lives;
  return { objects, bit: worst(steps.bits[step]), row: steps.row[step], name: picture.named(row) };
}

function healthAt(/** @type {Picture} */ picture, /** @type {number} */ x) {
  const { data, health } = picture;
  const bits = health.leaderless.map((count, i) => (count ? LEADERLESS : health.down[i] ? UNDER_REPLICATED : 0));
  const step = stepAt({ ...health, bits }, picture.axis, x);
  return step < 0 || !bits[step] ? null : { objects: ofKind(data, "partition"), bit: bits[step], row: health.row[step], name: null };
}

/** The step that is drawn at a pixel: the worst one there, or else close to it; -1 before the first.
 * @param {{time: number[], bits: number[]}} steps @param {import("report/axis.js").Axis} axis @param {number} x */
export function stepAt(steps, axis, x) {
  const rank = (/** @type {number} */ i) => RANKS.get(worst(steps.bits[i])) ?? 0;
  let found = -1;
  for (const near of [0, NEAR_PX]) {
    const begin = Math.floor(x) - near, end = Math.floor(x) + near;
    for (let i = Math.max(0, above(steps.time, axis.time(begin)) - 1); i < steps.time.length; i++) {
      const from = Math.floor(axis.x(steps.time[i]));
      if (from > end) break;
      const to = Math.max(from + 1, Math.floor(axis.x(steps.time[i + 1] ?? Infinity)));
      if (to > begin && (found < 0 || rank(i) > rank(found))) found = i;
    }
    if (found >= 0 && steps.bits[found] & ~ABSENT) break;
  }
  return found;
}

/** What is under the pointer, as lines; none where nothing is. @param {Picture} picture @param {number} x @param {number} y @returns {string[]} */
export function textsAt(picture, x, y) {
  const time = picture.axis.time(x), row = rowAt(picture, y), gap = gapAt(picture.data, time);
  if (gap !== null) return [`${gapWords(gap)}: the state is not known`];
  if (row !== null) return rowTexts(picture, row, x, y);
  if (y >= TOP_PX) return picture.strips.textsAt(x, y);
  if (y >= HEALTH_PX) return [termText(picture.terms, time)].filter((text) => text !== null);
  const red = redAt(picture, x, y), at = picture.data.effect[above(picture.data.axisTime, time) - 1] ?? picture.data.first;
  return [timeText(Math.round(time)), picture.healthAt(red === null ? at : picture.data.effect[red.row])];
}

function rowTexts(/** @type {Picture} */ picture, /** @type {Row} */ row, /** @type {number} */ x, /** @type {number} */ y) {
  const { data, states, axis } = picture, name = plain(picture.named(row));
  const steps = states.stepsOf(row), step = stepAt(steps, axis, x);
  const marks = nearMarks(picture, row, x);
  if (step < 0 || steps.bits[step] & ABSENT) return [`${name}: not there`, ...marks];
  const red = redAt(picture, x, y);
  if (red === null) return [`${name}: healthy`, span(...interval(steps, step, (bits) => bits === 0), data), ...marks];
  const { one, more } = /** @type {any} */ (STATES.get(red.bit)), down = objectsIn(data, red.objects, red.bit, red.row);
  if (row.kind === "topic") {
    const all = red.objects.filter((object) => data.isThere(object, red.row)).length;
    const [begin, end] = interval(steps, step, (bits) => (bits & red.bit) > 0);
    return [`${name}: ${grouped(down.length)} of ${countText(all, "partition")} ${down.length === 1 ? one : more}`, span(begin, end, data), ...cause(data, down[0], red), ...marks];
  }
  const [begin, end] = interval(steps, step, (bits) => (bits & red.bit) > 0);
  return [`${name} ${one}`, span(begin, end, data), ...cause(data, down[0], red), ...marks];
}

function cause(/** @type {import("report/data.js").Data} */ data, /** @type {number|undefined} */ object, /** @type {Red} */ { bit, row }) {
  const found = object === undefined ? null : outageOf(data, object, bit, row);
  return found?.cause ? [plain(`${found.cause.text} (${found.cause.offset})`)] : [];
}

/** The times between which the steps around one fulfil a condition; null where that is the end of the data.
 * @returns {[number|null, number|null]} */
function interval(/** @type {import("report/states.js").Steps} */ steps, /** @type {number} */ step, /** @type {(bits: number) => boolean} */ holds) {
  let first = step, next = step + 1;
  while (first > 0 && holds(steps.bits[first - 1])) first--;
  while (next < steps.bits.length && holds(steps.bits[next])) next++;
  return [steps.row[first] ? steps.time[first] : null, next < steps.time.length ? steps.time[next] : null];
}

function span(/** @type {number|null} */ begin, /** @type {number|null} */ end, /** @type {import("report/data.js").Data} */ data) {
  const [from, to] = [begin ?? data.axisTime[0], end ?? data.header.times[1] ?? data.axisTime[data.rows - 1]];
  const lasted = `${begin === null ? "at least " : ""}${durationText(Math.max(0, to - from))}`;
  return `${begin === null ? "since before" : clockText(begin)} to ${end === null ? "the last record" : clockText(end, begin ?? undefined)} (${lasted})`;
}

/** The signs near the pointer, in words: a line for each kind. @param {Picture} picture @param {Row} row @param {number} x @returns {string[]} */
export function nearMarks({ axis, data, marks }, row, x) {
  const near = marks.of(row).filter(({ time }) => time >= axis.time(x - MARK_PX) && time <= axis.time(x + MARK_PX));
  return MARKS.flatMap(([kind, , text]) => {
    const found = near.filter((mark) => mark.kind === kind), last = found.at(-1);
    if (last === undefined) return [];
    // A note is rarely by the one whom it is about.
    const by = [...new Set(found.map((mark) => data.recordOf(mark.row).principal))], who = kind !== "noted" && by.length === 1 && by[0] ? ` by ${by[0]}` : "";
    const begin = clockText(found[0].time), end = clockText(last.time, found[0].time);
    return plain(found.length === 1 ? `${text} at ${begin}${who}` : `${text}, ${found.length} times from ${begin} to ${end}${who}`);
  });
}

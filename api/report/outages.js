// Outages: when an object was in one of the states that have a colour, and what began it.

import { FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED } from "report/data.js";
import { worst } from "report/states.js";

/** What each state is called, as `metalog outages` and as the page do, and the field that has it.
 * `was` and `were` are for what is over. @type {Map<number, {kind: string, field: string, one: string, more: string, was: string, were: string}>} */
export const STATES = new Map([
  [LEADERLESS, { kind: "leaderless", field: "leader", one: "has no leader", more: "have no leader", was: "had no leader", were: "had no leader" }],
  [UNDER_REPLICATED, { kind: "under_replicated", field: "isr", one: "is under-replicated", more: "are under-replicated", was: "was under-replicated", were: "were under-replicated" }],
  [FENCED, { kind: "fenced", field: "fenced", one: "is fenced", more: "are fenced", was: "was fenced", were: "were fenced" }],
  [SHUTTING_DOWN, { kind: "shutting_down", field: "in_controlled_shutdown", one: "is shutting down", more: "are shutting down", was: "was shutting down", were: "were shutting down" }],
]);

/**
 * One outage of an object. Offsets are those of the records that began and ended it; null if it began
 * before the data, or is not over at their end. `row` is the last row of the data in which it lasts.
 * @typedef {{object: number, bit: number, from: number|null, fromTime: number|null, fromRow: number, to: number|null, toTime: number|null, row: number, cause: {offset: number, text: string}|null, duration: number}} Outage
 */

/** The outage of a kind that an object is in after a row; null if it is in none.
 * @param {import("report/data.js").Data} data @param {number} object @param {number} bit @param {number} row @returns {Outage|null} */
export function outageOf(data, object, bit, row) {
  const touches = data.touchesOf(object), { outages, rowOf } = data;
  let at = touches.length - 1;
  while (at >= 0 && rowOf[touches[at]] > row) at--;
  if (at < 0 || !(outages[touches[at]] & bit)) return null;
  let first = at, next = at + 1;
  while (first > 0 && outages[touches[first - 1]] & bit) first--;
  while (next < touches.length && outages[touches[next]] & bit) next++;
  return spanOf(data, object, bit, rowOf[touches[first]], next < touches.length ? rowOf[touches[next]] : null);
}

/** All outages of an object, oldest first. @param {import("report/data.js").Data} data @param {number} object
 * @param {Iterable<number>} [kinds] Only these. @returns {Outage[]} */
export function outagesOf(data, object, kinds = STATES.keys()) {
  /** @type {Outage[]} */
  const found = [];
  for (const bit of kinds) {
    /** @type {number|null} */
    let began = null;
    for (const touch of data.touchesOf(object)) {
      const row = data.rowOf[touch], isIn = (data.outages[touch] & bit) > 0;
      if (isIn) began ??= row;
      else if (began !== null) {
        found.push(spanOf(data, object, bit, began, row));
        began = null;
      }
    }
    if (began !== null) found.push(spanOf(data, object, bit, began, null));
  }
  return found.sort((a, b) => a.fromRow - b.fromRow);
}

/** The outages of a kind that form one time around a row: any of the objects was in it, without a pause.
 * @param {import("report/data.js").Data} data @param {number[]} objects @param {number} bit @param {number} row @returns {Outage[]} */
export function outagesAround(data, objects, bit, row) {
  const all = objects.flatMap((object) => outagesOf(data, object, [bit])).sort((a, b) => a.fromRow - b.fromRow);
  /** @type {Outage[]} */
  let found = [];
  let end = -1;
  for (const each of all) {
    if (each.fromRow > end + 1) {
      if (end >= row) break;
      found = [];
    }
    found.push(each);
    end = Math.max(end, each.row);
  }
  return end >= row ? found : [];
}

/** @returns {Outage} */
function spanOf(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ bit, /** @type {number} */ begin, /** @type {number|null} */ end) {
  // Row 0 is the state before the data.
  const isKnown = begin > 0, time = end === null ? data.header.times[1] ?? data.time[data.rows - 1] : data.time[end];
  return {
    object, bit, fromRow: begin,
    from: isKnown ? data.offset[begin] : null, fromTime: isKnown ? data.time[begin] : null,
    to: end === null ? null : data.offset[end], toTime: end === null ? null : data.time[end],
    row: end === null ? data.rows - 1 : end - 1,
    cause: isKnown ? causeAt(data, begin) : null,
    duration: Math.max(0, time - data.time[begin]),
  };
}

/** What began the outage that a row began. @param {import("report/data.js").Data} data @param {number} row */
function causeAt(data, row) {
  const text = data.header.outage_texts[data.outageText[row - 1]];
  return text ? { text, offset: data.offset[row] + data.outageAt[row - 1] } : null;
}

/** The worst state that an object is in after a row; 0 if it is in none, or does not exist.
 * @param {import("report/data.js").Data} data @param {number} object @param {number} row */
export function stateOf(data, object, row) {
  return data.isThere(object, row) ? worst(data.outagesAt(object, row)) : 0;
}

/** The objects among some that are in a state after a row.
 * @param {import("report/data.js").Data} data @param {Iterable<number>} objects @param {number} bit @param {number} row */
export function objectsIn(data, objects, bit, row) {
  return Array.from(objects).filter((object) => data.isThere(object, row) && data.outagesAt(object, row) & bit);
}

/** The objects of a kind. @param {import("report/data.js").Data} data @param {"partition"|"broker"} name */
export function ofKind(data, name) {
  const kind = data.kinds.indexOf(name), begin = data.kindStart[kind], end = data.kindStart[kind + 1] ?? data.objects;
  return Array.from({ length: Math.max(0, end - begin) }, (_, i) => begin + i);
}

/** Outages whose causes have the same words, most first. @param {Outage[]} outages @returns {Outage[][]} */
export function byCause(outages) {
  /** @type {Map<string, Outage[]>} */
  const found = new Map();
  for (const each of outages) {
    const key = each.cause?.text ?? "", of = found.get(key);
    if (of) of.push(each);
    else found.set(key, [each]);
  }
  return [...found.values()].sort((a, b) => b.length - a.length);
}

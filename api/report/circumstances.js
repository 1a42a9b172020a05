// What else was so when outages began: brokers that were down at the same time, a new controller, restarts.

import { FENCED, LEADERLESS, SHUTTING_DOWN } from "report/data.js";
import { gapsOf } from "report/gaps.js";
import { ofKind } from "report/outages.js";
import { countText, durationText } from "report/words.js";

const BEFORE_MS = 600_000;
const SILENCE_MS = 5000;
const AFTER_SILENCE_MS = 60_000;
const LOST_BROKER = / was fenced \((?!controlled shutdown, inferred)|restarted: it registered again/;

/** @typedef {import("report/outages.js").Outage} Outage */

/** The brokers that were down when the last of some outages began; in words only if there are several.
 * @param {import("report/data.js").Data} data @param {Outage[]} outages @returns {string[]} */
export function brokersDown(data, outages) {
  // A fencing comes later in the batch than what it causes.
  const row = outages.reduce((latest, { fromRow, cause }) => Math.max(latest, fromRow, data.rowAt(cause?.offset ?? data.first)), 0);
  if (row === 0) return []; // they began before these records
  const there = ofKind(data, "broker").filter((broker) => data.isThere(broker, row));
  const down = there.filter((broker) => data.outagesAt(broker, row) & (FENCED | SHUTTING_DOWN)).map((broker) => Number(data.labelAt(broker, row)));
  return down.length > 1 ? [`${down.length} of ${countText(there.length, "broker")} were down: ${down.sort((a, b) => a - b).join(", ")}.`] : [];
}

/** The last controller that became active in the ten minutes before an outage, or in its batch; null if none did.
 * @param {import("report/data.js").Data} data @param {Outage} began @returns {{offset: number, text: string}|null} */
export function newController(data, began) {
  const { from, fromTime } = began;
  if (from === null || fromTime === null) return null;
  /** @type {[number, number, number, number|null, number][]} */
  const terms = data.header.terms;
  // The first one of these records, or after a gap, may go on with an earlier term.
  const index = terms.findLastIndex(([offset, time, epoch, node], i) => offset < from && time >= fromTime - BEFORE_MS && node !== null && epoch !== terms[i - 1]?.[2]);
  if (index < 0) return null;
  const [offset, time, , node] = terms[index], ago = Math.max(0, fromTime - time), silence = silenceBefore(data, index);
  const since = silence > SILENCE_MS ? `, after ${durationText(silence)} without a record: what failed meanwhile shows only from then on` : "";
  return { offset, text: `node ${node} became the controller ${ago ? `${durationText(ago)} before` : "just then"}${since}` };
}

/** The restarts in or up to ten minutes before an outage, as the summary tells them; none where the page has no summary.
 * @param {import("report/data.js").Data} data @param {Outage} began @param {Outage} ended @returns {string[]} */
export function restarts(data, began, ended) {
  /** @type {import("report/summary.js").Clause[]} */
  const clauses = data.header.summary ?? [];
  const [from, to] = [began.from ?? data.first, ended.to ?? data.last];
  const isNear = (/** @type {number} */ last) => last >= from || (began.fromTime ?? 0) - data.time[data.rowAt(last)] <= BEFORE_MS;
  return clauses.filter(({ about, from_offset: first, to_offset: last }) => about === "restarts" && first !== null && last !== null && first <= to && isNear(last)).map(({ text }) => `${text}.`);
}

/** How long some outages lasted, in words. @param {import("report/data.js").Data} data @param {Outage[]} outages @param {number} since @param {number} until */
export function lasted(data, outages, since, until) {
  const { least, most } = bounds(data, outages, since, until);
  if (most === null) return `at least ${durationText(least)}`;
  return least === most ? durationText(least) : `${durationText(least)} to ${durationText(most)}`;
}

/** How long some outages lasted at least and at most, null if that is not known: a process of broker and controller that restarted
 * was gone before its broker was fenced. @param {import("report/data.js").Data} data @param {Outage[]} outages @param {number} since @param {number} until */
export function bounds(data, outages, since, until) {
  let gone = since, seen = since, isOpen = false;
  const looked = new Set();
  for (const each of outages) {
    const known = data.header.gone.find((/** @type {any[]} */ [offset]) => offset === each.cause?.offset);
    const isOf = known !== undefined && (each.bit !== LEADERLESS || (each.fromRow > 0 && data.stateAt(each.object, each.fromRow - 1)?.leader === known[1]));
    const key = `${each.cause?.offset} ${isOf}`;
    if (looked.has(key)) continue;
    looked.add(key);
    if (isOf) [gone, seen] = [Math.min(gone, known[2]), Math.min(seen, known[3] ?? known[2])];
    isOpen ||= (!isOf || known[3] === null) && (each.from === null || silenceBeforeOutage(data, each) > 0);
  }
  return { least: Math.max(0, until - gone), most: isOpen ? null : Math.max(0, until - seen) };
}

/** How long no controller wrote before the term in which a broker was found gone that an outage began with; 0 if that says nothing.
 * @param {import("report/data.js").Data} data @param {Outage} began */
export function silenceBeforeOutage(data, { from, fromTime, fromRow, cause }) {
  if (from === null || fromTime === null || !LOST_BROKER.test(cause?.text ?? "")) return 0;
  const name = /^broker \d+/.exec(cause?.text ?? "")?.[0].replace(" ", ":") ?? "", broker = data.find(name, fromRow - 1);
  // A broker that registered later was there after the silence.
  const registered = broker === null ? -1 : data.stateAt(broker, fromRow - 1)?.broker_epoch ?? -1;
  const silences = data.header.terms.map((/** @type {any[]} */ [offset, time], /** @type {number} */ i) =>
    offset < from && offset > registered && fromTime - time <= AFTER_SILENCE_MS ? silenceBefore(data, i) : 0);
  return silences.findLast((/** @type {number} */ ms) => ms >= SILENCE_MS) ?? 0;
}

/** How long no controller wrote before a term began; 0 if that is not known. @param {import("report/data.js").Data} data @param {number} index */
function silenceBefore(data, index) {
  if (index === 0) return 0;
  const [[before, , , , last], [offset, time]] = data.header.terms.slice(index - 1, index + 1);
  return gapsOf(data).some(({ to }) => before < to && to <= offset) ? 0 : time - last;
}

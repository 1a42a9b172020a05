// What may be lost by an outage of partitions, as far as the records say it, and what they do not say.

import { FENCED, LEADERLESS, UNDER_REPLICATED } from "report/data.js";
import { endedUncleanly } from "report/ends.js";
import { gapsWithin, gapWords } from "report/gaps.js";
import { isGoing } from "report/object_states.js";
import { countText, timeText } from "report/words.js";

/** More partitions than these are not looked at one by one. */
const LOOKED_AT_MAX = 20_000;

/** More brokers are not named one by one. */
const BROKERS_SAID = 3;

/** How the text of a cause ends that follows from other records. */
const INFERRED = "(controlled shutdown, inferred)";

/** @typedef {import("report/outages.js").Outage} Outage */

/** What may be lost. @param {import("report/data.js").Data} data @param {Outage[]} outages Of the same kind. @returns {string[]} */
export function mayBeLost(data, outages) {
  const { bit } = outages[0], looked = outages.slice(0, LOOKED_AT_MAX);
  if (bit === UNDER_REPLICATED) return [redundancy(data, looked)];
  if (bit !== LEADERLESS) return ["A broker's state loses no records; its partitions may be down: see the events."];
  const ended = looked.filter((each) => each.to !== null), unclean = ended.filter((each) => endedUncleanly(data, each));
  const gone = ended.filter((each) => !isThereAfter(data, each)), lasting = looked.filter((each) => each.to === null);
  const going = ended.filter(({ object, row }) => isGoing(data.stateAt(object, row + 1)));
  const clean = ended.length - unclean.length - gone.length - going.length, count = (/** @type {number} */ of) => countText(of, "partition");
  const found = [];
  const alone = unclean.filter(({ object, row }) => data.stateAt(object, row)?.replicas.length === 1), chosen = unclean.length - alone.length;
  if (chosen) found.push(`${count(chosen)} got a leader by an unclean election: records that the new leader lacked are lost.`);
  if (alone.length) found.push(`${count(alone.length)} got a leader by an unclean election: no other replica exists, but records that were not on disk may be lost.`);
  if (gone.length) found.push(`${count(gone.length)} ${gone.length === 1 ? "was" : "were"} deleted before it ended, with ${gone.length === 1 ? "its" : "their"} records, as was asked.`);
  if (clean) found.push(`Nothing of ${count(clean)}, as far as the metadata says: ${clean === 1 ? "the" : "each"} leader afterwards was in sync.`);
  if (going.length) found.push(`${count(going.length)} ${going.length === 1 ? "was" : "were"} taken offline to be removed, as was asked, with ${going.length === 1 ? "its" : "their"} records.`);
  if (lasting.length) found.push(waits(data, lasting));
  if (looked.length < outages.length) found.push(`Of ${count(outages.length)}, the first ${looked.length} were looked at.`);
  return found;
}

function isThereAfter(/** @type {import("report/data.js").Data} */ data, /** @type {Outage} */ { object, row }) {
  return data.isThere(object, row + 1);
}

/** The brokers for which partitions without a leader wait. */
function waits(/** @type {import("report/data.js").Data} */ data, /** @type {Outage[]} */ outages) {
  const brokers = new Set();
  for (const { object, row } of outages) for (const each of waitsFor(data.stateAt(object, row))) brokers.add(each);
  const names = [...brokers].sort((a, b) => a - b).join(", ");
  return `${countText(outages.length, "partition")} had no leader yet at the end of these records. Nothing is lost if the last brokers in sync (${names}) come back with their disks; an unclean election loses what the chosen one lacks.`;
}

/** The brokers of which one can be elected without loss. @param {any} state */
export function waitsFor(state) {
  return [state?.isr, state?.eligible_leader_replicas, state?.last_known_elr, state?.replicas].find((ids) => ids?.length) ?? [];
}

function redundancy(/** @type {import("report/data.js").Data} */ data, /** @type {Outage[]} */ outages) {
  let least = Infinity;
  for (const { object, row } of outages) least = Math.min(least, data.stateAt(object, row)?.isr.length ?? Infinity);
  return `Nothing by itself. At the end of it the ISR had ${least === 1 ? "one replica only: were that lost, so would be records" : `${countText(least, "replica")} at least`}.`;
}

/** Why no other broker could lead when partitions lost their leader. @param {import("report/data.js").Data} data @param {Outage[]} outages Of the same kind. @returns {string[]} */
export function whyNobodyElse(data, outages) {
  if (outages[0].bit !== LEADERLESS) return [];
  const states = outages.slice(0, LOOKED_AT_MAX).map(({ object, fromRow }) => (fromRow > 0 ? data.stateAt(object, fromRow - 1) : null));
  const single = states.filter((state) => state?.replicas.length === 1).length, found = [];
  if (single) found.push(`${countText(single, "partition")} ${single === 1 ? "has" : "have"} one replica: no other broker could lead.`);
  const alone = outages.filter((_, i) => states[i]?.isr.length === 1 && states[i]?.replicas.length !== 1);
  return [...found, ...aloneInSync(data, alone)];
}

/** The brokers that alone were in sync with partitions when these lost their leader, most partitions first, and since when.
 * @param {import("report/data.js").Data} data @param {Outage[]} outages */
function aloneInSync(data, outages) {
  /** @type {Map<number, {count: number, row: number}>} The partitions of each broker, and the first row in which it was alone. */
  const found = new Map();
  for (const { object, fromRow } of outages) {
    const [broker] = /** @type {any} */ (data.stateAt(object, fromRow - 1)).isr, row = aloneFrom(data, object, fromRow - 1);
    const known = found.get(broker) ?? { count: 0, row };
    found.set(broker, { count: known.count + 1, row: Math.min(known.row, row) });
  }
  return [...found].sort(([, a], [, b]) => b.count - a.count).slice(0, BROKERS_SAID).map(([broker, { count, row }]) =>
    `Broker ${broker} was the only replica in sync of ${countText(count, "partition")}${row > 0 ? `, since ${timeText(data.time[row])}` : ""}: no other broker could lead without losing records.`);
}

/** The row since which a partition's ISR had one replica; 0 if it had in the first. */
function aloneFrom(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ until) {
  let found = 0;
  for (const { before, after, touch } of data.stepsOf(object, until)) {
    if (after?.isr.length === 1 && before?.isr.length !== 1) found = data.rowOf[touch];
  }
  return found;
}

/** What the records do not say. @param {import("report/data.js").Data} data @param {Outage[]} outages @returns {string[]} */
export function notKnown(data, outages) {
  const { header } = data, found = [];
  const early = outages.filter((each) => each.from === null);
  const where = header.history_from <= header.about.history_start ? "the kept history" : "the records of this page";
  if (early.length) found.push(`When ${early.length === outages.length ? "it" : `that of ${countText(early.length, "object")}`} began: before ${where}, from offset ${header.history_from} on.`);
  const begun = Math.min(...outages.map((each) => each.fromRow)), end = Math.max(...outages.map((each) => each.row + 1));
  for (const gap of gapsWithin(data, begun, end)) found.push(`What happened in a gap: ${gapWords(gap)}. It may have begun, ended or paused there.`);
  if (outages.some((each) => each.to === null)) found.push("How it ended: it lasted to the last record.");
  if (outages.some((each) => (each.to ?? data.last) >= header.confirmed_end)) found.push(`Whether Kafka kept the records from offset ${header.confirmed_end} on: they were not confirmed.`);
  const inferred = outages.filter(({ cause }) => cause?.text.endsWith(INFERRED));
  if (inferred.length) found.push("Whether it was shut down in order: that is inferred, because the controller's own records end just after the fencing, and the broker came back as another process.");
  const fenced = fencedBy(data, outages.filter((each) => !inferred.includes(each)));
  if (fenced.length) found.push(`What happened to ${fenced.join(" and ")} before the fencing: see ${fenced.length === 1 ? "the broker's" : "their"} own logs.`);
  found.push("How many messages are concerned: the metadata does not contain them.");
  return found;
}

/** The brokers whose fencing caused outages. @param {import("report/data.js").Data} data @param {Outage[]} outages */
function fencedBy(data, outages) {
  const found = [...new Set(outages.map(({ cause }) => cause?.offset ?? null))].flatMap((offset) => fencedAt(data, offset));
  return [...new Set(found.map((object) => data.nameAt(object, 0).replace(":", " ")))].sort();
}

/** The brokers that the record at an offset fenced. @param {import("report/data.js").Data} data @param {number|null} offset */
export function fencedAt(data, offset) {
  const row = offset === null ? 0 : data.rowAt(offset);
  if (row <= 0 || data.offset[row] !== offset) return [];
  return data.touchedIn(row - 1, row).filter((object) => data.kinds[data.objectKind[object]] === "broker" && data.outagesAt(object, row) & FENCED && data.isThere(object, row - 1));
}

// Why: the chain of records that led to a value, by the rules of `metalog why`.
// The file contains the effects of the records in words, and the records that caused them.

import { gapsWithin, gapWords, isFound } from "report/gaps.js";
import { GONE, isGoing } from "report/object_states.js";
import { chainText } from "report/words.js";

/** @typedef {{offset: number, time: number, type: string, text: string, principal: string|null}} Link */
/** @typedef {{before: any, after: any, row: number}} Step */

/** @type {Record<string, string>} */
const DEFAULT_FIELDS = { partition: "leader", broker: "fenced" };
/** @type {Record<string, string[]>} */
const OF_INCIDENTS = { partition: ["leader", "isr"], broker: ["fenced", "in_controlled_shutdown"] };

/**
 * The chain of records that led to a field's value after a row; null if the object is absent then.
 * @param {import("report/data.js").Data} data
 * @param {number} object @param {string|null} wanted @param {number} row
 */
export function whyOf(data, object, wanted, row) {
  const state = data.stateAt(object, row);
  if (state === null) return null;
  const kind = data.kinds[data.objectKind[object]];
  const chosen = wanted ?? DEFAULT_FIELDS[kind];
  const found = OF_INCIDENTS[kind]?.includes(chosen)
    ? kind === "broker" ? ofBroker(data, object, row) : ofPartition(data, object, chosen, row)
    : ofSetters(data, object, chosen ?? lastField(data, object, row), row);
  const field = found.field ?? chosen;
  const notes = [...found.notes];
  const first = found.chain.at(-1), begin = first === undefined ? 0 : data.rowAt(first.offset);
  for (const gap of gapsWithin(data, begin, row)) notes.push(`${gapWords(gap)}: what happened in between is not known`);
  if (data.header.is_mirror) notes.push("a log of Kafka does not say who asked for a change");
  return { name: data.nameAt(object, row), field, value: state[field] ?? null, chain: found.chain, notes };
}

function start(/** @type {import("report/data.js").Data} */ data) {
  const kept = data.header.about.history_start;
  return { isWhole: data.header.history_from <= kept, offset: data.header.history_from };
}

/** The records of a partition in the data, with the states before and after each. @returns {Step[]} */
function stepsOf(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ row) {
  return data.stepsOf(object, row).map(({ touch, before, after }) => ({ before, after, row: data.rowOf[touch] }))
    .filter((step) => step.row > 0 && step.after !== null);
}

const setsLeader = (/** @type {Step} */ s) => s.before === null || s.before.leader !== s.after.leader;
const setsIsr = (/** @type {Step} */ s) =>
  s.before === null || [...s.before.isr].sort().join() !== [...s.after.isr].sort().join();
const isWhole = (/** @type {any} */ p) => p.isr.length >= p.replicas.length - p.adding_replicas.length;

/** The last election, the loss of the lead before it, and earlier ISR changes. */
function leaderSteps(/** @type {Step[]} */ steps) {
  const found = [];
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i];
    if (!setsLeader(step)) continue;
    found.push(step);
    if (step.before === null || step.before.leader !== -1) {
      const whole = step.before === null || isWhole(step.before);
      return whole ? found : [...found, ...isrSteps(steps.slice(0, i))];
    }
  }
  return found;
}

/** The changes of the ISR since it last contained all replicas. */
function isrSteps(/** @type {Step[]} */ steps) {
  const found = [];
  for (let i = steps.length - 1; i >= 0; i--) {
    if (!setsIsr(steps[i])) continue;
    found.push(steps[i]);
    if (steps[i].before === null || isWhole(steps[i].before)) break;
  }
  return found;
}

function ofPartition(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {string} */ field, /** @type {number} */ row) {
  const steps = stepsOf(data, object, row);
  /** @type {Map<number, Link>} */
  const links = new Map();
  for (const step of field === "leader" ? leaderSteps(steps) : isrSteps(steps)) {
    links.set(data.offset[step.row], linkOf(data, step.row, data.header.texts[data.text[step.row - 1]]));
    for (const cause of data.header.causes[data.cause[step.row - 1]]) {
      // A fencing comes later in the batch than what it causes.
      if (data.header.links[cause][0] <= data.effect[row]) addLink(data, links, cause);
    }
  }
  const now = /** @type {any} */ (data.stateAt(object, row));
  const notes = [];
  if (now.leader === -1 && isGoing(now)) notes.push("it is being removed, so no leader is elected");
  else if (now.leader === -1) {
    const waits = [now.isr, now.eligible_leader_replicas, now.last_known_elr, now.replicas].find((ids) => ids?.length) ?? [];
    for (const broker of waits) {
      if (!isUp(data, broker, row)) for (const link of brokerLinks(data, broker, row)) addLink(data, links, link);
    }
    const brokers = [...waits].join(", ");
    const isClean = now.isr.length || now.eligible_leader_replicas?.length;
    if (brokers) notes.push(isClean
      ? `no leader can be elected cleanly until one of these brokers is back: ${brokers}`
      : `no replica is known to have every record: only an unclean election, of one of these brokers, can end it: ${brokers}`);
  }
  const election = steps.findLast((step) => setsLeader(step) && step.after.leader !== -1);
  if (election && isUnclean(election)) {
    const isOnly = election.after.replicas.length === 1;
    notes.push(`the last election was unclean: ${isOnly ? "no other replica exists, but records that were not on disk may be lost" : "records that the new leader lacked are lost"}`);
  }
  if (!links.size) notes.push(sinceBefore(data));
  const chain = [...links.values()].sort((a, b) => b.offset - a.offset);
  return { field, chain, notes };
}

export function isUnclean(/** @type {Step} */ { before, after }) {
  if (before === null || after.leader === -1) return false;
  const safe = [...before.isr, ...(before.eligible_leader_replicas ?? [])];
  return !safe.includes(after.leader) || (after.leader_recovery_state === 1 && before.leader_recovery_state === 0);
}

function ofBroker(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ row) {
  /** @type {Map<number, Link>} */
  const links = new Map();
  for (const link of brokerLinks(data, Number(data.labelAt(object, row)), row)) addLink(data, links, link);
  const chain = [...links.values()].sort((a, b) => b.offset - a.offset);
  return { field: null, chain, notes: chain.length ? [] : [sinceBefore(data)] };
}

/** The records since a broker was last up; if it is up, they end with the record that brought it up. */
function brokerLinks(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ broker, /** @type {number} */ row) {
  /** @type {number[]} */
  let found = [];
  for (const [offset, id, link, startsAnew] of data.header.broker_links) {
    if (offset > data.effect[row]) break;
    if (id !== broker) continue;
    if (startsAnew) found = [];
    found.push(link);
  }
  return found;
}

export function isUp(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ broker, /** @type {number} */ row) {
  const object = data.find(`broker:${broker}`, row);
  const state = object === null ? null : data.stateAt(object, row);
  return state !== null && !state.fenced && !state.in_controlled_shutdown;
}

function ofSetters(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {string} */ field, /** @type {number} */ row) {
  /** @type {Link[]} */
  let chain = [];
  const name = data.nameAt(object, row);
  for (const touch of data.touchesOf(object)) {
    const at = data.rowOf[touch];
    if (at > row) break;
    if (at === 0) continue;
    const change = data.changesOf(touch).find((c) => c.field === field);
    const found = isFound(data, at) ? "found after a gap: " : "";
    if (change) chain.push(linkOf(data, at, `${found}${field}: ${chainText(name, field, change.before)} -> ${chainText(name, field, change.after)}`));
    if (data.fateOf(touch) === GONE) chain = [];
  }
  const { isWhole, offset } = start(data);
  const before = isWhole ? `it was set before offset ${data.header.about.history_start}` : `it was set before this report, which starts at ${offset}`;
  return { field, chain: chain.reverse(), notes: chain.length ? [] : [before] };
}

/** The name of the field that was set last. */
function lastField(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ row) {
  const set = new Map();
  for (const touch of data.touchesOf(object)) {
    if (data.rowOf[touch] > row) break;
    for (const [name, value] of data.fieldsOf(touch)) if (value !== null) set.set(name, data.rowOf[touch]);
  }
  return [...set].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}

function sinceBefore(/** @type {import("report/data.js").Data} */ data) {
  const { isWhole, offset } = start(data);
  return isWhole
    ? `it has been so since before the kept history, which starts at ${data.header.about.history_start}`
    : `it has been so since before this report, which starts at ${offset}`;
}

/** @returns {Link} */
function linkOf(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ row, /** @type {string} */ text) {
  const record = data.recordOf(row);
  return { offset: record.offset, time: record.time, type: record.type, text: withReason(text, record.reason), principal: record.principal };
}

function addLink(/** @type {import("report/data.js").Data} */ data, /** @type {Map<number, Link>} */ links, /** @type {number} */ index) {
  const [offset, time, type, text, origin] = data.header.links[index];
  const [principal, , reason] = data.header.origins[origin] ?? [null, null, null];
  links.set(offset, { offset, time, type, text: withReason(text, reason), principal });
}

const withReason = (/** @type {string} */ text, /** @type {string|null} */ reason) =>
  reason === null || text.includes(reason) ? text : `${text} (${reason})`;

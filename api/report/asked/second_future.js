// The second future: what would have been without a record, as rows under those of what happened.

import { LEADERLESS, FENCED, SHUTTING_DOWN, UNDER_REPLICATED } from "report/data.js";
import { ROW_PX } from "report/bars.js";
import { ABSENT, worst } from "report/states.js";
import { STATES } from "report/outages.js";
import { clockText, fieldText } from "report/words.js";

/** A field that differs between the futures; `to` is null if it does so until the end.
 * @typedef {{object: string, field: string, before: any, after: any, from_offset: number, to_offset: number|null}} Parting */
/** The answer of `metalog what-if`.
 * @typedef {{from: number, as_of: number, changed: string[], decided: Record<string, number>, refused: any[], undecidable: any[], differences: any[], partings: Parting[], meets_again: number|null}} Future */
/** From a time on, an object is in these states, as it happened and as it would have been. @typedef {{time: number, happened: number, forked: number, differs: boolean}} Step */

/** The rows of the objects that differ: those first whose states do, brokers before partitions.
 * @param {import("report/data.js").Data} data @param {Parting[]} partings @param {(offset: number) => number} timeAt
 * @param {(name: string) => void} pick @returns {import("asked/strips.js").Strip[]} */
export function futureStrips(data, partings, timeAt, pick) {
  const end = timeAt(data.last);
  /** @type {Map<string, Parting[]>} */
  const of = new Map();
  for (const each of partings) of.set(each.object, [...(of.get(each.object) ?? []), each]);
  const rows = [...of].map(([name, own]) => ({ name, steps: stepsOf(data, name, own, timeAt) }));
  const rank = (/** @type {Step[]} */ steps) => (steps.some(({ happened, forked }) => happened !== forked) ? 0 : 1);
  rows.sort((a, b) => rank(a.steps) - rank(b.steps));
  return rows.map(({ name, steps }) => strip(name, steps, end, () => pick(name)));
}

/** The states of an object in both futures.
 * @param {import("report/data.js").Data} data @param {string} name @param {Parting[]} partings @param {(offset: number) => number} timeAt @returns {Step[]} */
export function stepsOf(data, name, partings, timeAt) {
  const ends = partings.flatMap(({ from_offset: from, to_offset: to }) => (to === null ? [from] : [from, to]));
  const objects = data.named(name), rows = objects.flatMap((object) => Array.from(data.touchesOf(object), (touch) => data.effect[data.rowOf[touch]]));
  const offsets = [...new Set([data.first - 1, ...rows, ...ends])].sort((a, b) => a - b);
  return offsets.map((offset) => {
    const now = partings.filter(({ from_offset: from, to_offset: to }) => offset >= from && (to === null || offset < to));
    const row = data.rowAt(offset), object = data.find(name, row), state = object === null ? null : data.stateAt(object, row);
    return { time: offset < data.first ? -Infinity : timeAt(offset), happened: bitsOf(state), forked: bitsOf(now.length ? forkedState(state, now) : state), differs: now.length > 0 };
  });
}

/** A state as it would have been; null if the object would not exist. @param {Record<string, any>|null} state @param {Parting[]} partings */
function forkedState(state, partings) {
  const fields = { ...state };
  for (const { field, after } of partings) fields[field] = after;
  return Object.values(fields).some((value) => value !== null) ? fields : null;
}

/** The states of an object that have a colour, as bits. @param {Record<string, any>|null} state */
export function bitsOf(state) {
  if (state === null) return ABSENT;
  if (Array.isArray(state.replicas)) {
    const adding = new Set(state.adding_replicas ?? []), isr = new Set(state.isr ?? []);
    const isUnder = state.replicas.some((/** @type {number} */ replica) => !adding.has(replica) && !isr.has(replica));
    return (state.leader === -1 ? LEADERLESS : 0) | (isUnder ? UNDER_REPLICATED : 0);
  }
  return (state.fenced === true ? FENCED : 0) | (state.in_controlled_shutdown === true ? SHUTTING_DOWN : 0);
}

/** @returns {import("asked/strips.js").Strip} */
function strip(/** @type {string} */ name, /** @type {Step[]} */ steps, /** @type {number} */ end, /** @type {() => void} */ pick) {
  return {
    label: name.replace(/^(broker|partition):/, (_, kind) => (kind === "broker" ? "broker " : "")),
    title: `${name}: above what happened, below what would have been`,
    pick,
    end,
    draw(context, paint, axis, y) {
      steps.forEach(({ time, happened, forked, differs }, i) => {
        const until = steps[i + 1]?.time ?? axis.end;
        if (until < axis.begin || time > axis.end) return;
        const x0 = axis.x(time), width = Math.max(1, axis.x(until) - x0);
        bar(context, paint, happened, x0, y + 3, width, 7);
        bar(context, paint, forked, x0, y + 12, width, 7);
        // A line between the two, where they differ in anything.
        if (!differs) return;
        context.fillStyle = paint.color("accent");
        context.fillRect(x0, y + 10, width, 2);
      });
    },
    textsAt(time) {
      const step = steps.findLast((each) => each.time <= time) ?? steps[0], state = (/** @type {number} */ bits) => (bits & ABSENT ? "not there" : STATES.get(worst(bits))?.one ?? "healthy");
      return step.differs ? [`happened: ${state(step.happened)}`, `would have been: ${state(step.forked)}`, `from ${clockText(step.time)}`] : ["the same in both"];
    },
  };
}

function bar(/** @type {CanvasRenderingContext2D} */ context, /** @type {import("report/bars.js").Paint} */ paint, /** @type {number} */ bits, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ width, /** @type {number} */ height) {
  if (bits & ABSENT) return;
  const bit = worst(bits);
  context.fillStyle = bit ? paint.fills.get(bit) ?? "" : paint.healthy;
  context.fillRect(x, y, width, height);
}

/** A difference in words: `leader: 2, would have been 4`. @param {Parting} parting */
export const partingText = ({ object, field, before, after }) => `${field}: ${fieldText(object, field, before)}, would have been ${fieldText(object, field, after)}`;

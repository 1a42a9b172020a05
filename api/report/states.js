// States of each row of the picture over time. Computed when the row is first shown.

import { FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED } from "report/data.js";
import { GONE } from "report/object_states.js";

/** The state of an object that does not exist. */
export const ABSENT = 128;

/**
 * The states of a row of the picture: from `time[i]` on the state is `bits[i]`, and `share[i]` of the
 * row's objects are in an outage.
 * @typedef {{time: number[], bits: number[], share: number[]}} Steps
 */

/** @typedef {{kind: "broker"|"topic"|"partition", object: number, label: string, noise: number, parent: number|null}} Row */

export class States {
  /** @param {import("report/data.js").Data} data */
  constructor(data) {
    this.data = data;
    /** @type {Map<number, Steps>} */
    this._steps = new Map();
  }

  /** The rows of brokers, by id, and of topics, by number of changes. @returns {{brokers: Row[], topics: Row[]}} */
  rows() {
    const { data } = this;
    /** @type {Row[]} */ const brokers = [];
    /** @type {Row[]} */ const topics = [];
    const noise = new Float64Array(data.objects);
    const [topic, partition, broker] = ["topic", "partition", "broker"].map((k) => data.kinds.indexOf(k));
    for (let i = 0; i < data.objects; i++) {
      const kind = data.objectKind[i];
      if (kind !== topic && kind !== partition && kind !== broker) continue;
      const changes = data.changeCount(i);
      if (kind === partition) {
        noise[data.objectTopic[i] - 1] += changes;
      } else if (kind === broker) {
        brokers.push({ kind: "broker", object: i, label: `broker ${data.labelAt(i, data.rows)}`, noise: changes, parent: null });
      } else {
        topics.push({ kind: "topic", object: i, label: data.labelAt(i, data.rows - 1), noise: changes, parent: null });
      }
    }
    for (const row of topics) row.noise += noise[row.object];
    topics.sort((a, b) => b.noise - a.noise || a.object - b.object);
    return { brokers, topics };
  }

  /** The rows of a topic's partitions. @param {Row} topic @returns {Row[]} */
  partitionsOf(topic) {
    const { data } = this;
    return data.partitionsOf(topic.object).map((object) => ({
      kind: "partition", object, label: `${data.objectNumber[object]}`,
      noise: data.changeCount(object), parent: topic.object,
    }));
  }

  /** @param {Row} row @returns {Steps} */
  stepsOf(row) {
    let steps = this._steps.get(row.object);
    if (steps === undefined) {
      steps = row.kind === "topic" ? this._ofTopic(row.object) : this._ofObject(row.object);
      this._steps.set(row.object, steps);
    }
    return steps;
  }

  /** @param {number} object */
  _ofObject(object) {
    const { data } = this;
    const steps = newSteps();
    for (const touch of data.touchesOf(object)) {
      const bits = data.fateOf(touch) === GONE ? ABSENT : data.outages[touch];
      push(steps, data.axisTime[data.rowOf[touch]], bits, bits ? 1 : 0);
    }
    return steps;
  }

  /** @param {number} topic */
  _ofTopic(topic) {
    const { data } = this;
    const partitions = data.partitionsOf(topic);
    const touches = Int32Array.from(partitions.flatMap((p) => [...data.touchesOf(p)])).sort();
    const counter = new Counter(data);
    const steps = newSteps();
    for (const touch of touches) {
      counter.take(touch);
      const bits = counter.there === 0 ? ABSENT
        : (counter.leaderless ? LEADERLESS : 0) | (counter.under ? UNDER_REPLICATED : 0);
      push(steps, data.axisTime[data.rowOf[touch]], bits, counter.there ? counter.down / counter.there : 0);
    }
    return steps;
  }

  /** The numbers of partitions after each row that changed one: leaderless, under-replicated, and in
   * either state, because a partition may be in both. */
  health() {
    const { data } = this;
    const partition = data.kinds.indexOf("partition");
    const counter = new Counter(data);
    /** @type {{row: number[], time: number[], leaderless: number[], under: number[], down: number[], there: number[]}} */
    const found = { row: [], time: [], leaderless: [], under: [], down: [], there: [] };
    for (let row = 0; row < data.rows; row++) {
      let isChanged = false;
      for (let touch = data.firstTouch[row]; touch < data.firstTouch[row + 1]; touch++) {
        if (data.objectKind[data.object[touch]] === partition && counter.take(touch)) isChanged = true;
      }
      if (!isChanged) continue;
      found.row.push(row);
      found.time.push(data.axisTime[row]);
      found.leaderless.push(counter.leaderless);
      found.under.push(counter.under);
      found.down.push(counter.down);
      found.there.push(counter.there);
    }
    return found;
  }
}

/** Counts partitions by state. */
class Counter {
  /** @param {import("report/data.js").Data} data */
  constructor(data) {
    this.data = data;
    this.bits = new Uint8Array(data.objects).fill(ABSENT);
    this.there = 0;
    this.leaderless = 0;
    this.under = 0;
    this.down = 0;
  }

  /** Apply a touch; true if a count changed. @param {number} touch */
  take(touch) {
    const { data } = this;
    const object = data.object[touch];
    const before = this.bits[object], after = data.fateOf(touch) === GONE ? ABSENT : data.outages[touch];
    if (before === after) return false;
    this.bits[object] = after;
    this._count(before, -1);
    this._count(after, 1);
    return true;
  }

  _count(/** @type {number} */ bits, /** @type {number} */ by) {
    if (bits & ABSENT) return;
    this.there += by;
    if (bits & LEADERLESS) this.leaderless += by;
    if (bits & UNDER_REPLICATED) this.under += by;
    if (bits & (LEADERLESS | UNDER_REPLICATED)) this.down += by;
  }
}

/** The worst outage among the bits of a state. @param {number} bits */
export function worst(bits) {
  for (const bit of [LEADERLESS, FENCED, SHUTTING_DOWN, UNDER_REPLICATED]) if (bits & bit) return bit;
  return bits & ABSENT;
}

/** @returns {Steps} */
const newSteps = () => ({ time: [], bits: [], share: [] });

function push(/** @type {Steps} */ steps, /** @type {number} */ time, /** @type {number} */ bits, /** @type {number} */ share) {
  const last = steps.bits.length - 1;
  if (last >= 0 && steps.bits[last] === bits && steps.share[last] === share) return;
  steps.time.push(time);
  steps.bits.push(bits);
  steps.share.push(share);
}

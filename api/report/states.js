// States of each row of the picture over time. Computed when the row is first shown.

import { FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED } from "report/data.js";
import { GONE } from "report/object_states.js";

/** How the text of the cause ends if a controlled shutdown is it. */
const SHUTDOWN = " began a controlled shutdown";

/** The state of an object that does not exist. */
export const ABSENT = 128;

/** Set where partitions have no leader, and controlled shutdowns began that for all of them. */
export const ORDERED = 64;

/**
 * The states of a row of the picture: from `time[i]` on, after the data's row `row[i]`, the state is
 * `bits[i]`, and `share[i]` of the row's objects are in an outage.
 * @typedef {{time: number[], row: number[], bits: number[], share: number[]}} Steps
 */

/** A row: `lives` are all objects that had the name one after the other, `object` is the last of them.
 * @typedef {{kind: "broker"|"topic"|"partition", object: number, lives: number[], label: string, noise: number, parent: Row|null}} Row */

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
        brokers.push({ kind: "broker", object: i, lives: [i], label: `broker ${data.labelAt(i, data.rows)}`, noise: changes, parent: null });
      } else {
        topics.push({ kind: "topic", object: i, lives: [i], label: data.labelAt(i, data.rows - 1), noise: changes, parent: null });
      }
    }
    for (const row of topics) row.noise += noise[row.object];
    const named = joined(data, topics);
    named.sort((a, b) => b.noise - a.noise || a.object - b.object);
    return { brokers, topics: named };
  }

  /** The rows of a topic's partitions. @param {Row} topic @returns {Row[]} */
  partitionsOf(topic) {
    const { data } = this;
    const rows = topic.lives.flatMap((life) => data.partitionsOf(life)).map((object) => (/** @type {Row} */ ({
      kind: "partition", object, lives: [object], label: `${data.objectNumber[object]}`,
      noise: data.changeCount(object), parent: topic,
    })));
    const found = joined(data, rows);
    return topic.lives.length > 1 ? found.sort((a, b) => Number(a.label) - Number(b.label)) : found;
  }

  /** @param {Row} row @returns {Steps} */
  stepsOf(row) {
    let steps = this._steps.get(row.object);
    if (steps === undefined) {
      steps = row.kind === "topic" ? this._ofTopic(row.lives) : this._ofObjects(row.lives);
      this._steps.set(row.object, steps);
    }
    return steps;
  }

  /** @param {number[]} lives */
  _ofObjects(lives) {
    const { data } = this;
    const steps = newSteps(), counter = new Counter(data);
    for (const touch of touchesOfAll(data, lives)) {
      counter.take(touch);
      const bits = data.fateOf(touch) === GONE ? ABSENT : data.outages[touch] | counter.ordered;
      push(steps, data, data.rowOf[touch], bits, bits ? 1 : 0);
    }
    return steps;
  }

  /** @param {number[]} lives */
  _ofTopic(lives) {
    const { data } = this;
    const touches = touchesOfAll(data, lives.flatMap((life) => data.partitionsOf(life)));
    const counter = new Counter(data);
    const steps = newSteps();
    for (const touch of touches) {
      counter.take(touch);
      const bits = counter.there === 0 ? ABSENT
        : (counter.leaderless ? LEADERLESS : 0) | counter.ordered | (counter.under ? UNDER_REPLICATED : 0);
      push(steps, data, data.rowOf[touch], bits, counter.there ? counter.down / counter.there : 0);
    }
    return steps;
  }

  /** The numbers of partitions after each row that changed one: leaderless, those of them that no
   * controlled shutdown made so, under-replicated, and in either state, because a partition may be in both. */
  health() {
    const { data } = this;
    const partition = data.kinds.indexOf("partition");
    const counter = new Counter(data);
    /** @type {{row: number[], time: number[], leaderless: number[], alarming: number[], under: number[], down: number[], there: number[]}} */
    const found = { row: [], time: [], leaderless: [], alarming: [], under: [], down: [], there: [] };
    for (let row = 0; row < data.rows; row++) {
      let isChanged = false;
      for (let touch = data.firstTouch[row]; touch < data.firstTouch[row + 1]; touch++) {
        if (data.objectKind[data.object[touch]] === partition && counter.take(touch)) isChanged = true;
      }
      if (!isChanged) continue;
      found.row.push(row);
      found.time.push(data.axisTime[row]);
      found.leaderless.push(counter.leaderless);
      found.alarming.push(counter.alarming);
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
    this.isShutdown = data.header.outage_texts.map((/** @type {string} */ text) => text.endsWith(SHUTDOWN));
    this.there = 0;
    this.leaderless = 0;
    this.alarming = 0;
    this.under = 0;
    this.down = 0;
  }

  /** ORDERED if some partitions have no leader, and all of these by controlled shutdowns. */
  get ordered() { return this.leaderless && !this.alarming ? ORDERED : 0; }

  /** Apply a touch; true if a count changed. @param {number} touch */
  take(touch) {
    const { data } = this;
    const object = data.object[touch];
    const before = this.bits[object];
    let after = data.fateOf(touch) === GONE ? ABSENT : data.outages[touch];
    if (after & LEADERLESS) after |= before & LEADERLESS ? before & ORDERED : this._begun(data.rowOf[touch]);
    if (before === after) return false;
    this.bits[object] = after;
    this._count(before, -1);
    this._count(after, 1);
    return true;
  }

  /** ORDERED if a controlled shutdown caused what a row began. */
  _begun(/** @type {number} */ row) { return row > 0 && this.isShutdown[this.data.outageText[row - 1]] ? ORDERED : 0; }

  _count(/** @type {number} */ bits, /** @type {number} */ by) {
    if (bits & ABSENT) return;
    this.there += by;
    if (bits & LEADERLESS) this.leaderless += by;
    if (bits & LEADERLESS && !(bits & ORDERED)) this.alarming += by;
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
const newSteps = () => ({ time: [], row: [], bits: [], share: [] });

/** The touches of several objects, oldest first. @param {import("report/data.js").Data} data @param {number[]} objects */
function touchesOfAll(data, objects) {
  return Int32Array.from(objects.flatMap((object) => [...data.touchesOf(object)])).sort();
}

/** The rows, with those joined of which each had the same name and began after the one before was gone.
 * @param {import("report/data.js").Data} data @param {Row[]} rows In the order of their objects. @returns {Row[]} */
function joined(data, rows) {
  /** @type {Map<string, Row>} */
  const found = new Map();
  const rest = [];
  for (const row of [...rows].sort((a, b) => data.ofObject[data.ofStart[a.object]] - data.ofObject[data.ofStart[b.object]])) {
    const known = found.get(row.label);
    if (known === undefined || !isOver(data, known.object, row.object)) {
      if (known !== undefined) rest.push(known);
      found.set(row.label, row);
    } else {
      Object.assign(known, { object: row.object, lives: [...known.lives, row.object], noise: known.noise + row.noise });
    }
  }
  return [...rest, ...found.values()].sort((a, b) => a.object - b.object);
}

/** True if an object was gone before another one came. */
function isOver(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ next) {
  const last = data.ofObject[data.ofStart[object + 1] - 1];
  return data.fateOf(last) === GONE && last < data.ofObject[data.ofStart[next]];
}

function push(/** @type {Steps} */ steps, /** @type {import("report/data.js").Data} */ data, /** @type {number} */ row, /** @type {number} */ bits, /** @type {number} */ share) {
  const last = steps.bits.length - 1;
  if (last >= 0 && steps.bits[last] === bits && steps.share[last] === share) return;
  steps.time.push(data.axisTime[row]);
  steps.row.push(row);
  steps.bits.push(bits);
  steps.share.push(share);
}

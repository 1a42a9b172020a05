// Loads: how many partitions each broker led and held, after each row of the data.

import { above } from "report/numbers.js";

/** After row `rows[i]` a broker leads `leaders[i]` partitions and holds `replicas[i]`.
 * @typedef {{rows: number[], leaders: number[], replicas: number[]}} Steps */

const NOTHING = { leaders: 0, replicas: 0 };

export class Loads {
  /** @type {Map<number, Steps>} By broker id. */
  _steps = new Map();
  /** The touches that are counted. */
  _touch = 0;

  /** @param {import("report/data.js").Data} data */
  constructor(data) {
    this.data = data;
    this.partition = data.kinds.indexOf("partition");
  }

  /** Count on for some time, in ms; return whether all that the data has is counted. Data that grew are counted on. @param {number} budget */
  advance(budget) {
    const end = performance.now() + budget, { data } = this, touches = data.firstTouch[data.rows];
    for (; this._touch < touches; this._touch++) {
      if (!(this._touch & 63) && performance.now() > end) return false;
      if (data.objectKind[data.object[this._touch]] === this.partition) this._take(this._touch);
    }
    return true;
  }

  /** @param {number} broker @param {number} row */
  at(broker, row) {
    const steps = this._steps.get(broker);
    if (!steps) return NOTHING;
    const i = above(steps.rows, row) - 1;
    return i < 0 ? NOTHING : { leaders: steps.leaders[i], replicas: steps.replicas[i] };
  }

  _take(/** @type {number} */ touch) {
    const { data } = this, row = data.rowOf[touch], object = data.object[touch];
    const before = row ? data.stateAt(object, row - 1) : null, after = data.stateAt(object, row);
    if (before !== null && after !== null && before.leader === after.leader && before.replicas === after.replicas) return;
    for (const [state, by] of /** @type {[Record<string, any>|null, number][]} */ ([[before, -1], [after, 1]])) {
      if (state === null) continue;
      if (state.leader >= 0) this._add(state.leader, row, by, 0);
      for (const replica of state.replicas) this._add(replica, row, 0, by);
    }
  }

  _add(/** @type {number} */ broker, /** @type {number} */ row, /** @type {number} */ leaders, /** @type {number} */ replicas) {
    let steps = this._steps.get(broker);
    if (!steps) this._steps.set(broker, steps = { rows: [], leaders: [], replicas: [] });
    const last = steps.rows.length - 1;
    if (last < 0 || steps.rows[last] !== row) {
      steps.rows.push(row);
      steps.leaders.push((steps.leaders[last] ?? 0) + leaders);
      steps.replicas.push((steps.replicas[last] ?? 0) + replicas);
    } else {
      steps.leaders[last] += leaders;
      steps.replicas[last] += replicas;
    }
  }
}

// What is red at the end of the selection: the object, and the field that makes it so.

import { STATES, stateOf } from "report/outages.js";
import { RANKS } from "report/bars.js";

/** Show why of the red that was clicked or is worst at the end of the selection; false if nothing is red.
 * @param {{answers: import("report/answers.js").Answers, data: import("report/data.js").Data, selection: import("report/selection.js").Selection}} page */
export function whyOfRed({ answers, data, selection }) {
  const red = answers.seen ?? redOf(data, selection);
  if (red !== null) answers.why(red.name, red.field, red.at);
  return red !== null;
}

/** The worst of the selected object and of what belongs to it, else of all partitions that changed in the
 * selection; null if nothing is in a bad state.
 * @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection
 * @returns {{name: string, field: string, at: number}|null} */
export function redOf(data, { from, to, object }) {
  const row = data.rowAt(to), found = object === null ? null : data.find(object, row);
  if (object !== null && found === null) return null;
  const among = found === null ? changed(data, data.rowAt(from - 1), row) : [found, ...(data.kinds[data.objectKind[found]] === "topic" ? data.partitionsOf(found) : [])];
  let worst = 0, red = -1;
  for (const each of among) {
    const state = stateOf(data, each, row);
    if (state && (RANKS.get(state) ?? 0) > (RANKS.get(worst) ?? 0)) [worst, red] = [state, each];
  }
  const state = STATES.get(worst);
  return state === undefined ? null : { name: data.nameAt(red, row), field: state.field, at: to };
}

/** The partitions and brokers that rows in (before, after] changed. */
function changed(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ before, /** @type {number} */ after) {
  const kinds = new Set(["partition", "broker"].map((kind) => data.kinds.indexOf(kind)));
  return data.touchedIn(before, after).filter((object) => kinds.has(data.objectKind[object]));
}

// Blame: the record that last set each field of an object, like `metalog blame`.

import { GONE } from "report/object_states.js";
import { byText } from "report/words.js";

/** The fields of an object after a row, each with its setter; null if the object is absent then.
 * @param {import("report/data.js").Data} data @param {number} object @param {number} row
 * @returns {import("report/answers.js").Setter[]|null} */
export function blameOf(data, object, row) {
  const state = data.stateAt(object, row);
  if (state === null) return null;
  /** @type {Map<string, number>} */
  const rows = new Map();
  for (const touch of data.touchesOf(object)) {
    if (data.rowOf[touch] > row) break;
    if (data.fateOf(touch) === GONE) rows.clear();
    else for (const [name] of data.fieldsOf(touch)) rows.set(name, data.rowOf[touch]);
  }
  return Object.entries(state).map(([field, value]) => ({ field, value, setter: setterOf(data, rows.get(field) ?? 0) }));
}

/** The record of a row as a setter; null for row 0, the state before the data. @param {import("report/data.js").Data} data @param {number} row */
function setterOf(data, row) {
  if (row === 0) return null;
  const record = data.recordOf(row);
  return { offset: record.offset, time: record.time, type: record.type, by: byText(record) };
}

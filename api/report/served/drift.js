// Drift: the configs in which logs differ at a moment, since when, and the record that made them differ.

import { byText } from "report/words.js";

/** @typedef {import("report/data.js").Data} Data */

/** A log after a row. @typedef {{data: Data, row: number}} Moment */

/** A key with its value in each log, null where it is not set; `isShared` if all logs have what it configures.
 * @typedef {{object: string, key: string, values: (string|null)[], isShared: boolean}} Drift */

/** The record from which on the values differ, and the index of its log.
 * @typedef {{log: number, offset: number, time: number, by: string}} Since */

/** The keys whose values are not the same in all logs, by object. @param {Moment[]} moments @returns {Drift[]} */
export function driftOf(moments) {
  const configs = moments.map(configsAt), names = new Set(configs.flatMap((each) => [...each.keys()]));
  return [...names].sort().flatMap((object) => {
    const states = configs.map((each) => each.get(object) ?? {}), keys = new Set(states.flatMap((each) => Object.keys(each)));
    const differing = [...keys].sort().map((key) => ({ object, key, values: states.map((state) => state[key] ?? null) })).filter(({ values }) => !areEqual(values));
    const isShared = differing.length > 0 && moments.every((moment) => hasResource(moment, object));
    return differing.map((each) => ({ ...each, isShared }));
  });
}

/** The record since which the values of a key have differed; null if it is older than the logs' records that are here.
 * @param {Moment[]} moments @param {Drift} drift @returns {Since|null} */
export function sinceOf(moments, { object, key, values }) {
  const steps = moments.flatMap(({ data, row }, log) => data.named(object).flatMap((each) => data.stepsOf(each, row)).filter(({ touch }) => data.rowOf[touch] > 0)
    .map(({ touch, before }) => ({ log, row: data.rowOf[touch], time: data.axisTime[data.rowOf[touch]], before: before?.[key] ?? null })));
  steps.sort((a, b) => b.time - a.time || b.row - a.row);
  const then = [...values];
  for (const { log, row, time, before } of steps) {
    then[log] = before;
    if (!areEqual(then)) continue;
    const record = moments[log].data.recordOf(row);
    return { log, offset: record.offset, time, by: byText(record) };
  }
  return null;
}

/** The configs that are set after a row, by name. @param {Moment} moment @returns {Map<string, Record<string, any>>} */
function configsAt({ data, row }) {
  const kind = data.kinds.indexOf("config"), found = new Map();
  if (kind < 0) return found;
  const end = data.kindStart[kind + 1] ?? data.objects;
  for (let object = data.kindStart[kind]; object < end; object++) {
    const state = data.stateAt(object, row);
    if (state !== null) found.set(data.nameAt(object, row), state);
  }
  return found;
}

/** Whether a log has the topic or broker that a config is of; of other kinds nothing says so.
 * @param {Moment} moment @param {string} config Such as `config:topic/orders`. */
function hasResource({ data, row }, config) {
  const [, kind, name] = /^config:(topic|broker)\/(.+)$/.exec(config) ?? [];
  if (!kind) return true;
  const object = data.find(`${kind}:${name}`, row);
  return object !== null && data.isThere(object, row);
}

const areEqual = (/** @type {any[]} */ values) => values.every((value) => value === values[0]);

// Groups of an event's changes: all objects that changed alike are one group, "50 partitions: leader 1 to -1".

import { fill, make } from "report/dom.js";
import { GONE, NEW } from "report/object_states.js";
import { countText, plain, valueText } from "report/words.js";

/** An event has no more changes looked at: the rest is only counted. */
const CHANGES_MAX = 20_000;
const OBJECTS_AT_FIRST = 40;

/** Fields that change with every change of others. */
const COUNTERS = new Set(["leader_epoch", "partition_epoch"]);

/** The names of fields in sentences. @type {Record<string, string>} */
const SPOKEN = { isr: "ISR", leader: "leader", eligible_leader_replicas: "ELR", last_known_elr: "last ELR" };

const PLURALS = new Map([["broker", "brokers"], ["partition", "partitions"], ["topic", "topics"], ["config", "configs"]]);

/** Objects that changed alike: the records' first and last offset and type. @typedef {{text: string, kind: string, names: Set<string>, from: number, to: number, type: string}} Group */

/** @param {import("report/data.js").Data} data @param {import("report/events.js").Told} told @returns {{groups: Group[], isWhole: boolean}} */
export function groupsOf(data, told) {
  /** @type {Map<string, Group>} */
  const groups = new Map(), wanted = new Set(told.objects), end = data.rowAt(told.to);
  let looked = 0;
  for (let row = data.rowAt(told.from - 1) + 1; row <= end; row++) {
    if (data.offset[row] < told.from || data.offset[row] > told.to) continue;
    for (let touch = data.firstTouch[row]; touch < data.firstTouch[row + 1]; touch++) {
      const name = data.nameAt(data.object[touch], row);
      if (!wanted.has(name)) continue;
      if (++looked > CHANGES_MAX) return { groups: [...groups.values()], isWhole: false };
      add(groups, data, touch, row, name);
    }
  }
  return { groups: [...groups.values()], isWhole: true };
}

function add(/** @type {Map<string, Group>} */ groups, /** @type {import("report/data.js").Data} */ data, /** @type {number} */ touch, /** @type {number} */ row, /** @type {string} */ name) {
  const kind = data.kinds[data.objectKind[data.object[touch]]], text = changeText(data, touch);
  const { offset, type } = data.recordOf(row), key = `${kind} ${type} ${text}`, known = groups.get(key);
  if (!known) groups.set(key, { kind, text, type, names: new Set([name]), from: offset, to: offset });
  else {
    known.names.add(name);
    known.to = offset;
  }
}

/** What a touch changed, in words that are the same for objects that changed alike. */
function changeText(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ touch) {
  const fate = data.fateOf(touch);
  if (fate === GONE) return "removed";
  const changes = data.changesOf(touch), own = changes.filter(({ field }) => !COUNTERS.has(field));
  if (fate === NEW) {
    const shown = own.filter(({ field }) => ["leader", "isr", "value", "fenced"].includes(field)).map(({ field, after }) => `${SPOKEN[field] ?? field} ${valueText(after)}`);
    return shown.length ? `created, ${shown.join(", ")}` : "created";
  }
  const told = own.length ? own : changes;
  // The numbers of epochs differ, though the objects changed alike.
  if (!own.length) return told.map(({ field }) => `only its ${field.replaceAll("_", " ")} rose`).join(", ");
  return told.map(({ field, before, after }) => `${SPOKEN[field] ?? field} ${valueText(before)} to ${valueText(after)}`).join(", ");
}

/** The groups of an event as a list; the objects of each are shown once it is opened.
 * @param {import("report/data.js").Data} data @param {import("report/events.js").Told} told @param {(name: string) => void} pick */
export function groupList(data, told, pick) {
  const { groups, isWhole } = groupsOf(data, told);
  const items = groups.map((group) => make("li", {}, groupItem(group, pick)));
  if (!isWhole) items.push(make("li", { class: "by" }, `the first ${CHANGES_MAX} changes only`));
  return items.length ? make("ul", { class: "groups" }, ...items) : null;
}

function groupItem(/** @type {Group} */ group, /** @type {(name: string) => void} */ pick) {
  const { names, kind, text, type, from, to } = group, [first] = names;
  const who = names.size === 1 ? first : countText(names.size, kind, PLURALS.get(kind) ?? `${kind}s`);
  const record = `${type} ${from === to ? from : `${from}-${to}`}`;
  const objects = make("div", { class: "objects" }), chips = function* () {
    for (const name of names) yield make("button", { type: "button", class: "chip", onclick: () => pick(name) }, plain(name));
  };
  const folded = make("details", {}, make("summary", {}, plain(`${who}: ${text} `), make("small", {}, record)), objects);
  folded.addEventListener("toggle", () => fill(objects, chips(), OBJECTS_AT_FIRST), { once: true });
  return folded;
}

// Groups of an event's changes: all objects that changed alike are one group, "50 partitions: leader 1 to -1".

import { changeText } from "report/change_words.js";
import { fill, make } from "report/dom.js";
import { countText, plain } from "report/words.js";

/** An event has no more changes looked at: the rest is only counted. */
const CHANGES_MAX = 20_000;
const OBJECTS_AT_FIRST = 40;

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
  const kind = data.kinds[data.objectKind[data.object[touch]]], text = changeText(data.changesOf(touch));
  const { offset, type } = data.recordOf(row), key = `${kind} ${type} ${text}`, known = groups.get(key);
  if (!known) groups.set(key, { kind, text, type, names: new Set([name]), from: offset, to: offset });
  else {
    known.names.add(name);
    known.to = offset;
  }
}

/** The groups of an event as a list; the objects of each are shown once it is opened.
 * @param {import("report/data.js").Data} data @param {import("report/events.js").Told} told @param {(name: string) => void} pick */
export function groupList(data, told, pick) {
  const { groups, isWhole } = groupsOf(data, told);
  const items = groups.map((group) => make("li", {}, groupItem(group, pick)));
  if (!isWhole) items.push(make("li", { class: "by" }, `the first ${CHANGES_MAX} changes only`));
  return items.length ? make("ul", { class: "groups" }, ...items) : null;
}

function groupItem(/** @type {Group} */ { names, kind, text, type, from, to }, /** @type {(name: string) => void} */ pick) {
  return foldedGroup(kind, text, [...names], `${type} ${from === to ? from : `${from}-${to}`}`, pick);
}

/** A group that opens to the names of its objects.
 * @param {string} kind @param {string} text @param {string[]} names @param {string} about @param {(name: string) => void} pick */
export function foldedGroup(kind, text, names, about, pick) {
  const who = names.length === 1 ? names[0] : countText(names.length, kind, PLURALS.get(kind) ?? `${kind}s`);
  const objects = make("div", { class: "members" }), chips = function* () {
    for (const name of names) yield make("button", { type: "button", class: "chip", onclick: () => pick(name) }, plain(name));
  };
  const folded = make("details", {}, make("summary", {}, plain(`${who}: ${text} `), make("small", {}, about)), objects);
  folded.addEventListener("toggle", () => fill(objects, chips(), OBJECTS_AT_FIRST), { once: true });
  return folded;
}

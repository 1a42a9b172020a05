// The difference in short: the objects that changed alike, each group as one line that opens to its names.

import { changeText } from "report/change_words.js";
import { fill, make } from "report/dom.js";
import { foldedGroup } from "report/event_groups.js";

/** Fewer objects are read as fast one by one; of more objects the first ones are grouped. */
const ALIKE_MIN = 4, OBJECTS_MAX = 2000;

const GROUPS_AT_FIRST = 8;

/** The groups of at least four objects; none if there are no such groups.
 * @param {import("report/data.js").Data} data @param {number[]} objects @param {number} before @param {number} after
 * @param {(name: string) => void} pick @returns {Node[]} */
export function alikeGroups(data, objects, before, after, pick) {
  /** @type {Map<string, {kind: string, text: string, names: string[]}>} */
  const found = new Map();
  for (const object of objects.slice(0, OBJECTS_MAX)) {
    const changes = data.differenceOf(object, before, after);
    if (!changes.length) continue;
    const kind = data.kinds[data.objectKind[object]], text = changeText(changes), key = `${kind} ${text}`, name = `${kind}:${changes[0].label}`;
    const known = found.get(key);
    if (known) known.names.push(name);
    else found.set(key, { kind, text, names: [name] });
  }
  const groups = [...found.values()].filter(({ names }) => names.length >= ALIKE_MIN).sort((a, b) => b.names.length - a.names.length);
  if (!groups.length) return [];
  const about = objects.length > OBJECTS_MAX ? `among the first ${OBJECTS_MAX} objects` : "";
  const list = make("ul", { class: "groups alike" });
  fill(list, groups.map(({ kind, text, names }) => make("li", {}, foldedGroup(kind, text, names, about, pick))).values(), GROUPS_AT_FIRST);
  return [list];
}

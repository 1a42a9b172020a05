// How the outages of partitions and brokers ended: what was elected or came back, by whom, and why.

import { LEADERLESS } from "report/data.js";
import { isGoing } from "report/object_states.js";
import { isUnclean } from "report/why.js";

/**
 * Outages that ended alike. `first` and `last` are the offsets of the records that ended them.
 * @typedef {{text: string, who: string|null, command: string|null, reason: string|null, count: number, first: number, last: number}} End
 * @typedef {import("report/outages.js").Outage} Outage
 */

/** The ends of outages of the same kind, most first; those that last have none.
 * @param {import("report/data.js").Data} data @param {Outage[]} outages @returns {End[]} */
export function endsOf(data, outages) {
  /** @type {Map<string, End>} */
  const found = new Map();
  for (const each of outages) {
    if (each.to === null) continue;
    const { principal: who, command, reason } = data.recordOf(each.row + 1), text = endText(data, each);
    const key = JSON.stringify([text, who, command, reason]), end = found.get(key);
    if (end === undefined) found.set(key, { text, who, command, reason, count: 1, first: each.to, last: each.to });
    else {
      end.count += 1;
      end.first = Math.min(end.first, each.to);
      end.last = Math.max(end.last, each.to);
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** Whether an outage ended by an election that may lose records.
 * @param {import("report/data.js").Data} data @param {Outage} outage */
export function endedUncleanly(data, { object, row }) {
  const before = data.stateAt(object, row), after = data.stateAt(object, row + 1);
  return after !== null && isUnclean({ before, after, row: row + 1 });
}

function endText(/** @type {import("report/data.js").Data} */ data, /** @type {Outage} */ outage) {
  const after = data.stateAt(outage.object, outage.row + 1);
  if (after === null) return "deleted";
  if (isGoing(after)) return "taken offline for removal";
  if (outage.bit !== LEADERLESS) return "";
  return `broker ${after.leader} leads${endedUncleanly(data, outage) ? ", elected uncleanly" : ""}`;
}

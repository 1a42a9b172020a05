// The changes of an object in a few words, which are the same for objects that changed alike.

import { valueText } from "report/words.js";

/** Fields that change with every change of others; their numbers differ, though objects changed alike. */
const COUNTERS = new Set(["leader_epoch", "partition_epoch"]);

/** The names of fields in sentences. @type {Record<string, string>} */
const SPOKEN = { isr: "ISR", leader: "leader", eligible_leader_replicas: "ELR", last_known_elr: "last ELR" };

/** What is told of a new object. */
const OF_NEW = new Set(["leader", "isr", "value", "fenced"]);

const spoken = (/** @type {string} */ field) => SPOKEN[field] ?? field;

/** @param {import("report/data.js").Change[]} changes All of one object. */
export function changeText(changes) {
  const fate = changes[0]?.fate, own = changes.filter(({ field }) => !COUNTERS.has(field));
  if (fate === "gone") return "removed";
  if (fate === "new") {
    const shown = own.filter(({ field }) => OF_NEW.has(field)).map(({ field, after }) => `${spoken(field)} ${valueText(after)}`);
    return ["created", ...shown].join(", ");
  }
  if (!own.length) return "only epochs rose";
  return own.map(({ field, before, after }) => `${spoken(field)} ${valueText(before)} to ${valueText(after)}`).join(", ");
}

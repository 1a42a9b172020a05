// The summary on top of a page: what happened in the whole history, each clause a link to it.

import { make } from "report/dom.js";
import { showEnd } from "report/end_panel.js";
import { plain } from "report/words.js";

/** @typedef {{about: string, text: string, is_bad: boolean, from_offset: number|null, to_offset: number|null}} Clause */

/** The kinds of events that a clause is about; all for one that is not named. @type {Record<string, string[]>} */
export const KINDS_ABOUT = { addresses: ["brokers"], listeners: ["brokers"], brokers: ["brokers"], restarts: ["brokers", "controllers"], controllers: ["controllers"], changes: ["topics", "others"] };

/** The clauses as items of a list. @param {Clause[]} clauses @param {((clause: Clause) => void)|null} pick Null: no links. */
export function clauseItems(clauses, pick) {
  return clauses.map((clause) => {
    const text = plain(clause.text);
    return make("li", { class: clause.is_bad ? "bad" : null },
      pick === null ? text : make("button", { type: "button", class: "link", onclick: () => pick(clause) }, text));
  });
}

/** The list, with what it says until it is known. @param {string} waiting */
export function summaryList(waiting) {
  return make("ul", { class: "summary", "aria-label": "summary", "aria-busy": "true" }, make("li", { class: "muted" }, waiting));
}

/** Show the records that a clause is about; without any, the end or the whole range.
 * @param {Clause} clause @param {import("report/page.js").Page} page */
export function showClause({ about, is_bad, from_offset, to_offset }, page) {
  const { selection, list, outages } = page, isRisk = about === "replicas", isEnd = about === "end" || isRisk || (about === "brokers" && is_bad);
  list.filter.set({ kinds: isEnd ? [] : KINDS_ABOUT[about] ?? [], principal: null });
  // With the last event, because nothing may have happened after it.
  if (isEnd) selection.set({ from: page.data.events.from.at(-1) ?? selection.last, to: Infinity, object: null });
  else selection.set({ from: from_offset ?? selection.first, to: to_offset ?? selection.last, object: null });
  if (about === "end" || isRisk) showEnd(page, isRisk);
  else if (isEnd) outages.show("broker");
  else if (from_offset !== null && about === "leaderless") outages.showFirst(false);
  else if (from_offset !== null && about === "unclean") outages.showUnclean(from_offset);
}

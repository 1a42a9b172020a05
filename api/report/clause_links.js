// What a click on a clause of the summary shows.

import { showEnd, showTail } from "report/end_panel.js";

/** @typedef {import("report/summary.js").Clause} Clause */

/** The kinds of events that a clause is about; all for one that is not named. @type {Record<string, string[]>} */
const KINDS_ABOUT = { addresses: ["brokers"], listeners: ["brokers"], brokers: ["brokers"], restarts: ["brokers", "controllers"], controllers: ["controllers"], changes: ["topics", "others"] };

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
  else if (from_offset !== null && about === "tail") showTail(page, from_offset);
}

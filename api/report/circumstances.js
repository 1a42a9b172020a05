// What else was so when outages began: brokers that were down at the same time, and a new controller.

import { FENCED, SHUTTING_DOWN } from "report/data.js";
import { ofKind } from "report/outages.js";
import { countText, durationText } from "report/words.js";

const BEFORE_MS = 600_000;
const SILENCE_MS = 5000;

/** @typedef {import("report/outages.js").Outage} Outage */

/** The brokers that were down when the last of some outages began; in words only if there are several.
 * @param {import("report/data.js").Data} data @param {Outage[]} outages @returns {string[]} */
export function brokersDown(data, outages) {
  // A fencing comes later in the batch than what it causes.
  const row = Math.max(...outages.map(({ fromRow, cause }) => Math.max(fromRow, data.rowAt(cause?.offset ?? data.first))));
  const there = ofKind(data, "broker").filter((broker) => data.isThere(broker, row));
  const down = there.filter((broker) => data.outagesAt(broker, row) & (FENCED | SHUTTING_DOWN)).map((broker) => Number(data.labelAt(broker, row)));
  return down.length > 1 ? [`${down.length} of ${countText(there.length, "broker")} were down: ${down.sort((a, b) => a - b).join(", ")}.`] : [];
}

/** The last controller that became active in the ten minutes before an outage, or in its batch; null if none did.
 * @param {import("report/data.js").Data} data @param {Outage} began @returns {{offset: number, text: string}|null} */
export function newController(data, began) {
  const { from, fromTime } = began;
  if (from === null || fromTime === null) return null;
  /** @type {[number, number, number, number|null, number][]} */
  const terms = data.header.terms, index = terms.findLastIndex(([offset, time]) => offset < from && time >= fromTime - BEFORE_MS);
  if (index < 0 || terms[index][0] < data.first) return null;
  const [offset, time, , node] = terms[index], ago = Math.max(0, fromTime - time);
  // Without a controller nobody writes down what fails.
  const silence = index ? time - terms[index - 1][4] : 0;
  const since = silence > SILENCE_MS ? `, after ${durationText(silence)} without a record: what failed meanwhile shows only from then on` : "";
  return { offset, text: `${node === null ? "a controller that is not known" : `node ${node}`} became the controller ${ago ? `${durationText(ago)} before` : "just then"}${since}` };
}

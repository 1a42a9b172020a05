// Addresses that several brokers advertise: a connection to such an address reaches only one of them.

import { ofKind } from "report/outages.js";

/** @typedef {{address: string, brokers: number[], row: number}} Shared `row` is the row since which it is shared. */

/** The addresses that several brokers advertise after a row, that of most brokers first.
 * @param {import("report/data.js").Data} data @param {number} row @returns {Shared[]} */
export function sharedAddresses(data, row) {
  /** @type {Map<string, {broker: number, row: number}[]>} */
  const found = new Map();
  for (const object of ofKind(data, "broker").filter((each) => data.isThere(each, row))) {
    for (const [address, since] of addressesOf(data, object, row)) {
      const holders = found.get(address) ?? [];
      holders.push({ broker: Number(data.labelAt(object, row)), row: since });
      found.set(address, holders);
    }
  }
  return [...found].filter(([, holders]) => holders.length > 1).map(([address, holders]) => {
    const [, second] = holders.map((each) => each.row).sort((a, b) => a - b);
    return { address, brokers: holders.map((each) => each.broker).sort((a, b) => a - b), row: second };
  }).sort((a, b) => b.brokers.length - a.brokers.length);
}

/** What a broker advertises after a row, each address with the row since which it does. @returns {Map<string, number>} */
function addressesOf(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ object, /** @type {number} */ row) {
  /** @type {Map<string, number>} */
  let found = new Map();
  for (const { touch, after } of data.stepsOf(object, row)) {
    const now = new Set((after?.end_points ?? []).map(addressOf)), before = found;
    found = new Map([...now].map((address) => [address, before.get(address) ?? data.rowOf[touch]]));
  }
  return found;
}

const addressOf = (/** @type {{host: string, port: number}} */ { host, port }) => (host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);

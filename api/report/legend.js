// The legend above the picture, and the buttons beside it.

import { LEGEND, swatches } from "report/bars.js";
import { LEADERLESS, UNDER_REPLICATED } from "report/data.js";
import { make } from "report/dom.js";
import { gapsOf } from "report/gaps.js";
import { MARKS } from "report/marks.js";
import { ABSENT, ORDERED } from "report/states.js";

/** Signs are looked for in the rows of a picture that has at most so many. */
const ROWS_MAX = 300;

/** @typedef {import("report/data.js").Data} Data */

/** @param {{data: import("report/data.js").Data, picture: import("report/picture.js").Picture, selection: import("report/selection.js").Selection, player?: import("play/player.js").Player, map?: import("play/broker_map.js").BrokerMap}} page */
export function legend(page) {
  const { picture, selection } = page;
  const { bits, signs: drawn } = drawnIn(page);
  const states = [...LEGEND.filter(([bit]) => bits & bit), ...unknown(page.data)];
  const items = states.map(([bit, name, title]) => make("li", { title, "data-outage": String(bit) }, name));
  const signs = MARKS.filter(([kind]) => drawn.has(kind)).map(([kind, sign, text, title]) => make("li", { class: "sign", title }, make("span", { class: kind, "aria-hidden": "true" }, sign), text));
  const list = make("ul", { class: "legend", "aria-label": "states" }, make("li", { class: "healthy" }, "healthy"), ...items, ...signs);
  const paint = () => {
    const found = swatches(document.documentElement);
    for (const item of items) {
      item.querySelector("canvas")?.remove();
      item.prepend(found.get(Number(item.dataset.outage)) ?? "");
    }
  };
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) => make("button", { type: "button", title, onclick }, text);
  return make("nav", { class: "bar", "aria-label": "view" }, list, make("span", { class: "buttons" }, page.player?.button ?? null, page.map?.button ?? null,
    page.data.header.eventful ? button("most eventful", "select the most eventful range", () => { const [from, to] = page.data.header.eventful; selection.set({ from, to }); picture.zoom(true); }) : null,
    button("zoom in", "show the selection (z)", () => picture.zoom(false)),
    button("whole", "show the whole report (0)", () => picture.zoom(true))));
}

/** The states and signs that a report's picture has; all of a page that grows.
 * @param {{data: Data, picture: import("report/picture.js").Picture}} page @returns {{bits: number, signs: Set<string>}} */
function drawnIn({ data, picture }) {
  const every = new Set(MARKS.map(([kind]) => kind));
  // A page of some topics has neither brokers nor causes.
  if (data.header.is_of_topics) return { bits: LEADERLESS | UNDER_REPLICATED, signs: every };
  if (!data.header.summary) return { bits: ~0, signs: every };
  const { leaderless, alarming } = picture.health, { brokers, topics } = picture.states.rows(), rows = [...brokers, ...topics];
  let bits = data.outages.reduce((all, each) => all | each, 0) & ~LEADERLESS;
  if (alarming.some(Boolean)) bits |= LEADERLESS;
  if (leaderless.some((count, i) => count > alarming[i])) bits |= ORDERED;
  return { bits, signs: rows.length > ROWS_MAX ? every : new Set(rows.flatMap((row) => picture.marks.of(row).map(({ kind }) => kind))) };
}

/** What is hatched. @param {Data} data @returns {[number, string, string][]} */
function unknown(data) {
  const { header } = data, names = [];
  if (gapsOf(data).length || header.history_from > data.first) names.push("unknown");
  if (header.confirmed_end <= data.last) names.push("not confirmed");
  return names.length ? [[ABSENT, names.join(", "), "hatched: before the kept history, not recorded, or records that Kafka may still replace"]] : [];
}

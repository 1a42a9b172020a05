// A first look at a log that is being read: what its files and its newest snapshot say of it.

import { make } from "report/dom.js";
import { bytesText, countText, grouped, plain, timeText } from "report/words.js";

/** @typedef {{as_of: number, brokers: number, fenced: number, controllers: number[], topics: number, partitions: number, leaderless: number, under_replicated: number}} KnownState */
/** @typedef {{log: string, cluster_id: string, log_end: number, from_time: number|null, to_time: number|null, segments: number, bytes: number, gaps: {from_offset: number, to_offset: number}[], state: KnownState|null}} Known */

/** The header of a page that has no records yet.
 * @param {Known|null} known Null if nothing is known. @param {string} state How far the reading is. @param {...Node} more */
export function firstLook(known, state, ...more) {
  const title = known === null ? make("h1", {}, "metalog")
    : make("h1", {}, plain(known.log), " ", make("small", {}, `cluster ${plain(known.cluster_id)}`));
  const facts = known === null ? [] : [make("ul", { class: "summary", "aria-label": "known so far" }, ...factsOf(known))];
  return make("header", {}, title, make("p", { class: "range", role: "status" }, plain(state)), ...facts, ...more);
}

/** @param {Known} known */
function factsOf({ log_end, from_time, to_time, segments, bytes, gaps, state }) {
  const times = from_time === null || to_time === null ? "" : `, ${timeText(from_time)} to ${timeText(to_time)}`;
  const size = `${bytesText(bytes)} in ${countText(segments, "segment")}`;
  return [
    make("li", {}, `offsets up to ${grouped(log_end - 1)}${times}; ${size}`),
    ...gaps.map((gap) => make("li", { class: "bad" }, `offsets ${gap.from_offset} to ${gap.to_offset - 1} were not recorded`)),
    ...(state === null ? [] : stateItems(state)),
  ];
}

/** @param {KnownState} state */
function stateItems({ as_of, brokers, fenced, controllers, topics, partitions, leaderless, under_replicated }) {
  const ofControllers = controllers.length ? `, controllers ${controllers.join(", ")}` : "";
  return [
    make("li", {}, `at offset ${as_of}: ${countText(topics, "topic")}, ${countText(partitions, "partition")}${ofControllers}`),
    make("li", { class: fenced ? "bad" : null }, `${countText(brokers, "broker")}, ${grouped(fenced)} fenced`),
    make("li", { class: leaderless ? "bad" : null }, `${grouped(leaderless)} leaderless, ${grouped(under_replicated)} under-replicated`),
  ];
}

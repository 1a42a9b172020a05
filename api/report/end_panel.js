// The panel of the end of the data: what is wrong there, else which partitions have how many replicas.

import { infoCommand, topicsCommand } from "report/commands.js";
import { make } from "report/dom.js";
import { ofKind, stateOf } from "report/outages.js";
import { countText, plain, timeText } from "report/words.js";

/** More partitions than these are not looked at one by one. */
const LOOKED_AT_MAX = 20_000;

/** Topics with the same number of replicas, and their partitions, by topic. @typedef {{replicas: number, partitions: number, of: Map<number, number>}} Alike */

/** Show what is wrong with partitions at the end, else, or if only this is asked, what is at risk.
 * @param {import("report/page.js").Page} page @param {boolean} onlyRisk */
export function showEnd({ data, outages, answers, selection, picture }, onlyRisk) {
  const row = data.rows - 1, partitions = ofKind(data, "partition").filter((each) => data.isThere(each, row));
  const areWell = !partitions.some((each) => stateOf(data, each, row));
  if (!areWell && !onlyRisk) {
    outages.show("partition");
    return;
  }
  const show = () => {
    const found = alike(data, partitions.slice(0, LOOKED_AT_MAX), row), remarks = [`As of ${timeText(picture.timeAt(data.last))}.`];
    const state = areWell ? `, ${partitions.length === 1 ? "" : "each "}with a leader and all replicas in sync` : "";
    const heading = partitions.length ? `${countText(partitions.length, "partition")} at the end${state}` : "No partitions at the end";
    if (found[0]?.replicas === 1) remarks.push(risk(data, row));
    if (partitions.length > LOOKED_AT_MAX) remarks.push(`The first ${LOOKED_AT_MAX} were looked at.`);
    return {
      nodes: [make("h3", {}, heading), make("p", { class: "remark" }, remarks.join(" ")), make("ul", { class: "at-end" }, ...found.map((of) => line(data, of, row, selection)))],
      command: topicsCommand(selection.where, data.last),
    };
  };
  answers.show("end", () => undefined, show, () => null);
}

/** Show what it means that records are not known to be committed. @param {import("report/page.js").Page} page @param {number} from */
export function showTail({ answers, selection }, from) {
  const show = () => ({
    nodes: [make("h3", {}, `Records from offset ${from} on are not known to be committed`), make("p", { class: "remark" },
      "They are in the log of one node, and no checkpoint covers them: Kafka may still replace them, if another node leads that lacks them. "
      + "Compare this log with those of the other nodes (metalog compare LOG DIR). Of a cluster that is gone, metalog confirm LOG confirms them once, with the evidence.")],
    command: infoCommand(selection.where),
  });
  answers.show("tail", () => undefined, show, () => null);
}

/** What it means that partitions have one replica. */
function risk(/** @type {import("report/data.js").Data} */ data, /** @type {number} */ row) {
  const brokers = ofKind(data, "broker").filter((each) => data.isThere(each, row)).length;
  return brokers === 1 ? "There is one broker: while it is down, all of them are." : "A partition with one replica is down whenever its broker is.";
}

/** The partitions by number of replicas, fewest first. @returns {Alike[]} */
function alike(/** @type {import("report/data.js").Data} */ data, /** @type {number[]} */ partitions, /** @type {number} */ row) {
  /** @type {Map<number, Alike>} */
  const found = new Map();
  for (const each of partitions) {
    const replicas = data.stateAt(each, row)?.replicas.length ?? 0, topic = data.objectTopic[each] - 1;
    const group = found.get(replicas) ?? { replicas, partitions: 0, of: new Map() };
    group.partitions += 1;
    group.of.set(topic, (group.of.get(topic) ?? 0) + 1);
    found.set(replicas, group);
  }
  return [...found.values()].sort((a, b) => a.replicas - b.replicas);
}

const TOPICS_AT_FIRST = 12;

/** A line about partitions with the same number of replicas; each topic can be selected. */
function line(/** @type {import("report/data.js").Data} */ data, /** @type {Alike} */ { replicas, partitions, of }, /** @type {number} */ row, /** @type {import("report/selection.js").Selection} */ selection) {
  const topics = [...of].sort(([, a], [, b]) => b - a), more = topics.length - TOPICS_AT_FIRST;
  const names = topics.slice(0, TOPICS_AT_FIRST).flatMap(([topic, count]) => {
    const name = data.nameAt(topic, row), onclick = () => selection.set({ object: name });
    return [make("button", { type: "button", class: "link", onclick }, plain(data.labelAt(topic, row))), ` (${count})`, ", "];
  }).slice(0, -1);
  const has = `${countText(partitions, "partition")} ${partitions === 1 ? "has" : "have"} ${replicas === 1 ? "one replica" : `${replicas} replicas`}: `;
  return make("li", {}, has, ...names, more > 0 ? `, and ${countText(more, "more topic")}` : "");
}

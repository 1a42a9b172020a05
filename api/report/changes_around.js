// What people changed while outages lasted and shortly before: what came before, which need not be a cause.

import { byPeopleCommand } from "report/commands.js";
import { fill, make } from "report/dom.js";
import { above } from "report/numbers.js";
import { clockText, countText, eventParts, plain, valueText } from "report/words.js";

const BEFORE_MS = 600_000;
const SHOWN_MAX = 5;
const AT_ONCE = 20;

/** @typedef {import("report/events.js").Told} Told */
/** @typedef {import("report/outages.js").Outage} Outage */
/** `from` and `to` are the offsets that were looked at; `isWhole` is false if some of the minutes before are not in the data.
 * @typedef {{before: Told[], during: Told[], from: number, to: number, isWhole: boolean}} Around */

/** The changes by people around outages. @param {import("report/data.js").Data} data @param {Outage} began The first of them. @param {Outage} ended The last. @returns {Around} */
export function changesAround(data, began, ended) {
  const to = ended.to ?? data.last, start = began.from ?? data.first;
  const row = began.fromTime === null ? 0 : above(data.axisTime, data.axisTime[began.fromRow] - BEFORE_MS - 1);
  const from = row === 0 ? data.first : data.offset[row], all = [...data.events.byPeople(from, to)];
  const isWhole = began.from !== null && (row > 1 || data.first <= data.header.about.history_start);
  return { before: all.filter((told) => told.from < start), during: all.filter((told) => told.from >= start), from, to, isWhole };
}

/** Whether a change is about one of some objects, or the configs or partitions of one of their topics. @param {Told} told @param {Set<string>} labels */
const isAbout = (told, labels) => told.objects.some((name) => labels.has(labelOf(name)));

/** What an object is a part of: `topic/orders` of a topic, its partitions and its configs; `broker/1` likewise. @param {string} name */
export const labelOf = (name) => name.replace(/^partition:(.*)\/\d+$/, "topic/$1").replace(/^config:/, "").replace(":", "/");

export class ChangesAround {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection @param {Around} around @param {Iterable<string>} names Of the objects of the outages. */
  constructor(data, selection, around, names) {
    this.data = data;
    this.selection = selection;
    this.around = around;
    this.labels = new Set(Array.from(names, labelOf));
  }

  get command() { return byPeopleCommand(this.selection.where, this.around.from, this.around.to); }

  /** @returns {Node[]} */
  get nodes() {
    const { before, during, isWhole } = this.around;
    if (isWhole && !before.length && !during.length) return [make("div", {}, "nothing in the 10 minutes before it, nor while it lasted; who stops or starts a broker is not recorded")];
    const earlier = isWhole ? "in the 10 minutes before" : "before, as far as these records go";
    return [...this._period(before, earlier), ...this._period(during, "while it lasted")];
  }

  /** Those about the same topics or brokers first; the rest is folded if there are many. */
  _period(/** @type {Told[]} */ told, /** @type {string} */ when) {
    const isFew = told.length <= SHOWN_MAX, own = told.filter((each) => isAbout(each, this.labels)), rest = told.filter((each) => !own.includes(each));
    const about = isFew || !told.length ? "" : `, ${own.length || "none"} about the same ${this._kind()}`;
    const heading = make("div", {}, told.length ? `${countText(told.length, "change")} ${when}${about}` : `nothing ${when}`);
    const shown = isFew ? told : own;
    return [heading, ...(shown.length ? [this._list(shown)] : []), ...(isFew || !rest.length ? [] : [this._folded(rest)])];
  }

  _kind() { return [...this.labels].some((label) => label.startsWith("topic/")) ? "topics" : "brokers"; }

  _folded(/** @type {Told[]} */ told) {
    const list = make("ol", { class: "chain changed" }), folded = make("details", {}, make("summary", {}, told.length === 1 ? "the other one" : `the ${told.length} others`), list);
    folded.addEventListener("toggle", () => fill(list, told.map((each) => this._item(each)).values(), AT_ONCE), { once: true });
    return folded;
  }

  _list(/** @type {Told[]} */ told) {
    const list = make("ol", { class: "chain changed" });
    fill(list, told.map((each) => this._item(each)).values(), AT_ONCE);
    return list;
  }

  /** The values that a config had before a change and after it; null for a change of anything else. */
  _valueOf(/** @type {Told} */ { objects: [name], count, from, to }) {
    const { data } = this;
    if (count !== 1 || from !== to || !name.startsWith("config:")) return null;
    const touches = data.named(name).flatMap((object) => Array.from(data.touchesOf(object))).filter((touch) => data.effect[data.rowOf[touch]] === from);
    const [change] = touches.flatMap((touch) => data.changesOf(touch));
    if (change === undefined) return "as it was";
    const { before, after } = change;
    if (before === null || after === null) return before === null ? `to ${valueText(after)}` : `from ${valueText(before)}`;
    return `${valueText(before)} -> ${valueText(after)}`;
  }

  _item(/** @type {Told} */ told) {
    const { text, by } = eventParts(told), value = this._valueOf(told), onclick = () => this.selection.set({ from: told.from, to: told.to });
    return make("li", {}, make("time", {}, clockText(told.time, this.data.header.times[0])),
      make("button", { type: "button", class: "link offset", title: "select these records", onclick }, plain(text)), value && make("span", {}, plain(value)), make("span", { class: "by" }, by));
  }
}

// The panel of the drift: the configs in which logs differ at the selected time, since when, and who made them differ.

import { logsDiffCommand } from "report/commands.js";
import { afterPaint, commandLine, fill, make } from "report/dom.js";
import { countText, plain, timeText, valueText } from "report/words.js";
import { driftOf, sinceOf } from "served/drift.js";

const AT_FIRST = 40;

/** @typedef {import("served/shown_log.js").ShownLog} ShownLog */
/** @typedef {import("served/drift.js").Drift} Drift */

export class DriftPanel {
  title = make("h2", { id: "drift" });
  list = make("ol", { class: "chain" });
  rest = make("div");
  foot = make("div");
  element = make("section", { class: "panel drift", "aria-labelledby": "drift" }, this.title, this.list, this.rest, this.foot);
  /** @type {Drift[]} */
  found = [];
  _ticket = 0;

  /** @param {ShownLog[]} shown @param {() => number} time The moment that is shown. */
  constructor(shown, time) {
    this.shown = shown;
    this.time = time;
  }

  /** Show the drift at the selected time, after the next paint. */
  draw() {
    const ticket = ++this._ticket;
    this.element.setAttribute("aria-busy", "true");
    afterPaint(() => { if (ticket === this._ticket) this._draw(); });
  }

  _draw() {
    const { shown } = this, moments = shown.map(({ data, selection }) => ({ data, row: data.rowAt(selection.to) }));
    for (const { data } of shown) if (!data.hasValues) data.readValues();
    this.found = driftOf(moments);
    const shared = this.found.filter(({ isShared }) => isShared), others = this.found.filter(({ isShared }) => !isShared);
    this.title.replaceChildren("Configs that differ ", make("small", {}, `${timeText(this.time())} · ${counted(shared)}`));
    this.list.replaceChildren();
    fill(this.list, shared.map((each) => this._item(each, moments)).values(), AT_FIRST);
    if (!shared.length) this.list.append(make("li", { class: "nothing" }, "Whatever all logs have is configured alike at this time."));
    this.rest.replaceChildren(...(others.length ? [this._others(others, moments)] : []));
    const [first, ...rest] = shown;
    this.foot.replaceChildren(...rest.map((each) => commandLine(logsDiffCommand(first.selection.where, first.selection.to, each.selection.where, each.selection.to))));
    this.element.removeAttribute("aria-busy");
  }

  /** What is configured in one log and does not exist in another; opened on demand. */
  _others(/** @type {Drift[]} */ others, /** @type {import("served/drift.js").Moment[]} */ moments) {
    const list = make("ol", { class: "chain" }), folded = make("details", {}, make("summary", {}, `${counted(others)} that not all logs have`), list);
    folded.addEventListener("toggle", () => fill(list, others.map((each) => this._item(each, moments)).values(), AT_FIRST), { once: true });
    return folded;
  }

  _item(/** @type {Drift} */ drift, /** @type {import("served/drift.js").Moment[]} */ moments) {
    const { object, key, values } = drift, since = sinceOf(moments, drift);
    const pick = make("button", { type: "button", class: "name-of", title: "show only its events", onclick: () => this._pick(object) }, plain(object));
    const sides = this.shown.flatMap((log, i) => [make("dt", {}, plain(log.name)), make("dd", {}, this._value(log, object, key, values[i]))]);
    return make("li", {}, pick, make("span", { class: "field" }, plain(key)), make("dl", { class: "sides" }, ...sides), make("div", { class: "by" }, ...this._since(since)));
  }

  /** A value, which shows why it is so. */
  _value(/** @type {ShownLog} */ log, /** @type {string} */ object, /** @type {string} */ key, /** @type {string|null} */ value) {
    if (value === null) return "not set";
    return make("button", { type: "button", class: "value", title: "why?", onclick: () => log.answers.why(object, key) }, plain(valueText(value)));
  }

  _since(/** @type {import("served/drift.js").Since|null} */ since) {
    if (since === null) return ["they differed before the first records of this page"];
    const { log, offset, time, by } = since, { name, selection } = this.shown[log];
    return [`since ${timeText(time)}: `, make("button", { type: "button", class: "link", title: "select this record", onclick: () => selection.set({ from: offset, to: offset }) }, plain(`record ${offset} of ${name}`)), by === "-" ? "" : plain(`, by ${by}`)];
  }

  /** Show only the events of an object in all logs. */
  _pick(/** @type {string} */ object) {
    for (const { selection } of this.shown) {
      selection.object = object;
      selection.tell();
    }
  }
}

const counted = (/** @type {Drift[]} */ found) => `${countText(found.length, "key")} in ${countText(new Set(found.map(({ object }) => object)).size, "config")}`;

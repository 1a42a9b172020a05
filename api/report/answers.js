// Answers to the reader's questions: why, history, blame and outages. A report answers them from its
// own data; a served page asks the service, because the service has the whole log.

import { blameCommand, historyCommand, newestCommand, outagesCommand, whyCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { blameOf } from "report/blame.js";
import { byText, changeLines, countText, durationText, fieldText, plain, timeText } from "report/words.js";
import { whyOf } from "report/why.js";

const ITEMS_AT_FIRST = 40;
export const HISTORY_MAX = 1000;

/** @typedef {import("report/why.js").Link} Link */
/** @typedef {{name: string, field: string, value: any, chain: Link[], notes: string[]}} Why */
/** A change of an object; of a gap `by` is "". @typedef {{offset: number, time: number, type: string, by: string, lines: string[]}} Past */
/** @typedef {{field: string, value: any, setter: {offset: number, time: number, type: string, by: string}|null}} Setter */
/** What an answer consists of; `more` follows the command. @typedef {{nodes: Node[], command: string, more?: Node[]}} Shown */
/** An outage; `from` is null if it began before the kept history, `to` if it lasts.
 * @typedef {{object: string, kind: string, from: number|null, fromTime: number|null, to: number|null, duration: number, cause: string, record: {offset: number, text: string}|null}} Outage */

/**
 * The questions that a service answers. Offsets are inclusive. Each may throw an error, whose message is shown.
 * @typedef {object} Questions
 * @property {(name: string, at: number) => Promise<Why>} why
 * @property {(name: string, at: number, count: number) => Promise<Past[]>} history The newest changes.
 * @property {(name: string, at: number) => Promise<Setter[]>} blame
 * @property {(from: number, to: number, name: string|null) => Promise<Outage[]>} outages
 * @property {(expression: string, from: number, to: number) => Promise<import("asked/flips.js").Flips>} flips
 * @property {(from: number, to: number) => Promise<{violations: import("asked/violations.js").Violation[]}>} violations
 * @property {(without: string, after: number|null, to: number) => Promise<import("asked/second_future.js").Future>} whatIf Without a record, given by its offset, or an object.
 */

export class Answers {
  element = make("div", { class: "answer", role: "region", "aria-label": "why", tabindex: "-1", hidden: true });

  /** @param {import("report/data.js").Data|null} data Null if only the service can answer. @param {import("report/selection.js").Selection} selection @param {Questions|null} questions */
  constructor(data, selection, questions) {
    this.data = data;
    this.selection = selection;
    this.questions = questions;
    this.asked = 0;
  }

  /** The red that was clicked, while it is shown: `w` asks why of it.
   * @type {{name: string, field: string, at: number}|null} */
  seen = null;

  /** Call `tell` for an object, as of an offset, by default the end of the selection; null if there is no such object.
   * @template T @param {string} name @param {(data: import("report/data.js").Data, object: number, row: number) => T} tell @param {number} [at] */
  _own(name, tell, at = this.selection.to) {
    if (this.data === null) return null;
    const row = this.data.rowAt(at), object = this.data.find(name, row);
    return object === null ? null : tell(this.data, object, row);
  }

  /** Show why a field of an object has its value, by default at the end of the selection.
   * @param {string} name @param {string|null} field @param {number} [to] */
  why(name, field, to = this.selection.to) {
    const whole = field === null ? name : `${name}#${field.replaceAll("#", "%23")}`;
    const show = (/** @type {Why|null} */ found) => {
      if (found === null) return { nodes: [make("p", {}, plain(`${name} does not exist at offset ${to}.`))], command: whyCommand(this.selection.where, name, to) };
      const heading = make("h3", {}, plain(`${found.name}#${found.field} is ${fieldText(found.name, found.field, found.value)} at ${to}`));
      const notes = found.notes.map((note) => make("p", { class: "remark" }, plain(note)));
      const order = found.chain.length > 1 ? [make("p", { class: "remark" }, "newest first:")] : [];
      return { nodes: [heading, ...notes, ...order, this.list(found.chain, (link) => this.link(link))], command: whyCommand(this.selection.where, `${found.name}#${found.field}`, to) };
    };
    return this.show("why", () => this.questions?.why(whole, to), show, () => this._own(name, (data, object, row) => whyOf(data, object, field, row), to));
  }

  /** Show every change of an object. @param {string} name */
  history(name) {
    const { first, last, to } = this.selection;
    const count = HISTORY_MAX, asks = this.questions !== null;
    const show = (/** @type {Past[]} */ events, /** @type {boolean} */ isWhole) => {
      const where = !isWhole ? " in this report" : events.length < count ? ` up to ${to}` : ` up to ${to}, the newest`;
      const heading = make("h3", {}, plain(`${name}: ${countText(events.length, "change")}${where}`));
      const command = isWhole ? newestCommand(this.selection.where, name, to, count) : historyCommand(this.selection.where, name, first, last);
      const configs = this._configsOf(name).map((config) => [
        make("p", { class: "remark" }, make("button", { type: "button", class: "link", onclick: () => this.history(config) }, plain(config)), " has a history of its own."),
        commandLine(isWhole ? newestCommand(this.selection.where, config, to, count) : historyCommand(this.selection.where, config, first, last)),
      ]);
      return { nodes: [heading, this.list(events, (event) => this._event(event))], command, more: configs.flat() };
    };
    return this.show("history", () => this.questions?.history(name, to, count), (found) => show(found, asks), () => pastOf(this.data, name), (found) => show(found, false));
  }

  /** The configs that a topic had up to the end of the selection, as far as the page knows. @param {string} name */
  _configsOf(name) {
    return this._own(name, (data, topic, row) => data.configsOf(topic, -1, row).map((config) => data.nameAt(config, row))) ?? [];
  }

  /** Show the fields of an object at the end of the selection, each with the record that set it. @param {string} name */
  blame(name) {
    const { to } = this.selection;
    const show = (/** @type {Setter[]|null} */ setters) => {
      if (setters === null) return { nodes: [make("p", {}, plain(`${name} does not exist at offset ${to}.`))], command: blameCommand(this.selection.where, name, to) };
      const heading = make("h3", {}, plain(`${name} at ${to}, and who set it`));
      return { nodes: [heading, this.list(setters, (setter) => this._setter(name, setter))], command: blameCommand(this.selection.where, name, to) };
    };
    return this.show("blame", () => this.questions?.blame(name, to), show, () => this._own(name, blameOf));
  }

  /** Show the outages in the selection; only a service can answer. @param {string|null} name Null: all objects. */
  outages(name) {
    const { from, to } = this.selection;
    const show = (/** @type {Outage[]} */ outages) => {
      const heading = make("h3", {}, plain(`${countText(outages.length, "outage")} ${name === null ? "" : `of ${name} `}from ${from} to ${to}, longest first`));
      return { nodes: [heading, this.list(outages, (outage) => this._outage(outage))], command: outagesCommand(this.selection.where, from, to, name) };
    };
    return this.show("outages", () => this.questions?.outages(from, to, name), show, () => []);
  }

  close() {
    this.asked++;
    this.seen = null;
    this.element.hidden = true;
  }

  /** Show the service's answer; if there is no service or it is unreachable, answer from the page's data.
   * @template T
   * @param {string} label @param {() => Promise<T>|undefined} ask
   * @param {(found: T) => Shown} show @param {() => T} own
   * @param {(found: T) => Shown} [showOwn] @param {boolean} [quietly] Do not move the focus. */
  async show(label, ask, show, own, showOwn = show, quietly = false) {
    const ticket = ++this.asked;
    this.seen = null;
    const answer = ask();
    if (answer === undefined) {
      this._fill(label, showOwn(own()), [], quietly);
      return;
    }
    this._open(label, [make("p", { class: "remark", role: "status" }, "asking the service …")], quietly);
    try {
      const found = await answer;
      if (ticket === this.asked) this._fill(label, show(found), [], quietly);
    } catch (error) {
      if (ticket !== this.asked) return;
      const { message, isAway } = /** @type {Error & {isAway?: boolean}} */ (error);
      const said = make("p", { class: "remark failed", role: "alert" }, plain(message));
      if (isAway && this.data !== null && label !== "outages") this._fill(label, showOwn(own()), [said], quietly);
      else this._open(label, [said], quietly);
    }
  }

  _fill(/** @type {string} */ label, /** @type {Shown} */ { nodes, command, more = [] }, /** @type {Node[]} */ said, quietly = false) {
    this._open(label, [...said, ...nodes, commandLine(command), ...more], quietly);
  }

  _open(/** @type {string} */ label, /** @type {Node[]} */ nodes, quietly = false) {
    const close = make("button", { type: "button", class: "close", "aria-label": "close", onclick: () => this.close() }, "×");
    this.element.setAttribute("aria-label", label);
    this.element.replaceChildren(close, ...nodes);
    this.element.hidden = false;
    if (quietly) return;
    this.element.focus({ preventScroll: true });
    // Its beginning: all of a long answer would move away what was clicked.
    (this.element.querySelector("h3") ?? this.element).scrollIntoView({ block: "nearest" });
  }

  /** @template T @param {T[]} items @param {(item: T) => Node} make_ */
  list(items, make_) {
    const list = make("ol", { class: "chain" });
    fill(list, items.map(make_).values(), ITEMS_AT_FIRST);
    return list;
  }

  _record(/** @type {{offset: number, time: number, type: string}} */ { offset, time, type }) {
    return [
      make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => this.selection.set({ from: offset, to: offset }) }, `${offset}`),
      make("time", { datetime: timeText(time) }, timeText(time)), make("span", { class: "type" }, type),
    ];
  }

  link(/** @type {Link} */ link) {
    const by = link.principal === null ? null : make("span", { class: "by" }, plain(`by ${link.principal}`));
    return make("li", {}, ...this._record(link), by, make("div", { class: "text" }, plain(link.text)));
  }

  _event(/** @type {Past} */ event) {
    const by = event.by === "" ? null : make("span", { class: "by" }, plain(`by ${event.by}`));
    return make("li", {}, ...this._record(event), by,
      ...event.lines.map((line) => make("div", { class: "text" }, line)));
  }

  _setter(/** @type {string} */ name, /** @type {Setter} */ { field, value, setter }) {
    const shown = make("button", { type: "button", class: "value", title: "why?", onclick: () => this.why(name, field) }, plain(fieldText(name, field, value)));
    return make("li", {}, make("div", { class: "set" }, make("span", { class: "field" }, plain(`${field}: `)), shown),
      ...(setter === null ? [make("span", { class: "by" }, "set by an earlier record, which is not known")]
        : [...this._record(setter), make("span", { class: "by" }, plain(`by ${setter.by}`))]));
  }

  _outage(/** @type {Outage} */ outage) {
    const { object, from, to } = outage;
    const since = from ?? "before the kept history";
    const pick = make("button", { type: "button", class: "link offset", title: "select the time of this outage", onclick: () => this.selection.set({ from: from ?? -Infinity, to: to ?? Infinity, object }) }, plain(object));
    return make("li", {}, pick, make("span", { class: "type" }, outage.kind.replaceAll("_", " ")), make("span", {}, durationText(outage.duration)),
      make("span", { class: "by" }, to === null ? `since ${since}, still in progress` : `from ${since} to ${to}`),
      make("div", { class: "text" }, plain(outage.cause)));
  }
}

/** The changes of all objects that had a name in the data, oldest first. @returns {Past[]} */
function pastOf(/** @type {import("report/data.js").Data|null} */ data, /** @type {string} */ name) {
  if (data === null) return [];
  const steps = data.named(name).flatMap((object) => data.historyOf(object)).sort((a, b) => a.row - b.row);
  return steps.map(({ row, changes }) => {
    const record = data.recordOf(row);
    return { offset: record.offset, time: record.time, type: record.type, by: byText(record), lines: changeLines(name, changes) };
  });
}

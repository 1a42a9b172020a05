// The difference: what the selection changed, as `metalog diff`; why a value is as it is; and the
// history of an object.

import { diffCommand, historyCommand, whyCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { changeLines, countText, plain, timeText, valueText } from "report/words.js";
import { whyOf } from "report/why.js";

const OBJECTS_AT_FIRST = 40, BUDGET_MS = 12;

/** @typedef {import("report/data.js").Change} Change */

export class Difference {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection */
  constructor(data, selection) {
    this.data = data;
    this.selection = selection;
    this.title = make("h2", { id: "difference" });
    this.body = make("div", { class: "changes" });
    this.foot = make("div");
    this.links = make("div", { class: "links" });
    this.answer = make("div", { class: "answer", role: "region", "aria-label": "why", tabindex: "-1", hidden: true });
    this.element = make("section", { class: "panel", "aria-labelledby": "difference" }, this.title, this.links, this.answer, this.body, this.foot);
    this.shown = 0;
    selection.watch(() => { this.close(); this.show(); });
  }

  /** The rows before and at the end of the selection. */
  ends() {
    return [this.data.rowAt(this.selection.from - 1), this.data.rowAt(this.selection.to)];
  }

  show() {
    const { from, to, object } = this.selection;
    const [before, after] = this.ends();
    const only = object === null ? null : this.data.find(object, after);
    const objects = object !== null ? (only === null ? [] : [only]) : this.data.touchedIn(before, after);
    this.body.replaceChildren();
    const about = make("small");
    this.title.replaceChildren(object === null ? "The difference " : `${plain(object)} `, about);
    this.links.replaceChildren(...(object === null ? [] : this._links(object)));
    this.foot.replaceChildren(commandLine(diffCommand(from, to, object)));
    const groups = this._groups(objects, before, after);
    fill(this.body, this._items(groups), OBJECTS_AT_FIRST);
    if (!this.body.children.length) this.body.append(make("p", { class: "nothing" }, this._nothing(object, only, after)));
    this._count(about, objects, before, after);
  }

  _nothing(/** @type {string|null} */ object, /** @type {number|null} */ only, /** @type {number} */ after) {
    if (object === null) return "Nothing differs.";
    if (only === null) return `There is no ${object} in this report.`;
    return this.data.stateAt(only, after) === null ? "It is not there, neither before nor after." : "It is the same before and after.";
  }

  _links(/** @type {string} */ object) {
    const link = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", class: "link", onclick }, text);
    return [
      link("why", () => this.why(object, null)), link("history", () => this.history()),
      link("all objects", () => this.selection.set({ object: null })),
    ];
  }

  /** Counts over all objects, a little at a time: there may be 100,000 of them. */
  _count(/** @type {HTMLElement} */ about, /** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    const ticket = ++this.shown;
    const { from, to } = this.selection;
    let fields = 0, differ = 0, at = 0;
    const step = () => {
      if (ticket !== this.shown) return;
      const end = performance.now() + BUDGET_MS;
      for (; at < objects.length && performance.now() < end; at++) {
        const found = this.data.differenceOf(objects[at], before, after).length;
        fields += found;
        differ += found ? 1 : 0;
      }
      const done = at >= objects.length;
      about.textContent = `${done ? "" : "at least "}${countText(fields, "difference")}${fields ? ` in ${countText(differ, "object")}` : ""} between ${from > 0 ? `offset ${from - 1}` : "the start"} and offset ${to}`;
      if (!done) setTimeout(step);
    };
    step();
  }

  *_groups(/** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    for (const object of objects) {
      const changes = this.data.differenceOf(object, before, after);
      if (changes.length) yield changes;
    }
  }

  /** @param {Iterable<Change[]>} groups */
  *_items(groups) {
    const [, after] = this.ends();
    for (const changes of groups) {
      const name = `${this.data.kinds[this.data.objectKind[changes[0].object]]}:${changes[0].label}`;
      const pick = make("button", { type: "button", class: "name-of", onclick: () => this.selection.set({ object: this.data.nameAt(changes[0].object, after) }) }, plain(name));
      yield make("div", { class: "object" }, pick, ...this._lines(name, changes));
    }
  }

  _lines(/** @type {string} */ name, /** @type {Change[]} */ changes) {
    const { fate } = changes[0];
    if (fate === "changed") {
      return changes.map((change) => make("div", { class: "line" }, make("span", { class: "field" }, `${plain(change.field)}: `),
        make("span", { class: "before" }, plain(valueText(change.before))), " -> ", this._value(name, change)));
    }
    if (fate === "gone") return [make("div", { class: "line gone" }, changeLines(changes)[0])];
    const parts = changes.flatMap((change) => [" ", make("span", { class: "field" }, `${plain(change.field)}=`), this._value(name, change)]);
    return [make("div", { class: "line" }, "new:", ...parts)];
  }

  /** A value that tells why it is so. */
  _value(/** @type {string} */ name, /** @type {Change} */ change) {
    const onclick = () => this.why(name, change.field);
    return make("button", { type: "button", class: "value", title: "why?", onclick }, plain(valueText(change.after)));
  }

  /** Show why a field of an object has its value at the end of the selection.
   * @param {string} name @param {string|null} field */
  why(name, field) {
    const [, row] = this.ends();
    const object = this.data.find(name, row);
    const found = object === null ? null : whyOf(this.data, object, field, row);
    const { to } = this.selection;
    if (found === null) {
      this._answer("why", [make("p", {}, `${plain(name)} is not there at ${to}.`)], whyCommand(name, to));
      return;
    }
    const heading = make("h3", {}, plain(`${found.name}#${found.field} is ${valueText(found.value)} at ${to}`));
    const notes = found.notes.map((note) => make("p", { class: "remark" }, plain(note)));
    const chain = make("ol", { class: "chain" });
    fill(chain, this._chain(found.chain), OBJECTS_AT_FIRST);
    this._answer("why", [heading, ...notes, chain], whyCommand(`${found.name}#${found.field}`, to));
  }

  *_chain(/** @type {import("report/why.js").Link[]} */ links) {
    for (const link of links) {
      const by = link.principal === null ? "" : `by ${plain(link.principal)}`;
      yield make("li", {},
        make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => this.selection.set({ from: link.offset, to: link.offset }) }, `${link.offset}`),
        make("time", { datetime: timeText(link.time) }, timeText(link.time)), make("span", { class: "type" }, link.type),
        by ? make("span", { class: "by" }, by) : null, make("div", { class: "text" }, plain(link.text)));
    }
  }

  /** Show every change of the selected object that is in the file. */
  history() {
    const name = this.selection.object;
    if (name === null) return;
    const object = this.data.find(name, this.ends()[1]);
    const touches = object === null ? [] : [...this.data.touchesOf(object)].filter((t) => this.data.rowOf[t] > 0);
    const chain = make("ol", { class: "chain" });
    fill(chain, this._events(touches), OBJECTS_AT_FIRST);
    const heading = make("h3", {}, plain(`${name}: ${countText(touches.length, "change")} in this report`));
    this._answer("history", [heading, chain], historyCommand(name, this.data.first, this.data.last));
  }

  *_events(/** @type {number[]} */ touches) {
    for (const touch of touches) {
      const record = this.data.recordOf(this.data.rowOf[touch]);
      const by = [record.principal, record.command, record.reason && `(${record.reason})`].filter(Boolean).join(" ") || "-";
      yield make("li", {},
        make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => this.selection.set({ from: record.offset, to: record.offset }) }, `${record.offset}`),
        make("time", { datetime: timeText(record.time) }, timeText(record.time)), make("span", { class: "type" }, record.type),
        make("span", { class: "by" }, `by ${plain(by)}`),
        ...changeLines(this.data.changesOf(touch)).map((line) => make("div", { class: "text" }, line)));
    }
  }

  _answer(/** @type {string} */ label, /** @type {Node[]} */ nodes, /** @type {string} */ command) {
    const close = make("button", { type: "button", class: "close", "aria-label": "close", onclick: () => this.close() }, "×");
    this.answer.setAttribute("aria-label", label);
    this.answer.replaceChildren(close, ...nodes, commandLine(command));
    this.answer.hidden = false;
    this.answer.focus({ preventScroll: true });
    this.answer.scrollIntoView({ block: "nearest" });
  }

  close() { this.answer.hidden = true; }

  /** Why of what is selected: its first value that differs, or its default one. */
  whyOfSelection() {
    const { object } = this.selection;
    if (object !== null) {
      this.why(object, null);
      return;
    }
    /** @type {HTMLElement|null} */ (this.body.querySelector("button.value"))?.click();
  }
}

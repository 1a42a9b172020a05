// The difference between before and after the selection, like `metalog diff`, and links to the answers.

import { alikeGroups } from "report/alike.js";
import { diffCommand, historyCommand } from "report/commands.js";
import { afterPaint, commandLine, fill, make, whenIdle } from "report/dom.js";
import { rehearse } from "report/rehearsal.js";
import { byText, changeLines, countText, fieldText, plain, timeText } from "report/words.js";

const OBJECTS_AT_FIRST = 40, OBJECTS_AT_ONCE = 10, FIRST_BUDGET_MS = 2, BUDGET_MS = 8;

/** @typedef {import("report/data.js").Change} Change */

export class Difference {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection @param {import("report/answers.js").Answers} answers */
  constructor(data, selection, answers) {
    this.data = data;
    this.selection = selection;
    this.title = make("h2", { id: "difference" });
    this.body = make("div", { class: "changes" });
    this.partitions = make("div");
    this.alike = make("div");
    this.foot = make("div");
    this.links = make("div", { class: "links" });
    this.answers = answers;
    this.element = make("section", { class: "panel", "aria-labelledby": "difference" }, this.title, this.links, this.alike, this.body, this.partitions, this.foot);
    this.shown = 0;
    selection.watch(() => {
      // An open answer stays open while the selection follows the end.
      if (!selection.isGrowing) this.answers.close();
      this.show();
    });
  }

  /** The last row before the selection, and its last row. */
  ends() {
    return [this.data.rowAt(this.selection.from - 1), this.data.rowAt(this.selection.to)];
  }

  show() {
    if (!this.data.hasValues) {
      this._showLater();
      return;
    }
    const { from, to, object } = this.selection;
    const [before, after] = this.ends();
    const only = object === null ? null : this.data.find(object, after);
    const configs = only === null ? [] : this.data.configsOf(only, before, after);
    const objects = object === null ? this.data.touchedIn(before, after) : only === null ? [] : [only, ...configs];
    const scrolled = this.selection.isGrowing ? this.body.scrollTop : 0;
    this.body.replaceChildren();
    const about = make("small");
    this.title.replaceChildren(object === null ? "The difference " : `${plain(object)} `, about);
    this.links.replaceChildren(...this._links(object));
    const named = [{ name: object, number: only }, ...configs.map((number) => ({ name: this.data.nameAt(number, after), number }))];
    this.foot.replaceChildren(...named.map(({ name, number }) => {
      const isThere = number === null || this.data.isThere(number, before) || this.data.isThere(number, after);
      return commandLine(name !== null && !isThere ? historyCommand(this.selection.where, name, from, to) : diffCommand(this.selection.where, from, to, name));
    }));
    fill(this.body, this._items(objects, before, after), OBJECTS_AT_FIRST, scrolled ? OBJECTS_AT_FIRST : OBJECTS_AT_ONCE);
    if (scrolled) this.body.scrollTop = scrolled;
    if (!this.body.children.length) this.body.append(make("p", { class: "nothing" }, this._nothing(object, only, after)));
    this.shown++;
    const range = `between ${from > 0 ? `offset ${from - 1}` : "the start"} and offset ${to}`;
    this._count(objects, before, after, "object", (counted, passed) => { about.textContent = `${counted} ${range}${passed}`; });
    this._groupAlike(objects, before, after);
    this._foldPartitions(only === null ? [] : this.data.partitionsOf(only), before, after);
  }

  /** Say in short what many objects have in common, once the page is idle.
   * @param {number[]} objects @param {number} before @param {number} after */
  _groupAlike(objects, before, after) {
    const ticket = this.shown;
    this.alike.replaceChildren();
    whenIdle(() => {
      if (ticket !== this.shown) return;
      this.alike.replaceChildren(...alikeGroups(this.data, objects, before, after, (name) => this.selection.set({ object: name })));
    });
  }

  /** Show the number of differences of a topic's partitions; the differences themselves once it is opened.
   * @param {number[]} partitions @param {number} before @param {number} after */
  _foldPartitions(partitions, before, after) {
    const wasOpen = this.selection.isGrowing && this.partitions.querySelector("details")?.open === true;
    this.partitions.replaceChildren();
    const touched = partitions.filter((partition) => this.data.isTouchedIn(partition, before, after));
    if (!touched.length) return;
    const summary = make("summary"), list = make("div", { class: "changes" });
    const open = () => fill(list, this._items(touched, before, after), OBJECTS_AT_FIRST, OBJECTS_AT_ONCE);
    const folded = make("details", { open: wasOpen }, summary, list);
    folded.addEventListener("toggle", open, { once: true });
    this.partitions.append(folded);
    this._count(touched, before, after, "partition", (counted, passed) => { summary.textContent = `its partitions: ${counted}${passed}`; });
  }

  /** Decode the values, which takes time, after the list of events is painted. */
  _showLater() {
    this.body.setAttribute("aria-busy", "true");
    const { data } = this;
    afterPaint(() => {
      if (data !== this.data) return;
      data.readValues();
      this.show();
      rehearse(data);
    });
  }

  _nothing(/** @type {string|null} */ object, /** @type {number|null} */ only, /** @type {number} */ after) {
    if (object === null) return "Nothing differs.";
    if (only === null) return `There is no ${object} in this report.`;
    if (this.data.stateAt(only, after) === null) return "It does not exist before or after.";
    return object.startsWith("topic:") ? "It and its configs are the same before and after." : "It is the same before and after.";
  }

  _links(/** @type {string|null} */ object) {
    const link = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", class: "link", onclick }, text);
    const hasOutages = this.answers.questions && (object === null || /^(partition|broker):/.test(object));
    const outages = hasOutages ? [link("outages", () => this.outages())] : [];
    if (object === null) return outages;
    return [
      link("why", () => this.why(object, null)), link("history", () => this.history()), link("blame", () => this.blame()),
      ...outages, link("all objects", () => this.selection.set({ object: null })),
    ];
  }

  /** Count the differences of objects, in slices of time: there may be 100,000 objects. Stops once
   * something else is shown.
   * @param {number[]} objects @param {number} before @param {number} after @param {string} noun
   * @param {(counted: string, passed: string) => void} tell Gets the counts after each slice, as text. */
  _count(objects, before, after, noun, tell) {
    const ticket = this.shown;
    let fields = 0, differ = 0, at = 0, budget = FIRST_BUDGET_MS;
    const step = () => {
      if (ticket !== this.shown) return;
      const end = performance.now() + budget;
      budget = BUDGET_MS;
      for (; at < objects.length && performance.now() < end; at++) {
        const found = this.data.countDifferences(objects[at], before, after);
        fields += found;
        differ += found ? 1 : 0;
      }
      const done = at >= objects.length, passed = done ? this.data.passedIn(objects, before, after).length : 0;
      const counted = `${done ? "" : "at least "}${countText(fields, "difference")}${fields ? ` in ${countText(differ, noun)}` : ""}`;
      tell(counted, passed ? `, ${countText(passed, noun)} came and went` : "");
      if (!done) whenIdle(step);
    };
    step();
  }

  *_groups(/** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    for (const object of objects) {
      const changes = this.data.differenceOf(object, before, after);
      if (changes.length) yield changes;
    }
  }

  *_items(/** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    for (const changes of this._groups(objects, before, after)) {
      const name = `${this.data.kinds[this.data.objectKind[changes[0].object]]}:${changes[0].label}`;
      const pick = make("button", { type: "button", class: "name-of", onclick: () => this.selection.set({ object: this.data.nameAt(changes[0].object, after) }) }, plain(name));
      yield make("div", { class: "object" }, pick, ...this._lines(name, changes));
    }
    for (const passed of this.data.passedIn(objects, before, after)) yield this._passedItem(passed);
  }

  /** An object that existed only in the selection. */
  _passedItem(/** @type {import("report/data.js").Passed} */ { object, made, removed, name }) {
    const { data } = this, rows = [made, removed].map((touch) => data.rowOf[touch]);
    const show = () => {
      this.selection.set({ object: name });
      this.history();
    };
    const ends = rows.map((row, i) => {
      const { offset, time, ...origin } = data.recordOf(row), by = byText(origin);
      return make("div", { class: "end" }, i ? "removed at " : "created at ",
        make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => this.selection.set({ from: offset, to: offset, object: null }) }, `${offset}`),
        make("time", { datetime: timeText(time) }, ` ${timeText(time)}`), by === "-" ? "" : plain(` by ${by}`));
    });
    const state = Object.entries(data.stateAt(object, rows[1] - 1) ?? {}).map(([field, value]) => `${field}=${fieldText(name, field, value)}`).join(" ");
    const [from, to] = rows.map((row) => data.recordOf(row).offset);
    return make("div", { class: "object" },
      make("button", { type: "button", class: "name-of", onclick: () => this.selection.set({ object: name }) }, plain(name)),
      make("div", { class: "line gone" }, `came and went: ${from} to ${to}`), ...ends,
      make("div", { class: "end" }, plain(`last state: ${state}`)),
      make("div", { class: "end" }, make("button", { type: "button", class: "link", onclick: show }, "its history")));
  }

  _lines(/** @type {string} */ name, /** @type {Change[]} */ changes) {
    const { fate } = changes[0];
    if (fate === "changed") {
      return changes.map((change) => make("div", { class: "line" }, make("span", { class: "field" }, `${plain(change.field)}: `),
        make("span", { class: "before" }, plain(fieldText(name, change.field, change.before))), " -> ", this._value(name, change)));
    }
    if (fate === "gone") return [make("div", { class: "line gone" }, changeLines(name, changes)[0])];
    const parts = changes.flatMap((change) => [" ", make("span", { class: "field" }, `${plain(change.field)}=`), this._value(name, change)]);
    return [make("div", { class: "line" }, "new:", ...parts)];
  }

  /** A value as a button that shows why the field has it. */
  _value(/** @type {string} */ name, /** @type {Change} */ change) {
    const onclick = () => this.why(name, change.field);
    return make("button", { type: "button", class: "value", title: "why?", onclick }, plain(fieldText(name, change.field, change.after)));
  }

  history() { if (this.selection.object !== null) this.answers.history(this.selection.object); }

  blame() { if (this.selection.object !== null) this.answers.blame(this.selection.object); }

  outages() { if (this.answers.questions) this.answers.outages(this.selection.object); }

  why(/** @type {string} */ name, /** @type {string|null} */ field) { this.answers.why(name, field); }

  /** Show why: for the default field of the selected object, or for the first value of the difference. */
  whyOfSelection() {
    const { object } = this.selection;
    if (object !== null) {
      this.why(object, null);
      return;
    }
    /** @type {HTMLElement|null} */ (this.body.querySelector("button.value"))?.click();
  }
}

// Search: finds objects by name, offsets, and times.

import { above } from "report/numbers.js";
import { make } from "report/dom.js";
import { plain, timeText } from "report/words.js";
import { zone } from "report/zone.js";

const FOUND_MAX = 12;

/** @typedef {{text: string, hint: string, go: () => void}} Found */

export class Search {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection @param {import("report/picture.js").Picture} picture */
  constructor(data, selection, picture) {
    this.data = data;
    this.selection = selection;
    this.picture = picture;
    this.chosen = 0;
    /** @type {Found[]} */
    this.found = [];
    /** True while nothing is found for a text. */
    this.isMissed = false;
    this.input = make("input", {
      type: "search", placeholder: "Search: topic, broker, offset, time", role: "combobox", autocomplete: "off", spellcheck: "false",
      "aria-label": "search topics, brokers, offsets, times", "aria-expanded": "false", "aria-controls": "found", "aria-keyshortcuts": "/",
    });
    this.list = make("ul", { id: "found", role: "listbox", "aria-label": "found", hidden: true });
    this.element = make("div", { class: "search", role: "search" }, this.input, this.list);
    this.input.addEventListener("input", () => { this.chosen = 0; this.show(); });
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.input.addEventListener("blur", () => setTimeout(() => this._close(), 150));
  }

  focus() { this.input.focus(); this.input.select(); }

  _key(/** @type {KeyboardEvent} */ event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      this.chosen = (this.chosen + step + this.found.length) % this.found.length;
      this._draw();
      event.preventDefault();
    } else if (event.key === "Enter") {
      this._go(this.found[this.chosen]);
    } else if (event.key === "Escape") {
      this._close();
      this.input.blur();
    }
  }

  show() {
    const text = this.input.value.trim();
    this.found = text ? [...this._places(text), ...this._objects(text)] : [];
    this.isMissed = text !== "" && !this.found.length;
    this._draw();
  }

  /** The hits for an offset, or for a time such as 2026-01-14T03:12 or 03:12:04. @returns {Found[]} */
  _places(/** @type {string} */ text) {
    const { data, picture } = this;
    const found = [];
    if (/^#?\d+$/.test(text)) {
      const offset = Number(text.replace("#", ""));
      if (offset >= data.first && offset <= data.last) {
        found.push({ text: `offset ${offset}`, hint: timeText(picture.timeAt(offset)), go: () => this.selection.set({ from: offset, to: offset }) });
      }
    }
    const time = timeOf(text, picture.times[0] ?? 0);
    if (time !== null) {
      const at = Math.min(above(picture.times, time - 1), picture.times.length - 1);
      const { from, to } = picture.offsetsIn(picture.times[at], picture.times[at]);
      found.push({ text: timeText(time), hint: `next change: offset ${from}`, go: () => this.selection.set({ from, to }) });
    }
    return found;
  }

  /** The hits for objects; names that begin with the text come first. @returns {Found[]} */
  _objects(/** @type {string} */ text) {
    const { data } = this, wanted = text.toLowerCase();
    const row = data.rows - 1;
    /** @type {[number, number][]} */
    const hits = [];
    for (let object = 0; object < data.objects && hits.length < 400; object++) {
      // Partitions are searched only for a text with a slash: there may be 100,000 partitions.
      if (data.objectTopic[object] && !wanted.includes("/")) continue;
      const name = data.nameAt(object, row).toLowerCase(), label = name.slice(name.indexOf(":") + 1);
      const spoken = name.replace(":", " ");
      if (label.startsWith(wanted) || spoken === wanted) hits.push([object, 0]);
      else if (name.includes(wanted) || spoken.includes(wanted)) hits.push([object, 1]);
    }
    hits.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    return hits.slice(0, FOUND_MAX).map(([object]) => {
      const name = data.nameAt(object, row);
      const there = data.stateAt(object, row) === null ? "gone at the end" : "";
      return { text: plain(name), hint: there, go: () => this.selection.set({ object: name }) };
    });
  }

  _draw() {
    this.list.replaceChildren(...this.found.map((found, i) => make("li", {
      role: "option", id: `found-${i}`, "aria-selected": String(i === this.chosen), onpointerdown: () => this._go(found),
    }, make("span", {}, found.text), make("small", {}, found.hint))));
    if (this.isMissed) this.list.append(make("li", { role: "option", "aria-disabled": "true" }, "no such name, offset or time in this range"));
    const isOpen = this.found.length > 0;
    this.list.hidden = !isOpen && !this.isMissed;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    if (isOpen) this.input.setAttribute("aria-activedescendant", `found-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  _go(/** @type {Found|undefined} */ found) {
    if (!found) return;
    found.go();
    this._close();
    this.input.blur();
  }

  _close() {
    this.found = [];
    this.isMissed = false;
    this._draw();
  }
}

/** Parse a time in the page's zone; without a date, the next such time after `near`. @param {string} text @param {number} near */
function timeOf(text, near) {
  if (/^\d{1,2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text)) {
    const found = Date.parse(`${timeText(near).slice(0, 10)}T${text.padStart(5, "0")}${zone.suffix(near)}`);
    const day = 86_400_000;
    return Number.isNaN(found) ? null : found < near - 60_000 ? found + day : found;
  }
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return null;
  const suffix = zone.suffix(Date.parse(text.slice(0, 10)));
  const found = Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : text.includes("T") || text.includes(" ") ? `${text.replace(" ", "T")}${suffix}` : `${text}T00:00${suffix}`);
  return Number.isNaN(found) ? null : found;
}

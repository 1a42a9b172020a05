// The input of an expression, with completion of collections, names and fields.

import { completionAt } from "asked/completion.js";
import { make } from "report/dom.js";
import { plain } from "report/words.js";

const LOOKED_MAX = 200_000;

export class ExpressionInput {
  input = make("input", {
    type: "text", class: "expression", placeholder: "partitions.exists(p, p.leader == -1)", role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-label": "expression", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": "completions", "aria-keyshortcuts": "e",
  });
  list = make("ul", { id: "completions", role: "listbox", "aria-label": "completions", hidden: true });
  element = make("div", { class: "search completed" }, this.input, this.list);
  /** @type {import("asked/completion.js").Completion} */
  found = { begin: 0, words: [] };
  /** The word that Enter inserts; -1: none, Enter asks. */
  chosen = -1;

  /** @param {import("report/data.js").Data} data */
  constructor(data) {
    this.data = data;
    this.input.addEventListener("input", () => this._complete());
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.input.addEventListener("blur", () => setTimeout(() => this._close(), 150));
  }

  get text() { return this.input.value.trim(); }

  set text(text) { this.input.value = text; }

  focus() {
    this.input.focus();
    this._complete();
  }

  _key(/** @type {KeyboardEvent} */ event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], { words } = this.found, isOpen = words.length > 0;
    if (step && isOpen) {
      this.chosen = (this.chosen + step + words.length + (this.chosen < 0 && step < 0 ? 1 : 0)) % words.length;
      this._draw();
    } else if (event.key === "ArrowDown") {
      this._complete();
    } else if (isOpen && (event.key === "Tab" || event.key === "Enter") && this.chosen >= 0) {
      this._insert(this.chosen);
    } else if (event.key === "Escape") {
      if (isOpen) this._close();
      else this.input.blur();
    } else return;
    event.preventDefault();
  }

  _complete() {
    this.found = completionAt(this.input.value, this.input.selectionStart ?? 0, (collection, begun) => [...namesOf(this.data, collection, begun)]);
    this.chosen = -1;
    this._draw();
  }

  _insert(/** @type {number} */ index) {
    const { input } = this, { begin, words } = this.found, end = input.selectionStart ?? begin;
    input.setRangeText(words[index].text, begin, end, "end");
    input.focus();
    this._complete();
  }

  _draw() {
    const { words } = this.found;
    this.list.replaceChildren(...words.map(({ text, hint }, i) => make("li", {
      role: "option", id: `completion-${i}`, "aria-selected": String(i === this.chosen),
      onpointerdown: (/** @type {Event} */ event) => { event.preventDefault(); this._insert(i); },
    }, make("span", {}, plain(text)), make("small", {}, hint))));
    this.list.hidden = !words.length;
    this.input.setAttribute("aria-expanded", String(words.length > 0));
    if (this.chosen >= 0) this.input.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  _close() {
    this.found = { begin: 0, words: [] };
    this.chosen = -1;
    this._draw();
  }
}

/** The names of objects of a collection that begin with a text. @param {import("report/data.js").Data} data @param {string} collection @param {string} begun */
function* namesOf(data, collection, begun) {
  const kind = data.kinds.findIndex((name) => name === collection || `${name}s` === collection), row = data.rows - 1;
  if (kind < 0) return;
  const end = Math.min(data.kindStart[kind + 1] ?? data.objects, data.kindStart[kind] + LOOKED_MAX);
  let count = 0;
  for (let object = data.kindStart[kind]; object < end && count < 10; object++) {
    const label = data.labelAt(object, row);
    if (!label.startsWith(begun)) continue;
    count++;
    yield label;
  }
}

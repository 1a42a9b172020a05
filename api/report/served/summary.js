// The summary on top of a served page: what happened in the whole history, each clause a link to it.

import { make } from "report/dom.js";
import { plain } from "report/words.js";

/** While the log grows, the summary is asked again at most this often: it reads the whole history. */
const AGAIN_MS = 15000;

/** @typedef {{about: string, text: string, is_bad: boolean, from_offset: number|null, to_offset: number|null}} Clause */

/** The clauses as items of a list. @param {Clause[]} clauses @param {((clause: Clause) => void)|null} pick Null: no links. */
export function clauseItems(clauses, pick) {
  return clauses.map((clause) => {
    const text = plain(clause.text), isLink = pick !== null && clause.from_offset !== null;
    return make("li", { class: clause.is_bad ? "bad" : null },
      isLink ? make("button", { type: "button", class: "link", onclick: () => pick(clause) }, text) : text);
  });
}

export class Summary {
  element = make("ul", { class: "summary", "aria-label": "summary", "aria-busy": "true" }, make("li", { class: "muted" }, "reading the whole history …"));

  /** Where a clause shows its records; null until there is a picture.
   * @type {import("report/selection.js").Selection|null} */
  selection = null;
  isKnown = false;

  /** @param {import("served/service.js").Service} service */
  constructor(service) {
    this.service = service;
    this.askedAt = -Infinity;
    this.timer = 0;
  }

  /** Ask for the summary: now, or if one is known, once it is old enough. */
  ask() {
    clearTimeout(this.timer);
    const wait = this.isKnown ? this.askedAt + AGAIN_MS - performance.now() : 0;
    this.timer = window.setTimeout(() => this._ask(), Math.max(0, wait));
  }

  async _ask() {
    this.askedAt = performance.now();
    try {
      const { clauses } = await this.service.summary();
      this.isKnown = true;
      this.element.replaceChildren(...clauseItems(clauses, (clause) => this._show(clause)));
    } catch (error) {
      this.element.replaceChildren(make("li", { class: "muted" }, plain(/** @type {Error} */ (error).message)));
    }
    this.element.removeAttribute("aria-busy");
  }

  /** @param {Clause} clause */
  _show({ from_offset, to_offset }) {
    const { selection } = this;
    selection?.set({ from: from_offset ?? selection.first, to: to_offset ?? selection.last });
  }
}

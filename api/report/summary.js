// The summary on top of a page: what happened in the whole history, each clause a link to it.

import { make } from "report/dom.js";
import { plain } from "report/words.js";

/** @typedef {{about: string, text: string, is_bad: boolean, from_offset: number|null, to_offset: number|null}} Clause */

/** The clauses as items of a list. @param {Clause[]} clauses @param {((clause: Clause) => void)|null} pick Null: no links. */
export function clauseItems(clauses, pick) {
  return clauses.map((clause) => {
    const text = plain(clause.text);
    return make("li", { class: clause.is_bad ? "bad" : null },
      pick === null ? text : make("button", { type: "button", class: "link", onclick: () => pick(clause) }, text));
  });
}

/** The list, with what it says until it is known. @param {string} waiting */
export function summaryList(waiting) {
  return make("ul", { class: "summary", "aria-label": "summary", "aria-busy": "true" }, make("li", { class: "muted" }, waiting));
}

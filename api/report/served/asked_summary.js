// The summary of a served page, asked of the service.

import { make } from "report/dom.js";
import { clauseItems, summaryList } from "report/summary.js";
import { plain } from "report/words.js";

/** While the log grows, the summary is asked again at most this often: it reads the whole history. */
const AGAIN_MS = 15000;

export class AskedSummary {
  element = summaryList("reading the whole history …");

  /** Where a clause shows its records; null until there is a picture.
   * @type {import("report/page.js").Page|null} */
  page = null;
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
      this.element.replaceChildren(...clauseItems(clauses, (clause) => this.page?.showClause(clause)));
    } catch (error) {
      this.element.replaceChildren(make("li", { class: "muted" }, plain(/** @type {Error} */ (error).message)));
    }
    this.element.removeAttribute("aria-busy");
  }
}

// Checks: which invariants each log of the list violates, asked of one log after the other.

import { make } from "report/dom.js";
import { violationText } from "asked/violations.js";
import { countText, plain } from "report/words.js";
import { Service } from "served/service.js";

/** @typedef {import("served/logs.js").Log} Log */

export class Checks {
  /** What is said of each log, by its path. @type {Map<string, HTMLElement>} */
  _said = new Map();
  /** @type {Set<string>} */
  _begun = new Set();
  _isAsking = false;

  /** What is said of a log. @param {Log} log */
  of({ path }) {
    const found = this._said.get(path) ?? make("li", { class: "check" }, "invariants: not checked yet");
    this._said.set(path, found);
    return found;
  }

  /** Check those logs that were not checked, once they have a summary: a check replays the whole log. @param {Log[]} logs */
  async check(logs) {
    if (this._isAsking || logs.some(({ summary, error }) => summary === null && error === null)) return;
    this._isAsking = true;
    for (const log of logs) {
      if (log.summary === null || this._begun.has(log.path)) continue;
      this._begun.add(log.path);
      await this._ask(log);
    }
    this._isAsking = false;
  }

  async _ask(/** @type {Log} */ log) {
    const said = this.of(log);
    said.textContent = "invariants: being checked";
    try {
      const end = Number(log.log_end) - 1, { violations } = await new Service(log.path.replace(/^\//, "")).violations(null, end);
      said.classList.toggle("bad", violations.length > 0);
      said.textContent = violations.length ? plain(`${countText(violations.length, "violation")} up to offset ${end}, the first: ${violationText(violations[0])}`)
        : `no invariant violated up to offset ${end}`;
    } catch (error) {
      said.textContent = plain(`invariants: ${/** @type {Error} */ (error).message}`);
    }
  }
}

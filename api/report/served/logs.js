// The list of logs: each with what happened in it, and a link to its page.

import { commandLine, make } from "report/dom.js";
import { Checks } from "served/checks.js";
import { clauseItems } from "report/summary.js";
import { plain, timeText } from "report/words.js";
import { jointQuestions } from "served/other_questions.js";
import { Refused, Service } from "served/service.js";
import { askForToken } from "served/sign_in.js";

const AGAIN_MS = 10000;

/** While a log is being read, or cannot be. */
const SOON_MS = 1000;

const pause = (/** @type {number} */ ms) => new Promise((go) => setTimeout(go, ms));

/** The part of the address that asks for all logs on one time axis. */
const TOGETHER = "#together";

/** @typedef {{name: string, path: string, log: string, cluster_id: string|null, log_end: number|null, summary: any, error: {detail: string}|null}} Log */

class Logs {
  service = new Service();
  checks = new Checks();
  list = make("ul", { class: "logs" });
  state = make("span", { class: "state", role: "status" });

  async run() {
    document.title = "metalog: logs";
    document.body.replaceChildren(make("header", {}, make("h1", {}, "Logs"), make("div", { class: "served" }, this.state, make("a", { href: TOGETHER }, "all on one time axis"))), make("main", {}, jointQuestions(this.service), this.list));
    addEventListener("hashchange", () => { if (location.hash === TOGETHER || location.hash === "") location.reload(); });
    if (location.hash.startsWith(TOGETHER) && await this._showTogether()) return;
    for (;;) {
      await pause(await this._show() ? AGAIN_MS : SOON_MS);
    }
  }

  /** Show all logs on one time axis; return whether all could be read. */
  async _showTogether() {
    try {
      const { logs } = await this.service.logs(), { Together } = await import("served/together.js");
      (await Together.of(logs)).show();
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.state.textContent = plain(error.message);
      return false;
    }
  }

  /** Show the list; return whether all logs could be read. */
  async _show() {
    const { service } = this;
    try {
      const { logs } = await service.logs();
      this.list.replaceChildren(...logs.map((log) => item(log, this.checks.of(log))));
      this.checks.check(logs);
      this.state.className = "state live";
      this.state.textContent = "live";
      return logs.every((log) => log.error === null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401) {
        service.token = await askForToken(document, service.token !== null ? "This token is not known." : "This service asks who you are.");
        location.reload();
      }
      this.state.className = "state away";
      this.state.textContent = plain(`${error.message}; asking again`);
      return false;
    }
  }
}

/** A reason why a log is not shown; the commands in it can be copied. @param {string} text */
function refusal(text) {
  const parts = text.split(/`(metalog [^`]*)`/);
  return make("li", { class: "bad" }, ...parts.map((part, i) => (i % 2 ? commandLine(plain(part)) : plain(part))));
}

/** @param {Log} log @param {HTMLElement} check */
function item({ name, path, log, cluster_id, log_end, summary, error }, check) {
  const about = cluster_id === null ? "" : ` cluster ${plain(cluster_id)} · ${log_end} records`;
  const until = summary?.to_time ? ` · ${timeText(summary.from_time)} to ${timeText(summary.to_time)}` : "";
  return make("li", { class: "panel" },
    make("h2", {}, make("a", { href: path }, plain(name)), " ", make("small", {}, plain(log) + about + until)),
    make("ul", { class: "summary" }, ...(summary === null
      ? [refusal(error?.detail ?? "")] : [...clauseItems(summary.clauses, null), check])));
}

new Logs().run();

// Requests to the service over HTTP, with the credentials of the page's reader.

import { quoted } from "report/commands.js";
import { byText, changeLines, plain } from "report/words.js";

const TOKEN = "metalog-token";

/** Thrown for a request that was refused or not answered. */
export class Refused extends Error {
  /** @param {string} message @param {number} status HTTP status; 0 if there was no answer. @param {string} code
   * @param {import("served/first_look.js").Known|null} [known] What is known of a log that is being read. */
  constructor(message, status, code, known = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.known = known;
  }

  /** True if the service is unavailable, so that a retry may succeed. */
  get isAway() { return this.status === 0 || this.status === 503; }
}

export class Service {
  /** @param {string} [base] The path of a log's page, from this one. */
  constructor(base = "") {
    this.base = base;
    /** The service's address, or the path of a log that is only shown. */
    this.name = "";
    /** How the command line names it. */
    this.where = "";
    /** Whether the log is only shown, rather than served. */
    this.isShown = false;
    /** The service's name for the last columns received. @type {string|null} */
    this.columnsName = null;
    /** Whether the reader may write notes to the log. */
    this.mayNote = false;
  }

  /** The bearer token, kept until this tab is closed; null without sign-in. */
  get token() { return sessionStorage.getItem(TOKEN); }

  set token(token) {
    if (token === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
  }

  /**
   * Send a GET request and return the response. Throws Refused if the request fails.
   * @param {string} path @param {Record<string, string|number|null|string[]>} parameters Those that are null are left out; a list is repeated.
   * @param {Record<string, string>} [headers] @param {AbortSignal} [signal]
   */
  get(path, parameters, headers = {}, signal) {
    const given = Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [value].flat().map((each) => [name, String(each)])));
    return this._answered(`${path}?${new URLSearchParams(given)}`, { headers, signal });
  }

  /** @param {string} path @param {RequestInit} request */
  _answered(path, request) { return this._requested(`v1/${path}`, request); }

  /** @param {string} path From that of the log's page. @param {RequestInit} request */
  async _requested(path, request) {
    const { token } = this;
    /** @type {Response} */
    let response;
    try {
      response = await fetch(`${this.base}${path}`, {
        ...request, headers: { ...request.headers, ...(token === null ? {} : { Authorization: `Bearer ${token}` }) }, cache: "no-store",
      });
    } catch (error) {
      throw new Refused("the service does not answer", 0, "UNREACHABLE");
    }
    if (response.ok || response.status === 304) return response;
    const problem = await response.json().catch(() => ({}));
    throw new Refused(problem.detail ?? `the service answers ${response.status}`, response.status, problem.code ?? "", problem.known ?? null);
  }

  async _json(/** @type {string} */ path, /** @type {Record<string, string|number|null>} */ parameters) {
    return (await this.get(path, parameters)).json();
  }

  /** The columns of a range. @param {string|null} from @param {string|null} to Points; null for the defaults. @param {AbortSignal} [signal] */
  async columns(from, to, signal) {
    const response = await this.get("report/columns", { from, to }, {}, signal);
    this._remember(response);
    const bytes = await bytesOf(response), { openData } = await import("report/data.js");
    return openData(bytes);
  }

  /** What is known of the log before its columns are there; null if nothing is.
   * @returns {Promise<import("served/first_look.js").Known|null>} */
  known() { return this._json("report/known", {}); }

  /** Request the stream of columns that continue `data`, which must be from the last columns received.
   * @param {import("report/data.js").Data} data @param {AbortSignal} signal */
  growth(data, signal) {
    return this.get("report/growth", { from: String(data.first), columns: this.columnsName }, { "Last-Event-ID": String(data.last) }, signal);
  }

  _remember(/** @type {Response} */ response) {
    const log = response.headers.get("Metalog-Log");
    // The service does not tell its address to a reader who may not describe the cluster.
    this.name = log === null ? response.headers.get("Metalog-Server") ?? "$METALOG_SERVER" : decodeURIComponent(log);
    this.isShown = log !== null;
    this.where = log === null ? `--server ${this.name}` : quoted(this.name);
    this.columnsName = response.headers.get("Metalog-Columns");
    this.mayNote = response.headers.get("Metalog-Notes") === "allowed";
  }

  /** Write a note to the log, and return its author. The same note is written once. @param {number} offset @param {string} text @returns {Promise<string>} */
  async addNote(offset, text) {
    const answer = await this._answered("notes/add", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ at_offset: offset, text }) });
    return (await answer.json()).response.author;
  }

  /** What happened in the whole history, in words. @returns {Promise<{clauses: import("report/summary.js").Clause[]}>} */
  summary() { return this._json("summary", {}); }

  /** The OpenAPI document of the service. @returns {Promise<any>} */
  async operations() { return (await this._requested("openapi.json", {})).json(); }

  /** All logs that this server shows. @returns {Promise<{logs: any[]}>} */
  logs() { return this._json("logs", {}); }

  /** The first offset of the kept history; needs no right on the cluster. @returns {Promise<number>} */
  async historyStart() {
    return (await this._json("topics/list", {})).history_start;
  }

  /** The differences between the ends of a range, by object, for objects that the reader may see.
   * @param {number} from @param {number} to @param {string|null} object
   * @returns {Promise<{name: string, changes: any[], passed?: {from_offset: number, to_offset: number}}[]>} */
  async difference(from, to, object) {
    const { changes, passed } = await this._json("diff", { from: from > 0 ? from - 1 : "start", to, object, fates: "true", passed: "true" });
    /** @type {{name: string, changes: any[], passed?: {from_offset: number, to_offset: number}}[]} */
    const groups = [];
    for (const change of changes) {
      if (groups.at(-1)?.name !== change.object) groups.push({ name: change.object, changes: [] });
      groups.at(-1)?.changes.push(change);
    }
    for (const each of passed ?? []) groups.push({ name: each.object, changes: [], passed: each });
    return groups;
  }

  /** @param {string} name @param {number} at */
  async why(name, at) {
    const found = await this._json("why", { object: name, at });
    return { name: found.object, field: found.field, value: found.value, chain: found.chain, notes: found.notes };
  }

  /** @param {string} name @param {number} at @param {number} count */
  async history(name, at, count) {
    const response = await this.get("history", { object: name, to: at, last: count, fates: "true" });
    const lines = (await response.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const failed = lines.find((line) => line.error);
    if (failed) throw new Refused(failed.error.message, 500, failed.error.code);
    return lines.map((event) => (event.gap ? pastGap(name, event) : {
      offset: event.offset, time: event.timestamp, type: event.type, by: byText(event.origin ?? {}),
      lines: event.changes.length ? changeLines(event.object ?? name, event.changes) : [],
    }));
  }

  /** @param {string} name @param {number} at @returns {Promise<import("report/answers.js").Setter[]>} */
  async blame(name, at) {
    const { fields } = await this._json("blame", { object: name, at });
    return Object.entries(fields).map(([field, of]) => ({
      field, value: of.value,
      setter: of.known ? { offset: of.offset, time: of.timestamp, type: of.type, by: byText(of.origin ?? {}) } : null,
    }));
  }

  /** @param {number} from @param {number} to @param {string|null} name @returns {Promise<import("report/answers.js").Outage[]>} */
  async outages(from, to, name) {
    const { intervals } = await this._json("outages", { from, to, objects: name });
    return intervals.map((/** @type {any} */ each) => ({
      object: each.object, kind: each.kind, from: each.from_offset, fromTime: each.from_time, to: each.to_offset, duration: each.duration_ms,
      record: each.cause,
      cause: each.cause ? `${each.cause.text} (${each.cause.offset})` : "-",
    }));
  }

  /** Where an expression changes its value. @param {string} expression @param {number} from @param {number} to @returns {Promise<import("asked/flips.js").Flips>} */
  flips(expression, from, to) { return this._json("bisect", { expression, from, to }); }

  /** What violates the invariants. @param {number|null} from Null: the first offset. @param {number} to @returns {Promise<{violations: import("asked/violations.js").Violation[]}>} */
  violations(from, to) { return this._json("check", { from, to }); }

  /** @param {string} without @param {number|null} after @param {number} to @returns {Promise<import("asked/second_future.js").Future>} */
  whatIf(without, after, to) {
    return this._json("what-if", { [/^\d+$/.test(without) ? "drop" : "without"]: without, from: after, to });
  }
}

/** The body of a response. @param {Response} response */
async function bytesOf(response) {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch {
    throw new Refused("the service does not answer", 0, "UNREACHABLE");
  }
}

/** What was found after a gap. It is not known who changed it, nor when.
 * @param {string} name @param {{gap: {from_offset: number, to_offset: number, to_time: number}, found: any[]}} line */
function pastGap(name, { gap, found }) {
  const missing = plain(`offsets ${gap.from_offset} to ${gap.to_offset - 1} were not recorded`);
  return { offset: gap.to_offset - 1, time: gap.to_time, type: "gap", by: "", lines: [missing, ...(found.length ? changeLines(name, found) : [])] };
}

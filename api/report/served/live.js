// Live: follows the stream of newer columns, continues it after a lost connection, and reports to the bar.

import { renewedData } from "report/data.js";
import { EventStream, unlessSilent } from "served/event_stream.js";
import { Refused } from "served/service.js";

const RETRY_MS = 500, RETRY_MAX_MS = 15_000;
/** After drawing new columns, the page pauses for this many times the duration of the drawing. */
const REST = 4, REST_MIN_MS = 500;

/** @typedef {import("report/data.js").Data} Data */

export class Live {
  connection = new AbortController();
  isStopped = false;
  /** True if all columns are to be loaded again. */
  isOld = false;
  wait = RETRY_MS;
  /** Number of characters of newer columns received. */
  received = 0;

  /** @param {import("served/service.js").Service} service @param {Data} data The data to continue. @param {import("served/bar.js").Bar} bar @param {(data: Data) => void} isNew Shows newer data. */
  constructor(service, data, bar, isNew) {
    this.service = service;
    this.data = data;
    this.bar = bar;
    this.isNew = isNew;
  }

  /** Follow the stream until `stop` is called or the service refuses. */
  async follow() {
    this._isLive();
    while (!this.isStopped) {
      await seen();
      try {
        await this._connected();
      } catch (error) {
        if (this.isStopped) return;
        if (!(error instanceof Refused)) {
          // The columns may be inconsistent.
          console.error(error);
          this.isOld = true;
        } else if (!error.isAway) {
          this._ended(error);
          return;
        }
        // A page that is no longer seen closed its stream itself.
        if (!document.hidden) this.bar.say("away", `${/** @type {Error} */ (error).message}; trying again. What is shown may be old.`);
        await pause(this.wait);
        this.wait = Math.min(this.wait * 2, RETRY_MAX_MS);
      }
    }
  }

  _isLive() {
    this.bar.say("live", "live");
  }

  /** React to a refusal; the page signs in again if the token is no longer known. @param {Refused} error */
  _ended(error) {
    if (error.status === 401) location.reload();
    this.bar.say("still", `not live: ${error.message}`);
  }

  stop() {
    this.isStopped = true;
    this.connection.abort();
  }

  /** Follow one stream until it ends; close it when the page becomes hidden. */
  async _connected() {
    const connection = this.connection = new AbortController(), { signal } = connection;
    document.addEventListener("visibilitychange", () => { if (document.hidden) connection.abort(); }, { signal });
    try {
      if (this.isOld) await this._load(connection);
      const response = await unlessSilent(this.service.growth(this.data, signal), connection);
      if (response.body === null || this.isStopped) return;
      this._isLive();
      const stream = new EventStream(response.body, connection);
      for (let events = await stream.take(); events.length && !this.isStopped; events = await stream.take()) await this._take(events);
    } finally {
      connection.abort();
    }
    if (!this.isStopped && !this.isOld) await pause(this.wait);
  }

  /** Apply some events, and show the data. @param {import("served/event_stream.js").ServerEvent[]} events */
  async _take(events) {
    let isGrown = false;
    for (const { event, data } of events) {
      if (event === "growth") {
        this.data = await renewedData(this.data, Uint8Array.from(atob(data), (character) => character.charCodeAt(0)));
        this.received += data.length;
        isGrown = true;
      } else if (event === "anew") {
        this.isOld = true;
        return;
      } else if (event === "error") {
        if (isGrown) await this._show();
        const { detail, status, code } = JSON.parse(data);
        throw new Refused(detail, status, code);
      }
    }
    await this._show();
  }

  /** Load all columns that the reader may see now. */
  async _load(/** @type {AbortController} */ connection) {
    this.data = await unlessSilent(this.service.columns(String(this.data.first), null, connection.signal), connection);
    this.isOld = false;
    if (!this.isStopped) await this._show();
  }

  async _show() {
    this.wait = RETRY_MS;
    const begun = performance.now();
    this.isNew(this.data);
    await pause(Math.max(REST_MIN_MS, REST * (performance.now() - begun)));
  }
}

const pause = (/** @type {number} */ ms) => new Promise((go) => setTimeout(go, ms));

/** Wait until the page is visible: a hidden tab has no stream and draws nothing. */
async function seen() {
  while (document.hidden) await new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
}

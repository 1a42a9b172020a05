// Live: asks for what is new again and again; the service answers once there is something.

import { Refused } from "served/service.js";

const RETRY_MS = 500, RETRY_MAX_MS = 15_000;
/** The service answers within 15 s, but for a long time of computing. */
const SILENCE_MAX_MS = 60_000;
/** After new columns that took some time to be drawn, the page rests for so many times as long. */
const REST = 4, REST_MIN_MS = 500;

/** @typedef {import("report/data.js").Data} Data */
/** @typedef {{isNew: (data: Data) => void, isConnected: () => void, isAway: (error: Error) => void, ended: (error: Refused) => void}} Watcher */

export class Live {
  /** @param {import("served/service.js").Service} service @param {Watcher} watcher */
  constructor(service, watcher) {
    this.service = service;
    this.watcher = watcher;
    this.stopped = new AbortController();
  }

  /** Follow what comes after some data until it is stopped or refused. @param {Data} data */
  async follow(data) {
    let wait = RETRY_MS;
    this.watcher.isConnected();
    while (!this.stopped.signal.aborted) {
      await seen();
      try {
        const newer = await this._newer(data);
        if (this.stopped.signal.aborted) return;
        wait = RETRY_MS;
        this.watcher.isConnected();
        if (newer === null) continue;
        data = newer;
        const begun = performance.now();
        this.watcher.isNew(data);
        await this._pause(Math.max(REST_MIN_MS, REST * (performance.now() - begun)));
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        if (!(error instanceof Refused)) {
          // What is there may be in disorder: all of it comes anew.
          console.error(error);
          this.service.columnsName = null;
        } else if (!error.isAway) {
          this.watcher.ended(error);
          return;
        }
        this.watcher.isAway(/** @type {Error} */ (error));
        await this._pause(wait);
        wait = Math.min(wait * 2, RETRY_MAX_MS);
      }
    }
  }

  stop() { this.stopped.abort(); }

  _pause(/** @type {number} */ ms) { return new Promise((go) => setTimeout(go, ms)); }

  async _newer(/** @type {Data} */ data) {
    const silence = new AbortController(), stop = () => silence.abort();
    const timer = setTimeout(stop, SILENCE_MAX_MS);
    this.stopped.signal.addEventListener("abort", stop);
    try {
      return await this.service.newer(data, silence.signal);
    } finally {
      clearTimeout(timer);
      this.stopped.signal.removeEventListener("abort", stop);
    }
  }
}

/** Once the page is seen: in a tab behind others nothing is asked and nothing is drawn. */
function seen() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((go) => document.addEventListener("visibilitychange", go, { once: true }));
}

// Live: the offsets of new records, as the service sends them. `fetch` reads the stream, for an
// EventSource cannot send the reader's token.

const RETRY_MS = 500, RETRY_MAX_MS = 15_000;
/** The service breaks silence every 15 s. */
const SILENCE_MAX_MS = 40_000;

/** @typedef {{isNew: (offset: number) => void, isConnected: () => void, isAway: (error: Error) => void, ended: (error: import("served/service.js").Refused) => void}} Watcher */

export class Live {
  /** @param {import("served/service.js").Service} service @param {Watcher} watcher */
  constructor(service, watcher) {
    this.service = service;
    this.watcher = watcher;
    this.last = -1;
    this.stopped = new AbortController();
  }

  /** Follow what comes after an offset until it is stopped or refused. @param {number} last */
  async follow(last) {
    this.last = last;
    let wait = RETRY_MS;
    while (!this.stopped.signal.aborted) {
      try {
        await this._stream(() => { wait = RETRY_MS; });
        this.watcher.isAway(new Error("the service ended the stream"));
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        const refused = /** @type {import("served/service.js").Refused} */ (error);
        // A record may be read from the log just before it is told to those who follow.
        if (refused.status >= 400 && !refused.isAway && refused.code !== "OFFSET_OUT_OF_RANGE") {
          this.watcher.ended(refused);
          return;
        }
        this.watcher.isAway(refused);
      }
      await new Promise((go) => setTimeout(go, wait));
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  stop() { this.stopped.abort(); }

  async _stream(/** @type {() => void} */ connected) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
    const stop = () => silence.abort();
    this.stopped.signal.addEventListener("abort", stop);
    try {
      const response = await this.service.get("events", {}, { "Last-Event-ID": String(this.last) }, silence.signal);
      connected();
      this.watcher.isConnected();
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(), decoder = new TextDecoder();
      for (let rest = ""; ;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MAX_MS);
        const events = (rest + decoder.decode(value, { stream: true })).split("\n\n");
        rest = events.pop() ?? "";
        this._take(events);
      }
    } finally {
      clearTimeout(timer);
      this.stopped.signal.removeEventListener("abort", stop);
      silence.abort();
    }
  }

  /** Of each event only where it is. */
  _take(/** @type {string[]} */ events) {
    const found = events.flatMap((event) => /^id: (\d+)$/m.exec(event)?.[1] ?? []);
    const last = found.at(-1);
    if (last === undefined) return;
    this.last = Number(last);
    this.watcher.isNew(this.last);
  }
}

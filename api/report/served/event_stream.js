// Reads the server-sent events of a response, because EventSource cannot send the reader's token.

/** The service sends something every 15 s at least, unless it computes something large. */
const SILENCE_MAX_MS = 60_000;
/** While more events are pending, nothing is read from the connection, so the service stops sending. */
const PENDING_MAX = 32;

/** @typedef {{event: string, data: string}} ServerEvent */

export class EventStream {
  /** @type {ServerEvent[]} */ pending = [];
  isOver = false;
  _goOn = () => {};

  /** @param {ReadableStream<Uint8Array<ArrayBuffer>>} body @param {AbortController} connection Aborted if nothing comes for too long. */
  constructor(body, connection) {
    this._read(body, connection);
  }

  /** Wait for events, and return all that are pending; none if the stream is over. */
  async take() {
    while (!this.pending.length && !this.isOver) await this._turn();
    const found = this.pending;
    this.pending = [];
    this._goOn();
    return found;
  }

  async _read(/** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ body, /** @type {AbortController} */ connection) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { value, done } = await unlessSilent(reader.read(), connection);
        if (done) return;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop() ?? "";
        this.pending.push(...parts.flatMap(eventOf));
        this._goOn();
        while (this.pending.length > PENDING_MAX) await this._turn();
      }
    } catch {
      // The connection broke; the events before are complete.
    } finally {
      this.isOver = true;
      this._goOn();
    }
  }

  /** Wait until events were read or taken. @returns {Promise<void>} */
  _turn() { return new Promise((go) => { this._goOn = go; }); }
}

/** Wait for a promise; abort its connection if that takes too long.
 * @template T @param {Promise<T>} promise @param {AbortController} connection */
export async function unlessSilent(promise, connection) {
  const timer = setTimeout(() => connection.abort(), SILENCE_MAX_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** Parse a block of lines into an event; into nothing if it is a comment. @param {string} block @returns {ServerEvent[]} */
function eventOf(block) {
  const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
  return fields.data === undefined ? [] : [{ event: fields.event ?? "message", data: fields.data }];
}

// Events of a range, described in words. Newer data replace changed events and add new ones.

import { above, appended, Insertion } from "report/numbers.js";

/** @typedef {{from: number, to: number, time: number, kind: string, text: string, objects: string[], count: number, cause: number|null, principal: string|null, reason: string|null, client: string|null, asked: [number, string|null][], byPeople: boolean, goesOn: boolean}} Told */

const NONE = new Float64Array(), SMALL = new Int32Array();
const FLAP = 0;

export class Events {
  // By event, in order.
  key = SMALL; from = NONE; to = NONE; time = NONE; cause = NONE;
  /** @type {string[]} */ kind = [];
  /** @type {string[]} */ text = [];
  /** The principal, reason, client, who asked, and whether people asked. @type {[string|null, string|null, string|null, [number, string|null][], boolean][]} */ origin = [];
  // The names of event i are names[object[k]] for k from start[i] to start[i + 1] - 1.
  start = new Int32Array(1); object = SMALL;
  /** @type {string[]} */ names = [];

  /** The number of events. */
  get length() { return this.from.length; }

  /** Add the events of a block. @param {import("report/decoded.js").Block} block */
  take({ header, column }) {
    const more = new Events(), { event_kinds: kinds, event_texts: texts, event_origins: origins } = header;
    more.key = column("event_key").small();
    more.from = column("event_from").summed();
    more.to = column("event_to").unsigned();
    for (let i = 0; i < more.to.length; i++) more.to[i] += more.from[i];
    more.time = column("event_time").summed();
    more.cause = column("event_cause").unsigned();
    more.kind = Array.from(column("event_kind").small(), (kind) => kinds[kind]);
    more.text = Array.from(column("event_text").small(), (text) => texts[text]);
    more.origin = Array.from(column("event_origin").small(), (of) => origins[of]);
    more.start = startsOf(column("event_objects").small());
    more.object = column("event_object").smallSummed();
    more.names = header.names;
    if (!this.length) Object.assign(this, more);
    else this._merge(more, header.flaps === true);
  }

  /** @param {Events} more New events, and changed events with only their additional names. @param {boolean} hasFlaps True if `more` contains all flaps, which replace the earlier ones. */
  _merge(more, hasFlaps) {
    if (!more.length && !hasFlaps) return;
    const changed = new Map(Array.from(more.key, (key, i) => [key, i]));
    /** @type {Map<number, number>} The earlier index of each changed event, by its index in `more`. */
    const was = new Map();
    /** @type {number[]} */
    const kept = [];
    for (let i = 0; i < this.length; i++) {
      const key = this.key[i], at = changed.get(key);
      if (hasFlaps && key % 3 === FLAP) continue;
      if (at === undefined) kept.push(i);
      else was.set(at, i);
    }
    const order = [...more.key.keys()].sort((a, b) => comesAfter(more, a, more, b));
    const places = new Int32Array(order.length);
    order.forEach((index, i) => {
      let low = 0, high = kept.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (comesAfter(more, index, this, kept[middle]) > 0) low = middle + 1;
        else high = middle;
      }
      places[i] = low + i;
    });
    this._gather(new Insertion(kept.length, order.length, places), kept, more, order, was);
  }

  _gather(/** @type {Insertion} */ into, /** @type {number[]} */ kept, /** @type {Events} */ more, /** @type {number[]} */ order, /** @type {Map<number, number>} */ was) {
    /** @type {(Int32Array)[]} */
    const objects = [], names = this.names.length;
    for (const from of into.from) {
      if (from >= 0) {
        objects.push(this.objectsOf(kept[from]));
        continue;
      }
      const index = order[~from], old = was.get(index);
      const added = more.objectsOf(index).map((name) => name + names);
      objects.push(old === undefined ? added : appended(this.objectsOf(old).slice(), added));
    }
    for (const name of more.names) this.names.push(name);
    const numbers = /** @type {const} */ (["from", "to", "time", "cause"]);
    for (const name of numbers) this[name] = into.of(pick(this[name], kept), pick(more[name], order));
    this.key = into.of(pick(this.key, kept), pick(more.key, order));
    for (const name of /** @type {const} */ (["kind", "text", "origin"])) {
      const [old, fresh] = [this[name], more[name]];
      /** @type {any} */ (this)[name] = into.ofList(kept.map((i) => old[i]), order.map((i) => fresh[i]));
    }
    this.start = startsOf(Int32Array.from(objects, (of) => of.length));
    this.object = new Int32Array(this.start[objects.length]);
    objects.forEach((of, i) => this.object.set(of, this.start[i]));
  }

  /** The names of an event's objects, as indices in `names`. @param {number} event */
  objectsOf(event) { return this.object.subarray(this.start[event], this.start[event + 1]); }

  /** The events whose first record is in a range of offsets.
   * @param {number} from @param {number} to @param {(i: number) => boolean} [accepts] By index: which of them. @returns {Generator<Told>} */
  *told(from, to, accepts = () => true) {
    const end = above(this.from, to);
    for (let i = above(this.from, from - 1); i < end; i++) if (accepts(i)) yield this._event(i, to);
  }

  /** The changes in a range that people or their tools asked for. @param {number} from @param {number} to */
  byPeople(from, to) { return this.told(from, to, (i) => this.origin[i][4]); }

  /** Events that began before a range and end in or after it.
   * @param {number} from @param {number} to @param {(i: number) => boolean} [accepts] @returns {Told[]} */
  toldBefore(from, to, accepts = () => true) {
    const found = [];
    const before = above(this.from, from - 1);
    for (let i = 0; i < before; i++) {
      if (this.to[i] >= from && accepts(i)) found.push(this._event(i, to));
    }
    return found;
  }

  /** Notes at the offsets that they are about. The record of a note is another event, which has an object.
   * @param {number} last @returns {Generator<Told>} */
  *notes(last) {
    for (let i = 0; i < this.length; i++) {
      if (this.kind[i] === "notes" && this.start[i + 1] === this.start[i]) yield this._event(i, last);
    }
  }

  /** The number of events that begin in a range. @param {number} from @param {number} to @param {(i: number) => boolean} [accepts] */
  count(from, to, accepts) {
    const begin = above(this.from, from - 1), end = above(this.from, to);
    if (!accepts) return end - begin;
    let count = 0;
    for (let i = begin; i < end; i++) if (accepts(i)) count++;
    return count;
  }

  /** @returns {Told} */
  _event(/** @type {number} */ i, /** @type {number} */ to) {
    const { names } = this, objects = this.objectsOf(i), [principal, reason, client, asked, byPeople] = this.origin[i];
    return {
      from: this.from[i], to: this.to[i], time: this.time[i], kind: this.kind[i], text: this.text[i],
      // Computed on demand: there may be thousands, and most events are never opened.
      get objects() { return Array.from(objects, (name) => names[name]); },
      count: objects.length,
      cause: this.cause[i] ? this.cause[i] - 1 : null,
      principal, reason, client, asked, byPeople,
      goesOn: this.to[i] > to,
    };
  }
}

/** Compare events: by first record, then flaps before groups of records before notes, then by number. */
function comesAfter(/** @type {Events} */ left, /** @type {number} */ i, /** @type {Events} */ right, /** @type {number} */ j) {
  const a = left.key[i], b = right.key[j];
  return left.from[i] - right.from[j] || (a % 3) - (b % 3) || a - b;
}

/** @param {Int32Array} counts */
function startsOf(counts) {
  const start = new Int32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) start[i + 1] = start[i] + counts[i];
  return start;
}

/** @template {Float64Array|Int32Array} T @param {T} numbers @param {number[]} indices @returns {T} */
function pick(numbers, indices) {
  const found = /** @type {T} */ (new /** @type {any} */ (numbers.constructor)(indices.length));
  for (let i = 0; i < indices.length; i++) found[i] = numbers[indices[i]];
  return found;
}

// Data: the states and changes of a range, of what the file holds or the service sends.

import { unpack } from "report/columns.js";
import { Decoded, above } from "report/decoded.js";

/** @typedef {Record<string, any>} Fields */
/** @typedef {{object: number, label: string, field: string, before: any, after: any, fate: string}} Change */
/** @typedef {{from: number, to: number, time: number, kind: string, text: string, objects: string[], cause: number|null, principal: string|null, goesOn: boolean}} Told */

/** More objects than these are not sorted again. */
const SORTED_MAX = 2000;

export const NEW = 0, CHANGED = 1, GONE = 2;
export const LEADERLESS = 1, UNDER_REPLICATED = 2, FENCED = 4, SHUTTING_DOWN = 8;
const FATES = ["new", "changed", "gone"];

/** @param {Uint8Array<ArrayBuffer>} packed The columns, from the file or from the service. */
export async function openData(packed) {
  const { header, column } = await unpack(packed);
  return new Data(header, column);
}

export class Data extends Decoded {
  /** @type {Set<number>|null} */ _moved = null;
  /** @type {Map<string, number[]>|null} */ _topics = null;
  /** @type {Map<number, number[]>|null} */ _partitions = null;
  /** @type {boolean|null} */ _shared = null;

  /** The last row that took effect at or before an offset; 0 is the state before the range.
   * @param {number} offset */
  rowAt(offset) {
    return Math.max(0, above(this.effect, offset) - 1);
  }

  /** The fields of an object after a row; null if it is absent.
   * @param {number} object @param {number} row @returns {Fields|null} */
  stateAt(object, row) {
    return this._stateBefore(object, this._touchAfter(object, row));
  }

  /** The state that the touches of an object before one of them made. */
  _stateBefore(/** @type {number} */ object, /** @type {number} */ end) {
    let start = end - 1;
    const begin = this.ofStart[object];
    while (start >= begin && this.header.shapes[this.shape[this.ofObject[start]]][0] === CHANGED) {
      start--;
    }
    if (start < begin || this.header.shapes[this.shape[this.ofObject[start]]][0] === GONE) return null;
    /** @type {Fields} */
    const state = {};
    for (let i = start; i < end; i++) {
      for (const [name, value] of this.fieldsOf(this.ofObject[i])) state[name] = value;
    }
    for (const name in state) if (state[name] === null) delete state[name];
    return state;
  }

  /** The first touch of an object after a row, as an index of `ofObject`. */
  _touchAfter(/** @type {number} */ object, /** @type {number} */ row) {
    let low = this.ofStart[object], high = this.ofStart[object + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rowOf[this.ofObject[middle]] <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The fields that a touch set, with their values.
   * @param {number} touch @returns {[string, any][]} */
  fieldsOf(touch) {
    const { fields, shapes, values } = this.header;
    let at = this.valueStart[touch];
    return shapes[this.shape[touch]][1].map((/** @type {number} */ field) => {
      const value = this.value[at++];
      return [fields[field][1], fields[field][2] ? value : values[value]];
    });
  }

  /** What a touch is in afterwards: bits. @param {number} object @param {number} row */
  outagesAt(object, row) {
    const index = this._touchAfter(object, row) - 1;
    return index < this.ofStart[object] ? 0 : this.outages[this.ofObject[index]];
  }

  /** The name of an object after a row, with its kind.
   * @param {number} object @param {number} row */
  nameAt(object, row) {
    return `${this.kinds[this.objectKind[object]]}:${this.labelAt(object, row)}`;
  }

  /** @param {number} object @param {number} row @returns {string} */
  labelAt(object, row) {
    const topic = this.objectTopic[object];
    if (topic) return `${this.labelAt(topic - 1, row)}/${this.objectNumber[object]}`;
    const first = this.header.labels[this.firstLabel[object]];
    if (this.kinds[this.objectKind[object]] !== "topic") return first;
    // Only a topic that moves gets another name.
    if (!this.moved.has(object)) return first;
    const state = this.stateAt(object, row);
    return state === null ? first : escapedName(state.name);
  }

  /** Topics that had several names. */
  get moved() {
    if (this._moved) return this._moved;
    this._moved = new Set();
    const topics = this.kinds.indexOf("topic");
    for (let i = 0; i < this.objects && this.objectKind[i] <= topics; i++) {
      if (this.ofStart[i + 1] - this.ofStart[i] < 2) continue;
      const named = [...this.touchesOf(i)].filter((t) => this.fieldsOf(t).some(([name]) => name === "name"));
      if (named.length > 1) this._moved.add(i);
    }
    return this._moved;
  }

  /** The touches of an object, oldest first. @param {number} object */
  touchesOf(object) {
    return this.ofObject.subarray(this.ofStart[object], this.ofStart[object + 1]);
  }

  /** What a touch changed. @param {number} touch @returns {Change[]} */
  changesOf(touch) {
    const object = this.object[touch], row = this.rowOf[touch];
    const index = this._touchAfter(object, row) - 1;
    const before = this._stateBefore(object, index), after = this._stateBefore(object, index + 1);
    return differing(object, this.labelAt(object, row), this._inOrder(object, before), this._inOrder(object, after));
  }

  /** A state with its fields in the order in which the commands show them. */
  _inOrder(/** @type {number} */ object, /** @type {Fields|null} */ state) {
    // Configs are shown by name; the fields of all others come in the order of their records.
    if (state === null || this.kinds[this.objectKind[object]] !== "config") return state;
    return Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The objects that rows in (before, after] touched, in the order of a diff.
   * @param {number} before @param {number} after */
  touchedIn(before, after) {
    const seen = new Uint8Array(this.objects);
    for (let t = this.firstTouch[before + 1] ?? 0; t < this.firstTouch[after + 1]; t++) {
      seen[this.object[t]] = 1;
    }
    /** @type {number[]} */
    const found = [];
    for (let i = 0; i < seen.length; i++) if (seen[i]) found.push(i);
    // They are in order already, but for topics that moved or got the name of another.
    const isSorted = found.length > SORTED_MAX || !this.hasSharedNames;
    return isSorted ? found : this._sorted(found, before, after);
  }

  _sorted(/** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    const keyed = objects.map((object) => ({
      object, kind: this.objectKind[object],
      label: this._diffName(object, before, after, this.stateAt(object, after) !== null),
    }));
    return keyed.sort((a, b) => a.kind - b.kind || naturally(a.label, b.label)).map(({ object }) => object);
  }

  /** The fields of an object that differ between two rows.
   * @param {number} object @param {number} before @param {number} after */
  differenceOf(object, before, after) {
    const old = this._inOrder(object, this.stateAt(object, before));
    const now = this._inOrder(object, this.stateAt(object, after));
    if (old === null && now === null) return [];
    return differing(object, this._diffName(object, before, after, now !== null), old, now);
  }

  /** Its name; its id if the name means another object at the other end. */
  _diffName(/** @type {number} */ object, /** @type {number} */ before, /** @type {number} */ after, /** @type {boolean} */ isThere) {
    const label = this.labelAt(object, isThere ? after : before);
    const topic = this.objectTopic[object] ? this.objectTopic[object] - 1 : object;
    const kind = this.kinds[this.objectKind[topic]];
    const other = kind === "topic" ? this._topicNamed(this.labelAt(topic, isThere ? after : before), isThere ? before : after, topic) : null;
    if (other === null) return label;
    if (topic !== object && this._partition(other, object, isThere ? before : after) === null) return label;
    const id = `@${this.header.topic_ids[topic - this.kindStart[this.kinds.indexOf("topic")]]}`;
    return topic === object ? id : `${id}/${this.objectNumber[object]}`;
  }

  /** Another topic of a name that is there after a row. */
  _topicNamed(/** @type {string} */ label, /** @type {number} */ row, /** @type {number} */ but) {
    for (const object of this.topicsByLabel.get(label) ?? []) {
      if (object !== but && this.stateAt(object, row) !== null && this.labelAt(object, row) === label) return object;
    }
    return null;
  }

  /** The same partition of another topic, if it is there. */
  _partition(/** @type {number} */ topic, /** @type {number} */ like, /** @type {number} */ row) {
    for (const object of this.partitionsOf(topic)) {
      if (this.objectNumber[object] === this.objectNumber[like] && this.objectKind[object] === this.objectKind[like]) {
        return this.stateAt(object, row) === null ? null : object;
      }
    }
    return null;
  }

  /** Topics by every name that they had. @returns {Map<string, number[]>} */
  get topicsByLabel() {
    if (this._topics) return this._topics;
    /** @type {Map<string, number[]>} */
    this._topics = new Map();
    const topics = this.kinds.indexOf("topic");
    for (let i = 0; i < this.objects && this.objectKind[i] <= topics; i++) {
      const names = new Set([this.header.labels[this.firstLabel[i]]]);
      if (this.moved.has(i)) {
        for (const touch of this.touchesOf(i)) names.add(this.labelAt(i, this.rowOf[touch]));
      }
      for (const name of names) {
        const of = this._topics.get(name);
        if (of) of.push(i);
        else this._topics.set(name, [i]);
      }
    }
    return this._topics;
  }

  /** True if a topic had several names, or a name meant several topics. */
  get hasSharedNames() {
    this._shared ??= this.moved.size > 0 || [...this.topicsByLabel.values()].some((of) => of.length > 1);
    return this._shared;
  }

  /** The partitions of a topic, all that it ever had in the range. @param {number} topic */
  partitionsOf(topic) {
    this._partitions ??= this._partitionsByTopic();
    return this._partitions.get(topic) ?? [];
  }

  _partitionsByTopic() {
    /** @type {Map<number, number[]>} */
    const found = new Map();
    const kind = this.kinds.indexOf("partition");
    for (let i = 0; i < this.objects; i++) {
      if (this.objectKind[i] !== kind) continue;
      const topic = this.objectTopic[i] - 1, of = found.get(topic);
      if (of) of.push(i);
      else found.set(topic, [i]);
    }
    return found;
  }

  /** The object of a name such as `partition:orders/0`, preferably one that is there after a row;
   * null if there never was one.
   * @param {string} name @param {number} row @returns {number|null} */
  find(name, row) {
    const colon = name.indexOf(":"), kind = this.kinds.indexOf(name.slice(0, colon));
    const label = name.slice(colon + 1);
    if (kind < 0) return null;
    /** @type {number[]} */
    let found = [];
    if (this.kinds[kind] === "topic") {
      found = label.startsWith("@") ? this._topicOfId(label.slice(1)) : this.topicsByLabel.get(label) ?? [];
    } else if (this.kinds[kind] === "partition" || this.kinds[kind] === "removal") {
      const slash = label.lastIndexOf("/"), topic = label.slice(0, slash), number = Number(label.slice(slash + 1));
      const topics = topic.startsWith("@") ? this._topicOfId(topic.slice(1)) : this.topicsByLabel.get(topic) ?? [];
      found = topics.flatMap((t) => this.partitionsOf(t)).filter((p) => this.objectNumber[p] === number && this.objectKind[p] === kind);
    } else {
      for (let i = this.kindStart[kind]; i < this.objects && this.objectKind[i] === kind; i++) {
        if (this.header.labels[this.firstLabel[i]] === label) found.push(i);
      }
    }
    return found.find((object) => this.stateAt(object, row) !== null) ?? found.at(-1) ?? null;
  }

  _topicOfId(/** @type {string} */ id) {
    const at = this.header.topic_ids.indexOf(id);
    return at < 0 ? [] : [this.kindStart[this.kinds.indexOf("topic")] + at];
  }

  /** What happened: the events whose first record is in a range of offsets.
   * @param {number} from @param {number} to @returns {Generator<Told>} */
  *told(from, to) {
    for (let i = above(this.eventFrom, from - 1); i < above(this.eventFrom, to); i++) yield this._event(i, to);
  }

  /** Events that began before a range and go on in it.
   * @param {number} from @param {number} to @returns {Told[]} */
  toldBefore(from, to) {
    const found = [];
    for (let i = 0; i < above(this.eventFrom, from - 1); i++) {
      if (this.eventTo[i] >= from) found.push(this._event(i, to));
    }
    return found;
  }

  /** What was pinned to offsets: a note that is written is an event of its own, with an object.
   * @returns {Generator<Told>} */
  *notes() {
    const kind = this.header.event_kinds.indexOf("notes");
    for (let i = 0; i < this.eventFrom.length; i++) {
      const objects = this.eventObjectStart[i + 1] - this.eventObjectStart[i];
      if (this.eventKind[i] === kind && !objects) yield this._event(i, this.last);
    }
  }

  /** How many events begin in a range. @param {number} from @param {number} to */
  countTold(from, to) {
    return above(this.eventFrom, to) - above(this.eventFrom, from - 1);
  }

  /** @returns {Told} */
  _event(/** @type {number} */ i, /** @type {number} */ to) {
    const { event_texts: texts, event_kinds: kinds, principals } = this.header;
    const data = this;
    return {
      from: this.eventFrom[i], to: this.eventTo[i], time: this.eventTime[i],
      kind: kinds[this.eventKind[i]], text: texts[this.eventText[i]],
      // There may be thousands, and most events are never opened.
      get objects() { return data.eventNames(i); },
      cause: this.eventCause[i] ? this.eventCause[i] - 1 : null,
      principal: principals[this.eventPrincipal[i]],
      goesOn: this.eventTo[i] > to,
    };
  }

  eventNames(/** @type {number} */ event) {
    return Array.from(
      this.eventObject.subarray(this.eventObjectStart[event], this.eventObjectStart[event + 1]),
      (name) => this.header.names[name],
    );
  }

  /** Type, time, and who caused a row. @param {number} row */
  recordOf(row) {
    const origin = this.header.origins[this.origin[row]];
    return {
      offset: this.offset[row], time: this.time[row], type: this.header.types[this.type[row]],
      principal: origin?.[0] ?? null, command: origin?.[1] ?? null, reason: origin?.[2] ?? null,
    };
  }
}

/** @param {number} object @param {string} label @param {Fields|null} before @param {Fields|null} after @returns {Change[]} */
function differing(object, label, before, after) {
  const fate = FATES[before === null ? NEW : after === null ? GONE : CHANGED];
  const old = before ?? {}, now = after ?? {};
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names]
    .filter((name) => JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null))
    .map((field) => ({ object, label, field, before: old[field] ?? null, after: now[field] ?? null, fate }));
}

/** Compares names so that `orders/10` comes after `orders/9`. @param {string} a @param {string} b */
function naturally(a, b) {
  const [left, right] = [a, b].map((label) => label.split("/"));
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i] === right[i]) continue;
    const [x, y] = [left[i], right[i]].map((part) => (/^[0-9]+$/.test(part) ? Number(part) : NaN));
    if (!Number.isNaN(x) || !Number.isNaN(y)) return Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : x - y;
    return left[i] < right[i] ? -1 : 1;
  }
  return left.length - right.length;
}

/** A name as in labels: a # begins a field. @param {string} name */
function escapedName(name) {
  return name.replace(/%(23|25|2C|3C)/g, "%25$1").replaceAll("#", "%23");
}

// Data: the states and changes in a range, from the columns in the file or from the service.

import { unpack } from "report/columns.js";
import { above } from "report/numbers.js";
import { CHANGED, GONE, NEW, ObjectStates } from "report/object_states.js";

/** @typedef {import("report/object_states.js").Fields} Fields */
/** @typedef {{object: number, label: string, field: string, before: any, after: any, fate: string}} Change */

/** An object that existed only in a range: the touches that made and removed it, and its last name.
 * @typedef {{object: number, made: number, removed: number, name: string}} Passed */

/** The kinds of objects that `metalog diff` lists when they came and went. */
const PASSING = new Set(["topic", "partition", "namespace", "broker", "controller", "config", "acl", "quota", "scram", "token"]);

/** Longer lists of objects are not sorted by name. */
const SORTED_MAX = 2000;

export const LEADERLESS = 1, UNDER_REPLICATED = 2, FENCED = 4, SHUTTING_DOWN = 8;
const FATES = ["new", "changed", "gone"];

/** @param {Uint8Array<ArrayBuffer>} packed The columns, from the file or from the service. */
export async function openData(packed) {
  return new Data(await unpack(packed));
}

/** Extend data by the newer columns that the service sent. Throws an error if they do not continue it.
 * @param {Data} data @param {Uint8Array<ArrayBuffer>} packed */
export async function renewedData(data, packed) {
  const block = await unpack(packed);
  const { after } = block.header;
  if (after !== data.last) throw new Error(`the newer columns continue offset ${after}, not ${data.last}`);
  data.grow(block);
  return data;
}

export class Data extends ObjectStates {
  /** @type {Set<number>|null} */ _moved = null;
  /** @type {Map<string, number[]>|null} */ _topics = null;
  /** @type {{start: Int32Array, of: Int32Array}|null} The partitions of topic i are of[start[i]] to of[start[i + 1] - 1]. */
  _partitions = null;
  /** @type {boolean|null} */ _shared = null;
  _seen = new Uint8Array(this.objects);

  /** @param {import("report/decoded.js").Block} block */
  grow(block) {
    const hasMoved = super.grow(block);
    // Computed again on the next use.
    this._moved = this._topics = this._shared = null;
    if (hasMoved) {
      this._partitions = null;
      this._seen = new Uint8Array(this.objects);
    }
    return hasMoved;
  }

  /** The name of an object, with its kind, after a row.
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
    // Only a topic that was moved has another name.
    if (!this.moved.has(object)) return first;
    const state = this.stateAt(object, row);
    return state === null ? first : escapedName(state.name);
  }

  /** Topics that had several names. */
  get moved() {
    if (this._moved) return this._moved;
    this._moved = new Set();
    const topics = this.kinds.indexOf("topic"), { fields, shapes } = this.header;
    const names = shapes.map((/** @type {[number, number[]]} */ [, set]) => set.some((field) => fields[field][1] === "name"));
    for (let i = 0; i < this.objects && this.objectKind[i] <= topics; i++) {
      if (this.ofStart[i + 1] - this.ofStart[i] < 2) continue;
      const named = this.touchesOf(i).filter((touch) => names[this.shape[touch]]);
      if (named.length > 1) this._moved.add(i);
    }
    return this._moved;
  }

  /** The fields that a touch changed. @param {number} touch @returns {Change[]} */
  changesOf(touch) {
    const object = this.object[touch], row = this.rowOf[touch];
    return this._changes(touch, this.stateAt(object, row - 1), this.stateAt(object, row));
  }

  /** All changes of an object in the range, oldest first.
   * @param {number} object @returns {{row: number, changes: Change[]}[]} */
  historyOf(object) {
    return this.stepsOf(object, this.rows - 1).filter(({ touch }) => this.rowOf[touch] > 0)
      .map(({ touch, before, after }) => ({ row: this.rowOf[touch], changes: this._changes(touch, before, after) }));
  }

  _changes(/** @type {number} */ touch, /** @type {Fields|null} */ before, /** @type {Fields|null} */ after) {
    const object = this.object[touch], label = this.labelAt(object, this.rowOf[touch]);
    const set = before && after ? new Set(this.fieldsOf(touch).map(([name]) => name)) : null;
    return differing(object, label, this._inOrder(object, before), this._inOrder(object, after), set);
  }

  /** A state with its fields in the order in which the commands print them. */
  _inOrder(/** @type {number} */ object, /** @type {Fields|null} */ state) {
    // Configs are printed by name, all other fields in the order of the record.
    if (state === null || this.kinds[this.objectKind[object]] !== "config") return state;
    return Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The objects that rows in (before, after] touched, in the order of a diff.
   * @param {number} before @param {number} after */
  touchedIn(before, after) {
    const { object, _seen: seen } = this, end = this.firstTouch[after + 1];
    /** @type {number[]} */
    const found = [];
    let lowest = this.objects, highest = 0;
    for (let t = this.firstTouch[before + 1] ?? 0; t < end; t++) {
      const each = object[t];
      seen[each] = 1;
      if (each < lowest) lowest = each;
      if (each > highest) highest = each;
    }
    for (let i = lowest; i <= highest; i++) if (seen[i]) found.push(i);
    seen.fill(0, lowest, highest + 1);
    // Already in order, except topics that were moved or that took the name of another.
    const isSorted = found.length > SORTED_MAX || !this.hasSharedNames;
    return isSorted ? found : this._sorted(found, before, after);
  }

  _sorted(/** @type {number[]} */ objects, /** @type {number} */ before, /** @type {number} */ after) {
    const keyed = objects.map((object) => ({
      object, kind: this.objectKind[object],
      label: this._diffName(object, before, after, this.isThere(object, after)),
    }));
    return keyed.sort((a, b) => a.kind - b.kind || naturally(a.label, b.label)).map(({ object }) => object);
  }

  /** The fields of an object that differ between two rows.
   * @param {number} object @param {number} before @param {number} after */
  differenceOf(object, before, after) {
    const old = this._inOrder(object, this.stateAt(object, before));
    const now = this._inOrder(object, this.stateAt(object, after));
    if (old === null && now === null) return [];
    const label = this._diffName(object, before, after, now !== null);
    return differing(object, label, old, now, old && now ? this.differingFields(object, before, after) : null);
  }

  /** What existed only between two rows, by kind and first record, with the touches that made and removed it.
   * The partitions and configs of such a topic are left out.
   * @param {number[]} objects The objects touched between the rows. @param {number} before @param {number} after
   * @returns {Passed[]} */
  passedIn(objects, before, after) {
    const found = objects.flatMap((object) => this._passed(object, before, after) ?? []);
    const topics = new Set(found.map(({ object }) => object).filter((object) => this.kinds[this.objectKind[object]] === "topic"));
    const configs = new Set(found.filter(({ object }) => topics.has(object)).map(({ name }) => name.replace("topic:", "config:topic/")));
    return found.filter(({ object, name }) => !topics.has(this.objectTopic[object] - 1) && !configs.has(name))
      .sort((a, b) => this.objectKind[a.object] - this.objectKind[b.object] || a.made - b.made);
  }

  /** @returns {Passed|null} */
  _passed(/** @type {number} */ object, /** @type {number} */ before, /** @type {number} */ after) {
    if (!PASSING.has(this.kinds[this.objectKind[object]]) || this.isThere(object, before) || this.isThere(object, after)) return null;
    const touches = this.touchesOf(object).filter((touch) => this.rowOf[touch] > before && this.rowOf[touch] <= after);
    const made = touches.find((touch) => this.fateOf(touch) === NEW);
    const removed = touches.findLast((touch) => this.fateOf(touch) === GONE);
    if (made === undefined || removed === undefined) return null;
    return { object, made, removed, name: this.nameAt(object, this.rowOf[removed] - 1) };
  }

  /** The name of an object in a diff; its id if the name means another object at the other end. */
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

  /** Another topic that has this name after a row; null if there is none. */
  _topicNamed(/** @type {string} */ label, /** @type {number} */ row, /** @type {number} */ but) {
    for (const object of this.topicsByLabel.get(label) ?? []) {
      if (object !== but && this.isThere(object, row) && this.labelAt(object, row) === label) return object;
    }
    return null;
  }

  /** The partition with the same number in another topic; null if it does not exist then. */
  _partition(/** @type {number} */ topic, /** @type {number} */ like, /** @type {number} */ row) {
    for (const object of this.partitionsOf(topic)) {
      if (this.objectNumber[object] === this.objectNumber[like] && this.objectKind[object] === this.objectKind[like]) {
        return this.isThere(object, row) ? object : null;
      }
    }
    return null;
  }

  /** The topics that had each name. @returns {Map<string, number[]>} */
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

  /** All partitions that a topic had at any time in the range. @param {number} topic @returns {number[]} */
  partitionsOf(topic) {
    this._partitions ??= this._partitionsByTopic();
    const { start, of } = this._partitions;
    return Array.from(of.subarray(start[topic], start[topic + 1]));
  }

  /** The configs of a topic that rows in (before, after] touched; a topic that was moved has those of both names.
   * None for an object of another kind. @param {number} topic @param {number} before @param {number} after @returns {number[]} */
  configsOf(topic, before, after) {
    if (this.kinds[this.objectKind[topic]] !== "topic") return [];
    const names = new Set([before, after].map((row) => `config:topic/${this.labelAt(topic, row)}`));
    return [...names].flatMap((name) => this.named(name)).filter((object) => this.isTouchedIn(object, before, after));
  }

  _partitionsByTopic() {
    const kind = this.kinds.indexOf("partition"), begin = this.kindStart[kind], end = this.kindStart[kind + 1] ?? this.objects;
    const start = new Int32Array(this.objects + 1), of = new Int32Array(end - begin);
    for (let i = begin; i < end; i++) start[this.objectTopic[i]]++;
    for (let i = 0; i < this.objects; i++) start[i + 1] += start[i];
    const next = start.slice();
    for (let i = begin; i < end; i++) of[next[this.objectTopic[i] - 1]++] = i;
    return { start, of };
  }

  /** The object with a name such as `partition:orders/0`, preferably one that exists after a row;
   * null if no object ever had the name.
   * @param {string} name @param {number} row @returns {number|null} */
  find(name, row) {
    const found = this.named(name);
    return found.find((object) => this.isThere(object, row)) ?? found.at(-1) ?? null;
  }

  /** All objects that had a name at any time: a topic may be deleted and created again. @param {string} name @returns {number[]} */
  named(name) {
    const colon = name.indexOf(":"), kind = this.kinds.indexOf(name.slice(0, colon)), label = name.slice(colon + 1);
    if (kind < 0) return [];
    if (this.kinds[kind] === "topic") return this._topicsNamed(label);
    if (this.kinds[kind] === "partition" || this.kinds[kind] === "removal") {
      const slash = label.lastIndexOf("/"), topics = this._topicsNamed(label.slice(0, slash)), number = Number(label.slice(slash + 1));
      const objects = this.kinds[kind] === "partition" ? topics.flatMap((topic) => this.partitionsOf(topic)) : this._ofKind(kind);
      return objects.filter((object) => this.objectNumber[object] === number && topics.includes(this.objectTopic[object] - 1));
    }
    return this._ofKind(kind).filter((object) => this.header.labels[this.firstLabel[object]] === label);
  }

  _ofKind(/** @type {number} */ kind) {
    const begin = this.kindStart[kind], end = this.kindStart[kind + 1] ?? this.objects;
    return Array.from({ length: end - begin }, (_, i) => begin + i);
  }

  _topicsNamed(/** @type {string} */ label) {
    return label.startsWith("@") ? this._topicOfId(label.slice(1)) : this.topicsByLabel.get(label) ?? [];
  }

  _topicOfId(/** @type {string} */ id) {
    const at = this.header.topic_ids.indexOf(id);
    return at < 0 ? [] : [this.kindStart[this.kinds.indexOf("topic")] + at];
  }

  /** The row of the record at an offset; -1 if there is none. @param {number} offset */
  rowOfRecord(offset) {
    const row = this.rowAt(offset);
    // A record of a transaction takes effect, and so has its row, where that ends.
    return this.offset[row] === offset ? row : this.offset.indexOf(offset);
  }

  /** The record of a row: its offset, time, type and origin. @param {number} row */
  recordOf(row) {
    const origin = this.header.origins[this.origin[row]];
    return {
      offset: this.offset[row], time: this.time[row], type: this.header.types[this.type[row]],
      principal: origin?.[0] ?? null, command: origin?.[1] ?? null, reason: origin?.[2] ?? null,
    };
  }
}

/** The changes of some fields; of all fields if the object exists before or after only.
 * @param {number} object @param {string} label @param {Fields|null} before @param {Fields|null} after
 * @param {Set<string>|null} fields @returns {Change[]} */
function differing(object, label, before, after, fields) {
  const fate = FATES[before === null ? NEW : after === null ? GONE : CHANGED];
  const old = before ?? {}, now = after ?? {};
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter((name) => fields === null || fields.has(name))
    .map((field) => ({ object, label, field, before: old[field] ?? null, after: now[field] ?? null, fate }));
}

/** Compare names so that `orders/10` comes after `orders/9`. @param {string} a @param {string} b */
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

/** Escape a name as in labels, where # begins a field. @param {string} name */
function escapedName(name) {
  return name.replace(/%(23|25|2C|3C)/g, "%25$1").replaceAll("#", "%23");
}

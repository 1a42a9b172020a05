// Decoded columns: rows, touches and objects of a range as arrays of numbers. A touch is the effect of
// a row on one object. Newer rows and touches are appended; new objects shift the indices of others.

import { Column, signed } from "report/columns.js";
import { Events } from "report/events.js";
import { above, appended, Insertion } from "report/numbers.js";

const NONE = new Float64Array(), SMALL = new Int32Array();

/** Lists in the header that newer data extend. */
const LISTS = ["fields", "shapes", "types", "origins", "values", "texts", "links", "causes", "broker_links", "outage_texts"];
/** Fields of the header that newer data replace. */
const REPLACED = ["last", "confirmed_end", "opens", "opens_on", "eventful", "times", "gone"];

/** @typedef {{header: import("report/columns.js").Header, column: (name: string) => Column}} Block */

export class Decoded {
  // By row: offset of the record, offset at which it took effect, times, and first touch.
  offset = NONE; effect = NONE; time = NONE; axisTime = NONE; type = SMALL; origin = SMALL; rows = 0;
  firstTouch = new Int32Array(1);
  // By row, without the first: used by `why`.
  text = SMALL; cause = SMALL;
  // Of a row that begins an outage: the text of its cause, 0 if not known, and the offset of that less the row's.
  outageText = SMALL; outageAt = NONE;
  /** @type {number[]} Times on the axis at which clocks went back. */
  wentBack = [];
  // By object.
  objectKind = SMALL; objectTopic = SMALL; objectNumber = NONE; objects = 0;
  firstLabel = SMALL;
  /** @type {number[]} The first object of each kind. */
  kindStart = [];
  // By touch. The touches of object i are ofObject[ofStart[i]] to ofObject[ofStart[i + 1] - 1].
  object = SMALL; shape = SMALL; outages = SMALL; rowOf = SMALL;
  ofStart = SMALL; ofObject = SMALL;
  // The values, and the first value of each touch. They are most of the file, and decoded on demand.
  _valueStart = new Int32Array(1); _value = NONE;
  /** @type {Block[]} The blocks whose values are not decoded yet. */
  _unread = [];

  /** @param {Block} block */
  constructor(block) {
    const { header } = block;
    this.header = header;
    this.kinds = /** @type {string[]} */ (header.kinds);
    this.first = /** @type {number} */ (header.first);
    this.last = /** @type {number} */ (header.last);
    this.events = new Events();
    this._take(block);
  }

  /** Append newer data; true if the indices of objects have changed.
   * @param {Block} block */
  grow(block) {
    const { header, hasValues } = this, more = block.header;
    if (more.after !== this.last) throw new Error(`the newer columns continue offset ${more.after}, not ${this.last}`);
    for (const name of LISTS) for (const each of more[name]) header[name].push(each);
    for (const name of REPLACED) if (name in more) header[name] = more[name];
    // The requested begin stays: the rows that were left out there are still missing.
    header.asked[1] = more.asked[1];
    header.about = { ...header.about, ...more.about };
    header.terms.splice(more.terms_at, Infinity, ...more.terms);
    this.last = more.last;
    const hasMoved = this._take(block);
    if (hasValues) this.readValues();
    return hasMoved;
  }

  /** @param {Block} block */
  _take(block) {
    const { column } = block;
    const hasMoved = this._addObjects(block);
    this._addRows(column);
    this._addTouches(column);
    this.events.take(block);
    this._unread.push(block);
    return hasMoved;
  }

  /** True if all values are decoded. */
  get hasValues() { return this._unread.length === 0; }

  readValues() {
    for (const block of this._unread.splice(0)) this._addValues(block);
  }

  get valueStart() {
    this.readValues();
    return this._valueStart;
  }

  get value() {
    this.readValues();
    return this._value;
  }

  /** @param {(name: string) => Column} column */
  _addRows(column) {
    const begin = this.rows, offset = column("offset").summed(), effect = column("delay").unsigned();
    for (let i = 0; i < effect.length; i++) effect[i] += offset[i];
    this.offset = appended(this.offset, offset);
    this.effect = appended(this.effect, effect);
    this.time = appended(this.time, column("time").summed());
    this.type = appended(this.type, column("type").small());
    this.origin = appended(this.origin, column("origin").small());
    this.text = appended(this.text, column("text").small());
    this.cause = appended(this.cause, column("cause").small());
    this.outageText = appended(this.outageText, column("outage_text").small());
    this.outageAt = appended(this.outageAt, column("outage_at").signed());
    const firstTouch = column("touches").small();
    for (let i = 0, at = this.firstTouch[begin]; i < firstTouch.length; i++) firstTouch[i] = at += firstTouch[i];
    this.firstTouch = appended(this.firstTouch, firstTouch);
    this.rows = begin + firstTouch.length;
    // Clocks may go back; times on the axis must not.
    const { time } = this;
    this.axisTime = appended(this.axisTime, time.slice(begin));
    const { axisTime } = this;
    for (let i = Math.max(2, begin); i < this.rows; i++) {
      axisTime[i] = Math.max(time[i], axisTime[i - 1]);
      if (time[i] < time[i - 1]) this.wentBack.push(axisTime[i]);
    }
    // The state before the range begins at the first record's time, or earlier.
    if (this.rows > 1) axisTime[0] = Math.min(time[0] || axisTime[1], axisTime[1]);
  }

  /** @param {Block} block */
  _addObjects({ header, column }) {
    const kinds = column("object_kind").smallSummed(), topics = column("object_topic").smallSummed();
    if (!kinds.length) return false;
    const { objects: before, header: whole } = this, places = before ? column("object_place").smallSummed() : null;
    const into = new Insertion(before, kinds.length, places);
    const isOld = this.objectTopic;
    for (let i = 0; i < before; i++) if (isOld[i]) isOld[i] = into.moved[isOld[i] - 1] + 1;
    if (header !== whole) {
      // Labels are stored only for objects that are in no topic, ids only for topics.
      const withLabel = (/** @type {Int32Array} */ of) => (/** @type {number} */ i) => of[i] === 0;
      const topic = this.kinds.indexOf("topic"), isTopic = (/** @type {Int32Array} */ of) => (/** @type {number} */ i) => of[i] === topic;
      whole.labels = into.listOf(whole.labels, withLabel(this.objectTopic), header.labels, withLabel(topics));
      whole.topic_ids = into.listOf(whole.topic_ids, isTopic(this.objectKind), header.topic_ids, isTopic(kinds));
    }
    this.objectKind = into.of(this.objectKind, kinds);
    this.objectTopic = into.of(this.objectTopic, topics);
    this.objectNumber = into.of(this.objectNumber, column("object_number").summed());
    this.objects = this.objectKind.length;
    this.firstLabel = new Int32Array(this.objects);
    for (let i = 0, labels = 0; i < this.objects; i++) this.firstLabel[i] = this.objectTopic[i] ? -1 : labels++;
    this.kindStart = this.kinds.map((_, kind) => above(this.objectKind, kind - 1));
    const { object } = this, { moved } = into;
    for (let touch = 0; touch < object.length; touch++) object[touch] = moved[object[touch]];
    return before > 0;
  }

  /** @param {(name: string) => Column} column */
  _addTouches(column) {
    this.object = appended(this.object, column("object").smallSummed());
    this.shape = appended(this.shape, column("shape").small());
    this.outages = appended(this.outages, column("outages").small());
    const { object, objects } = this, touches = object.length, begin = this.rowOf.length, rowOf = new Int32Array(touches - begin);
    for (let row = above(this.firstTouch, begin) - 1, touch = begin; touch < touches; row++) {
      while (touch < this.firstTouch[row + 1]) rowOf[touch++ - begin] = row;
    }
    this.rowOf = appended(this.rowOf, rowOf);
    const start = new Int32Array(objects + 1);
    for (let touch = 0; touch < touches; touch++) start[object[touch] + 1]++;
    for (let i = 0; i < objects; i++) start[i + 1] += start[i];
    this.ofStart = start;
    this.ofObject = new Int32Array(touches);
    const next = start.slice();
    for (let touch = 0; touch < touches; touch++) this.ofObject[next[object[touch]]++] = touch;
  }

  /** @param {Block} block */
  _addValues({ header, column }) {
    const { object, shape } = this, isFirst = header.after === undefined;
    const first = this._valueStart.length - 1, end = first + column("shape").count();
    const fields = /** @type {any[][]} */ (this.header.fields);
    const sets = /** @type {number[][]} */ (this.header.shapes.map((/** @type {any} */ each) => each[1]));
    const columns = fields.map((_, i) => column(`value:${i}`).unsigned());
    // The last value of each counter, by object: the first block contains differences, later ones values.
    const last = fields.map((field) => (field[2] && isFirst ? new Float64Array(this.objects) : null));
    const read = new Int32Array(fields.length), value = new Float64Array(columns.reduce((sum, of) => sum + of.length, 0));
    const start = new Int32Array(end - first), before = this._value.length;
    let at = 0;
    for (let touch = first; touch < end; touch++) {
      const set = sets[shape[touch]];
      for (let i = 0; i < set.length; i++) {
        const field = set[i], number = columns[field][read[field]++], counter = last[field];
        if (counter !== null) value[at++] = counter[object[touch]] += signed(number);
        else value[at++] = fields[field][2] ? signed(number) : number;
      }
      start[touch - first] = before + at;
    }
    this._valueStart = appended(this._valueStart, start);
    this._value = appended(this._value, value);
  }
}

// Decoded columns: rows, touches, objects and events of a range as arrays of numbers.

import { Column, signed } from "report/columns.js";

const NONE = new Float64Array(), SMALL = new Int32Array();

export class Decoded {
  // Of each row: offset of its record and of its effect, times, and its first touch.
  offset = NONE; effect = NONE; time = NONE; axisTime = NONE; type = SMALL; origin = SMALL; rows = 0;
  firstTouch = SMALL;
  /** @type {number[]} Times on the axis at which clocks went back. */
  wentBack = [];
  // Of each object.
  objectKind = SMALL; objectTopic = SMALL; objectNumber = NONE; objects = 0;
  firstLabel = SMALL;
  /** @type {number[]} The first object of each kind. */
  kindStart = [];
  // Of each touch; those of object i stand in ofObject from ofStart[i] to ofStart[i + 1].
  object = SMALL; shape = SMALL; outages = SMALL; rowOf = SMALL;
  ofStart = SMALL; ofObject = SMALL;
  // Of each touch its first value, and the values. They are most of the file, and read on demand.
  _valueStart = SMALL; _value = NONE;
  // Of each event.
  eventFrom = NONE; eventTo = NONE; eventTime = NONE; eventKind = SMALL; eventText = SMALL;
  eventCause = NONE; eventPrincipal = SMALL; eventObject = SMALL; eventObjectStart = SMALL;

  /**
   * @param {import("report/columns.js").Header} header
   * @param {(name: string) => Column} column
   */
  constructor(header, column) {
    this.header = header;
    this.kinds = /** @type {string[]} */ (header.kinds);
    this.first = /** @type {number} */ (header.first);
    this.last = /** @type {number} */ (header.last);
    this._readRows(column);
    this._readObjects(column);
    this._readTouches(column);
    this._readEvents(column);
    this.text = column("text").small();
    this.cause = column("cause").small();
    /** @type {((name: string) => Column)|null} Null once the values are read. */
    this._unread = column;
  }

  /** True once values were read. */
  get hasValues() { return this._unread === null; }

  readValues() {
    if (this._unread !== null) this._readValues(this._unread);
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
  _readRows(column) {
    this.offset = column("offset").summed();
    this.time = column("time").summed();
    this.type = column("type").small();
    this.origin = column("origin").small();
    this.effect = column("delay").unsigned();
    for (let i = 0; i < this.effect.length; i++) this.effect[i] += this.offset[i];
    const touches = column("touches").small();
    this.rows = touches.length;
    this.firstTouch = new Int32Array(this.rows + 1);
    for (let i = 0; i < this.rows; i++) this.firstTouch[i + 1] = this.firstTouch[i] + touches[i];
    // Clocks may go back; a place on the axis must not.
    this.axisTime = this.time.slice();
    for (let i = 2; i < this.rows; i++) {
      this.axisTime[i] = Math.max(this.time[i], this.axisTime[i - 1]);
      if (this.time[i] < this.time[i - 1]) this.wentBack.push(this.axisTime[i]);
    }
    // The state before the range begins with it.
    if (this.rows > 1) this.axisTime[0] = Math.min(this.axisTime[0] || this.axisTime[1], this.axisTime[1]);
  }

  /** @param {(name: string) => Column} column */
  _readObjects(column) {
    this.objectKind = column("object_kind").smallSummed();
    this.objectTopic = column("object_topic").smallSummed();
    this.objectNumber = column("object_number").summed();
    this.objects = this.objectKind.length;
    this.firstLabel = new Int32Array(this.objects);
    let labels = 0;
    for (let i = 0; i < this.objects; i++) {
      this.firstLabel[i] = this.objectTopic[i] ? -1 : labels++;
    }
    this.kindStart = this.kinds.map((_, kind) => above(this.objectKind, kind - 1));
  }

  /** @param {(name: string) => Column} column */
  _readTouches(column) {
    this.object = column("object").smallSummed();
    this.shape = column("shape").small();
    this.outages = column("outages").small();
    const touches = this.object.length;
    this.rowOf = new Int32Array(touches);
    for (let row = 0, touch = 0; row < this.rows; row++) {
      while (touch < this.firstTouch[row + 1]) this.rowOf[touch++] = row;
    }
    this.ofStart = new Int32Array(this.objects + 1);
    for (let touch = 0; touch < touches; touch++) this.ofStart[this.object[touch] + 1]++;
    for (let i = 0; i < this.objects; i++) this.ofStart[i + 1] += this.ofStart[i];
    this.ofObject = new Int32Array(touches);
    const next = this.ofStart.slice();
    for (let touch = 0; touch < touches; touch++) {
      this.ofObject[next[this.object[touch]]++] = touch;
    }
  }

  /** @param {(name: string) => Column} column */
  _readValues(column) {
    const { object, shape } = this, touches = object.length;
    const fields = /** @type {any[][]} */ (this.header.fields);
    const sets = /** @type {number[][]} */ (this.header.shapes.map((/** @type {any} */ each) => each[1]));
    const columns = fields.map((_, i) => column(`value:${i}`).unsigned());
    // Of each counter the last value of every object.
    const last = fields.map((field) => (field[2] ? new Float64Array(this.objects) : null));
    const read = new Int32Array(fields.length), value = new Float64Array(columns.reduce((sum, of) => sum + of.length, 0));
    const start = new Int32Array(touches + 1);
    let at = 0;
    for (let touch = 0; touch < touches; touch++) {
      const set = sets[shape[touch]];
      for (let i = 0; i < set.length; i++) {
        const field = set[i], number = columns[field][read[field]++], counter = last[field];
        value[at++] = counter === null ? number : counter[object[touch]] += signed(number);
      }
      start[touch + 1] = at;
    }
    [this._valueStart, this._value, this._unread] = [start, value, null];
  }

  /** @param {(name: string) => Column} column */
  _readEvents(column) {
    this.eventFrom = column("event_from").summed();
    this.eventTo = column("event_to").unsigned();
    for (let i = 0; i < this.eventTo.length; i++) this.eventTo[i] += this.eventFrom[i];
    this.eventTime = column("event_time").summed();
    this.eventKind = column("event_kind").small();
    this.eventText = column("event_text").small();
    this.eventCause = column("event_cause").unsigned();
    this.eventPrincipal = column("event_principal").small();
    this.eventObject = column("event_object").smallSummed();
    const counts = column("event_objects").small();
    this.eventObjectStart = new Int32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) this.eventObjectStart[i + 1] = this.eventObjectStart[i] + counts[i];
  }
}

/** The index of the first number above a limit, in ascending numbers.
 * @param {ArrayLike<number>} numbers @param {number} limit */
export function above(numbers, limit) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

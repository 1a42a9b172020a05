// Decoded columns: rows, touches, objects and events of a range as arrays of numbers.

import { Column } from "report/columns.js";

const NONE = new Float64Array();

export class Decoded {
  // Of each row: offset of its record and of its effect, times, and its first touch.
  offset = NONE; effect = NONE; time = NONE; axisTime = NONE; type = NONE; origin = NONE; rows = 0;
  firstTouch = new Int32Array();
  /** @type {number[]} Times on the axis at which clocks went back. */
  wentBack = [];
  // Of each object.
  objectKind = NONE; objectTopic = NONE; objectNumber = NONE; objects = 0;
  firstLabel = new Int32Array();
  /** @type {number[]} The first object of each kind. */
  kindStart = [];
  // Of each touch; those of object i stand in ofObject from ofStart[i] to ofStart[i + 1].
  object = new Int32Array(); shape = new Int32Array(); outages = new Uint8Array(); rowOf = new Int32Array();
  ofStart = new Int32Array(); ofObject = new Int32Array();
  valueStart = new Int32Array(); value = NONE;
  // Of each event.
  eventFrom = NONE; eventTo = NONE; eventTime = NONE; eventKind = NONE; eventText = NONE;
  eventCause = NONE; eventPrincipal = NONE; eventObject = NONE; eventObjectStart = new Int32Array();

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
    this._readValues(column);
    this._readEvents(column);
    this.text = column("text").unsigned();
    this.cause = column("cause").unsigned();
  }

  /** @param {(name: string) => Column} column */
  _readRows(column) {
    this.offset = column("offset").summed();
    this.time = column("time").summed();
    this.type = column("type").unsigned();
    this.origin = column("origin").unsigned();
    this.effect = column("delay").unsigned();
    for (let i = 0; i < this.effect.length; i++) this.effect[i] += this.offset[i];
    const touches = column("touches").unsigned();
    this.rows = touches.length;
    this.firstTouch = new Int32Array(this.rows + 1);
    for (let i = 0; i < this.rows; i++) this.firstTouch[i + 1] = this.firstTouch[i] + touches[i];
    // Clocks may go back; a place on the axis must not.
    this.axisTime = Float64Array.from(this.time);
    for (let i = 2; i < this.rows; i++) {
      this.axisTime[i] = Math.max(this.time[i], this.axisTime[i - 1]);
      if (this.time[i] < this.time[i - 1]) this.wentBack.push(this.axisTime[i]);
    }
    // The state before the range begins with it.
    if (this.rows > 1) this.axisTime[0] = Math.min(this.axisTime[0] || this.axisTime[1], this.axisTime[1]);
  }

  /** @param {(name: string) => Column} column */
  _readObjects(column) {
    this.objectKind = column("object_kind").summed();
    this.objectTopic = column("object_topic").summed();
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
    this.object = Int32Array.from(column("object").summed());
    this.shape = Int32Array.from(column("shape").unsigned());
    this.outages = Uint8Array.from(column("outages").unsigned());
    const touches = this.object.length;
    this.rowOf = new Int32Array(touches);
    for (let row = 0, touch = 0; row < this.rows; row++) {
      while (touch < this.firstTouch[row + 1]) this.rowOf[touch++] = row;
    }
    this.ofStart = new Int32Array(this.objects + 1);
    for (const object of this.object) this.ofStart[object + 1]++;
    for (let i = 0; i < this.objects; i++) this.ofStart[i + 1] += this.ofStart[i];
    this.ofObject = new Int32Array(touches);
    const next = this.ofStart.slice();
    for (let touch = 0; touch < touches; touch++) {
      this.ofObject[next[this.object[touch]]++] = touch;
    }
  }

  /** @param {(name: string) => Column} column */
  _readValues(column) {
    const { fields, shapes } = this.header;
    const touches = this.object.length;
    this.valueStart = new Int32Array(touches + 1);
    const sizes = shapes.map((/** @type {any} */ shape) => shape[1].length);
    for (let i = 0; i < touches; i++) {
      this.valueStart[i + 1] = this.valueStart[i] + sizes[this.shape[i]];
    }
    this.value = new Float64Array(this.valueStart[touches]);
    const columns = fields.map((/** @type {any} */ _, /** @type {number} */ i) => column(`value:${i}`));
    // Of each counter the last value of every object.
    /** @type {(Float64Array|null)[]} */
    const last = fields.map((/** @type {any} */ field) => (field[2] ? new Float64Array(this.objects) : null));
    for (let touch = 0, at = 0; touch < touches; touch++) {
      for (const field of shapes[this.shape[touch]][1]) {
        const counter = last[field];
        this.value[at++] = counter === null ? columns[field].next()
          : counter[this.object[touch]] += columns[field].nextSigned();
      }
    }
  }

  /** @param {(name: string) => Column} column */
  _readEvents(column) {
    this.eventFrom = column("event_from").summed();
    this.eventTo = column("event_to").unsigned();
    for (let i = 0; i < this.eventTo.length; i++) this.eventTo[i] += this.eventFrom[i];
    this.eventTime = column("event_time").summed();
    this.eventKind = column("event_kind").unsigned();
    this.eventText = column("event_text").unsigned();
    this.eventCause = column("event_cause").unsigned();
    this.eventPrincipal = column("event_principal").unsigned();
    this.eventObject = column("event_object").summed();
    const counts = column("event_objects").unsigned();
    this.eventObjectStart = new Int32Array(counts.length + 1);
    counts.forEach((n, i) => { this.eventObjectStart[i + 1] = this.eventObjectStart[i] + n; });
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

// States of objects, computed from the touches of each object. Every 64th state is kept, so that few
// touches need to be applied.

import { Decoded } from "report/decoded.js";
import { above } from "report/numbers.js";

/** @typedef {Record<string, any>} Fields */

export const NEW = 0, CHANGED = 1, GONE = 2;

/** The mode of a partition that takes neither reads nor writes. */
const MODE_NONE = -1;

/** True while a partition is being removed: it gets no leader. @param {any} state */
export const isGoing = (state) => state?.mode === MODE_NONE;

/** @type {number[]} */
const NO_FIELDS = [];

/** The number of touches between two states that are kept. */
const KEPT_EVERY = 64;

export class ObjectStates extends Decoded {
  /** By object: the states after every 64 touches. A removed field is null.
   * @type {Map<number, (Fields|null)[]>} */
  _kept = new Map();

  // By field: the value numbers of two states; NaN if the state does not have the field.
  _old = new Float64Array(); _now = new Float64Array();
  /** @type {number[][]} The fields of each kind. */
  _ownFields = [];

  /** @param {import("report/decoded.js").Block} block */
  constructor(block) {
    super(block);
    this._prepare();
  }

  /** @param {import("report/decoded.js").Block} block */
  grow(block) {
    const hasMoved = super.grow(block);
    if (hasMoved) this._kept.clear();
    this._prepare();
    return hasMoved;
  }

  _prepare() {
    const { fields } = this.header;
    if (this._ownFields.length && fields.length === this._old.length) return;
    this._old = new Float64Array(fields.length);
    this._now = new Float64Array(fields.length);
    this._ownFields = this.kinds.map(() => []);
    fields.forEach((/** @type {number[]} */ field, /** @type {number} */ i) => this._ownFields[field[0]].push(i));
  }

  /** The last row that took effect at or before an offset; 0 is the state before the range.
   * @param {number} offset */
  rowAt(offset) {
    return Math.max(0, above(this.effect, offset) - 1);
  }

  /** The touches of an object, oldest first. @param {number} object */
  touchesOf(object) {
    return this.ofObject.subarray(this.ofStart[object], this.ofStart[object + 1]);
  }

  /** The number of changes of an object in the range. @param {number} object */
  changeCount(object) {
    const start = this.ofStart[object], count = this.ofStart[object + 1] - start;
    return count && this.rowOf[this.ofObject[start]] === 0 ? count - 1 : count;
  }

  /** The effect of a touch on the object: NEW, CHANGED or GONE. @param {number} touch @returns {number} */
  fateOf(touch) {
    return this.header.shapes[this.shape[touch]][0];
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

  /** The outages that an object is in after a row, as bits. @param {number} object @param {number} row */
  outagesAt(object, row) {
    const index = this._touchAfter(object, row) - 1;
    return index < this.ofStart[object] ? 0 : this.outages[this.ofObject[index]];
  }

  /** The fields of an object after a row; null if it is absent.
   * @param {number} object @param {number} row @returns {Fields|null} */
  stateAt(object, row) {
    return this._stateBefore(object, this._touchAfter(object, row));
  }

  /** True if an object exists after a row. @param {number} object @param {number} row */
  isThere(object, row) {
    const index = this._touchAfter(object, row) - 1;
    return index >= this.ofStart[object] && this.fateOf(this.ofObject[index]) !== GONE;
  }

  /** The states of an object before and after each touch up to a row, oldest first.
   * @param {number} object @param {number} row @returns {{touch: number, before: Fields|null, after: Fields|null}[]} */
  stepsOf(object, row) {
    const end = this._touchAfter(object, row), found = [];
    let whole = /** @type {Fields|null} */ (null), before = /** @type {Fields|null} */ (null);
    for (let i = this.ofStart[object]; i < end; i++) {
      whole = this._advanced(whole, i, i + 1);
      const after = withoutNulls(whole);
      found.push({ touch: this.ofObject[i], before, after });
      before = after;
    }
    return found;
  }

  /** True if rows in (before, after] touched an object. @param {number} object @param {number} before @param {number} after */
  isTouchedIn(object, before, after) {
    return this._touchAfter(object, before) < this._touchAfter(object, after);
  }

  /** The number of fields of an object that differ between two rows. Makes no states, because there may
   * be 100,000 objects. @param {number} object @param {number} before @param {number} after */
  countDifferences(object, before, after) {
    let count = 0;
    for (const field of this._compared(object, before, after)) count += this._isSame(field) ? 0 : 1;
    return count;
  }

  /** The names of the fields of an object that differ between two rows. Compares the numbers of the
   * values, because a secret is shown alike before and after.
   * @param {number} object @param {number} before @param {number} after @returns {Set<string>} */
  differingFields(object, before, after) {
    const differing = this._compared(object, before, after).filter((field) => !this._isSame(field));
    return new Set(differing.map((field) => this.header.fields[field][1]));
  }

  /** Fill `_old` and `_now`; return the fields to compare, none if no touch is between the rows. */
  _compared(/** @type {number} */ object, /** @type {number} */ before, /** @type {number} */ after) {
    const middle = this._touchAfter(object, before), end = this._touchAfter(object, after);
    if (middle === end) return NO_FIELDS;
    const { _old: old, _now: now } = this, own = this._ownFields[this.objectKind[object]];
    for (const field of own) now[field] = NaN;
    this._setValues(now, own, this.ofStart[object], middle);
    for (const field of own) old[field] = now[field];
    this._setValues(now, own, middle, end);
    return own;
  }

  _isSame(/** @type {number} */ field) {
    const { _old: old, _now: now } = this;
    return old[field] === now[field] || (Number.isNaN(old[field]) && Number.isNaN(now[field]));
  }

  /** The index in `ofObject` of the first touch of an object after a row. */
  _touchAfter(/** @type {number} */ object, /** @type {number} */ row) {
    let low = this.ofStart[object], high = this.ofStart[object + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rowOf[this.ofObject[middle]] <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The state of an object before the touch at index `end` of `ofObject`. @returns {Fields|null} */
  _stateBefore(/** @type {number} */ object, /** @type {number} */ end) {
    const begin = this.ofStart[object], kept = Math.floor((end - begin) / KEPT_EVERY);
    return withoutNulls(this._advanced(this._keptState(object, kept), begin + kept * KEPT_EVERY, end));
  }

  /** The state after `index` times 64 touches. */
  _keptState(/** @type {number} */ object, /** @type {number} */ index) {
    if (index === 0) return null;
    const kept = this._kept.get(object) ?? [null], begin = this.ofStart[object];
    this._kept.set(object, kept);
    while (kept.length <= index) {
      const start = begin + (kept.length - 1) * KEPT_EVERY;
      kept.push(this._advanced(kept[kept.length - 1], start, start + KEPT_EVERY));
    }
    return kept[index];
  }

  /** A copy of a state with more touches applied. @returns {Fields|null} */
  _advanced(/** @type {Fields|null} */ state, /** @type {number} */ start, /** @type {number} */ end) {
    const { fields, shapes, values } = this.header, { valueStart, value: numbers } = this;
    let found = state === null ? null : { ...state };
    for (let i = start; i < end; i++) {
      const touch = this.ofObject[i], [fate, set] = shapes[this.shape[touch]];
      if (fate !== CHANGED) found = fate === GONE ? null : {};
      if (found === null) continue;
      let at = valueStart[touch];
      for (const field of set) {
        const value = numbers[at++];
        found[fields[field][1]] = fields[field][2] ? value : values[value];
      }
    }
    return found;
  }

  /** Set the numbers of the values that touches set, by field. */
  _setValues(/** @type {Float64Array} */ into, /** @type {number[]} */ own, /** @type {number} */ start, /** @type {number} */ end) {
    const { fields, shapes } = this.header, { ofObject, shape, value, valueStart } = this;
    for (let i = start; i < end; i++) {
      const touch = ofObject[i], [fate, set] = shapes[shape[touch]];
      if (fate !== CHANGED) for (const field of own) into[field] = NaN;
      for (let j = 0, at = valueStart[touch]; j < set.length; j++, at++) {
        // Value 0 is null.
        into[set[j]] = value[at] === 0 && !fields[set[j]][2] ? NaN : value[at];
      }
    }
  }
}

/** A state without its removed fields. @param {Fields|null} state */
function withoutNulls(state) {
  if (state === null || !Object.values(state).includes(null)) return state;
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null));
}

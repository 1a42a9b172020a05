// Arrays of numbers: search, append and insert.

/** The index of the first number greater than a limit; the numbers are ascending.
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

/** Append numbers. The result has spare capacity, so that few appends copy the earlier numbers.
 * @template {Float64Array|Int32Array} T @param {T} numbers Must not be used afterwards. @param {T} more @returns {T} */
export function appended(numbers, more) {
  if (!numbers.length || !more.length) return numbers.length ? numbers : more;
  const Kind = /** @type {new (of: any) => T} */ (numbers.constructor), length = numbers.length + more.length;
  let room = numbers.byteOffset ? numbers : new Kind(numbers.buffer);
  if (room.length < length) {
    room = new Kind(Math.ceil(length * 1.25) + 64);
    room.set(numbers);
  }
  room.set(more, numbers.length);
  return /** @type {T} */ (room.subarray(0, length));
}

/** Insertion of new items among old ones, which keep their order. */
export class Insertion {
  /** @param {number} old @param {number} count Number of new items. @param {Int32Array|null} places Index of each new item in the result, ascending; null: all after the old ones. */
  constructor(old, count, places) {
    this.length = old + count;
    /** The index in the result of each old item. */
    this.moved = new Int32Array(old);
    /** By index in the result: the index of an old item, or ~index of a new one. */
    this.from = new Int32Array(this.length);
    for (let place = 0, at = 0, next = 0; place < this.length; place++) {
      const isNew = places === null ? place >= old : next < count && places[next] === place;
      if (isNew) {
        this.from[place] = ~next++;
      } else {
        this.moved[at] = place;
        this.from[place] = at++;
      }
    }
  }

  /** The result for two arrays of numbers. @template {Float64Array|Int32Array} T @param {T} old @param {T} fresh @returns {T} */
  of(old, fresh) {
    if (!old.length) return fresh;
    const { from } = this, found = /** @type {T} */ (new /** @type {any} */ (old.constructor)(from.length));
    for (let i = 0; i < from.length; i++) found[i] = from[i] < 0 ? fresh[~from[i]] : old[from[i]];
    return found;
  }

  /** The result for two lists. @template T @param {T[]} old @param {T[]} fresh @returns {T[]} */
  ofList(old, fresh) {
    return Array.from(this.from, (from) => (from < 0 ? fresh[~from] : old[from]));
  }

  /** The result for two lists that have an entry for some items only.
   * @template T @param {T[]} old @param {(i: number) => boolean} hasOld @param {T[]} fresh @param {(i: number) => boolean} hasFresh @returns {T[]} */
  listOf(old, hasOld, fresh, hasFresh) {
    /** @type {T[]} */
    const found = [];
    let o = 0, f = 0;
    for (const from of this.from) {
      if (from < 0) {
        if (hasFresh(~from)) found.push(fresh[f++]);
      } else if (hasOld(from)) {
        found.push(old[o++]);
      }
    }
    return found;
  }
}

// Numbers: arrays of them are searched, get longer, and new ones are put among them.

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

/** Numbers with more after them; those that are there are copied only now and then.
 * @template {Float64Array|Int32Array} T @param {T} numbers Not to be used any more. @param {T} more @returns {T} */
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

/** Where new items come to stand among old ones, which keep their order. */
export class Insertion {
  /** @param {number} old @param {number} count How many are new. @param {Int32Array|null} places Of the new ones, ascending; null: after the old. */
  constructor(old, count, places) {
    this.length = old + count;
    /** The place of each old item. */
    this.moved = new Int32Array(old);
    /** Of each place the index of its item: old ones from 0, new ones from -1 down. */
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

  /** Both together. @template {Float64Array|Int32Array} T @param {T} old @param {T} fresh @returns {T} */
  of(old, fresh) {
    if (!old.length) return fresh;
    const { from } = this, found = /** @type {T} */ (new /** @type {any} */ (old.constructor)(from.length));
    for (let i = 0; i < from.length; i++) found[i] = from[i] < 0 ? fresh[~from[i]] : old[from[i]];
    return found;
  }

  /** Both lists together. @template T @param {T[]} old @param {T[]} fresh @returns {T[]} */
  ofList(old, fresh) {
    return Array.from(this.from, (from) => (from < 0 ? fresh[~from] : old[from]));
  }

  /** Two lists of something that only some items have.
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

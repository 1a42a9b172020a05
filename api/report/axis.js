// Axis: converts times to pixels. Idle time is compressed, so that a night fits on a screen.

import { zone } from "report/zone.js";

const GAP_PX = 54;
const SHARE_OF_GAPS = 0.4;
const LEAST_SHARE = 0.04;
const LEAST_GAP_MS = 1000;
const LEAST_MARGIN_MS = 60000;

/** @typedef {{start: number, end: number, x0: number, x1: number, idle: boolean}} Piece */

export class Axis {
  /**
   * @param {ArrayLike<number>} times Times of all records, ascending.
   * @param {number} begin @param {number} end Begin and end of the view, ms since 1970.
   * @param {number} width In pixels.
   */
  constructor(times, begin, end, width) {
    this.begin = begin;
    this.end = Math.max(end, begin + 1);
    this.width = width;
    this.pieces = this._pieces(this._idle(times));
  }

  /** A range with a margin, so that its first and last moment can be seen.
   * @param {ArrayLike<number>} times @param {number} begin @param {number} end @returns {[number, number]} */
  static withMargin(times, begin, end) {
    const most = (end - begin) * 0.004, margin = marginOf(gapsOf(times, begin, end), end - begin) / 4;
    const used = Math.max(Math.min(most, margin), 1);
    return [begin - used, end + used];
  }

  /** The largest gaps without records, in order of time. @param {ArrayLike<number>} times */
  _idle(times) {
    const gaps = gapsOf(times, this.begin, this.end);
    const most = Math.floor((this.width * SHARE_OF_GAPS) / GAP_PX);
    gaps.sort((a, b) => (b[1] - b[0]) - (a[1] - a[0]));
    return gaps.slice(0, most).sort((a, b) => a[0] - b[0]);
  }

  /** @param {[number, number][]} idle @returns {Piece[]} */
  _pieces(idle) {
    const total = this.end - this.begin;
    // A gap keeps a margin at both ends, so that the records next to it can be seen.
    const margin = Math.min(...idle.map(([a, b]) => (b - a) / 10), marginOf(idle, total));
    const cuts = idle.map(([a, b]) => [a + margin, b - margin]);
    const busy = total - cuts.reduce((sum, [a, b]) => sum + (b - a), 0);
    const scale = (this.width - cuts.length * GAP_PX) / Math.max(busy, 1);
    /** @type {Piece[]} */
    const pieces = [];
    let at = this.begin, x = 0;
    const push = (/** @type {number} */ end, /** @type {boolean} */ isIdle) => {
      const x1 = x + (isIdle ? GAP_PX : (end - at) * scale);
      pieces.push({ start: at, end, x0: x, x1, idle: isIdle });
      at = end;
      x = x1;
    };
    for (const [a, b] of cuts) {
      if (a > at) push(a, false);
      push(b, true);
    }
    if (at < this.end) push(this.end, false);
    return pieces;
  }

  /** The x position of a time, in pixels. @param {number} time */
  x(time) {
    if (time <= this.begin) return 0;
    if (time >= this.end) return this.width;
    let low = 0, high = this.pieces.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle].end < time) low = middle + 1;
      else high = middle;
    }
    const piece = this.pieces[low];
    return piece.x0 + ((time - piece.start) / (piece.end - piece.start)) * (piece.x1 - piece.x0);
  }

  /** The time at an x position. @param {number} x */
  time(x) {
    const piece = this.pieces.find((p) => x <= p.x1) ?? this.pieces[this.pieces.length - 1];
    const share = Math.min(1, Math.max(0, (x - piece.x0) / (piece.x1 - piece.x0)));
    return piece.start + share * (piece.end - piece.start);
  }

  /** Round times for the axis labels. @param {number} apart Minimum distance in pixels. */
  ticks(apart) {
    /** @type {number[]} */
    const found = [];
    let free = 0;
    for (const piece of this.pieces) {
      if (piece.idle || piece.x1 - piece.x0 < apart / 2) continue;
      const perPixel = (piece.end - piece.start) / (piece.x1 - piece.x0);
      const step = STEPS_MS.find((s) => s >= perPixel * apart) ?? STEPS_MS[STEPS_MS.length - 1];
      const ahead = zone.ahead(piece.start);
      for (let t = Math.ceil((piece.start + ahead) / step) * step - ahead; t <= piece.end; t += step) {
        const x = this.x(t);
        if (x < free || x + apart / 2 > this.width) continue;
        found.push(t);
        free = x + apart;
      }
    }
    return found;
  }
}

/** The gaps that may be compressed.
 * @param {ArrayLike<number>} times @param {number} begin @param {number} end */
function gapsOf(times, begin, end) {
  /** @type {[number, number][]} */
  const gaps = [];
  const least = Math.max(LEAST_GAP_MS, (end - begin) * LEAST_SHARE);
  let last = begin;
  for (let i = 0; i <= times.length; i++) {
    const time = i < times.length ? times[i] : end;
    if (time < last) continue;
    if (Math.min(time, end) - last > least) gaps.push([last, Math.min(time, end)]);
    if (time >= end) break;
    last = time;
  }
  return gaps;
}

/** The margin kept at the ends of each gap, in ms: a small share of a year between two busy hours.
 * @param {[number, number][]} gaps @param {number} total */
function marginOf(gaps, total) {
  const busy = total - gaps.reduce((sum, [a, b]) => sum + (b - a), 0);
  return Math.min(total / 100, Math.max(busy / 10, LEAST_MARGIN_MS));
}

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500,
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY,
];

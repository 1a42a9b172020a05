// Shared time: one axis, one view and one selected time for the pictures of several logs.

import { Axis } from "report/axis.js";
import { above } from "report/numbers.js";

/** @typedef {import("report/picture.js").Picture} Picture */

/**
 * Looks like a picture and a selection whose offsets are times: what steps and plays one log, does so with several.
 */
export class SharedTime {
  // The times of all changes in all logs, ascending; they are their own offsets.
  times = new Float64Array();
  from = -Infinity;
  to = Infinity;
  isGrowing = false;
  /** @type {(() => void)[]} */
  _watchers = [];
  _isSpread = false;

  /** @param {Picture[]} pictures */
  constructor(pictures) {
    this.pictures = pictures;
    this.plot = pictures[0].plot;
    for (const picture of pictures) {
      picture.whole = () => this.whole();
      picture.selection.watch(() => { if (!this._isSpread) this.set(this._timesOf(picture)); });
    }
    this.renew();
    this.zoom(true);
  }

  get offsets() { return this.times; }

  get axis() { return this.pictures[0].axis; }

  /** Take the times of pictures that have newer data. */
  renew() {
    const length = this.pictures.reduce((sum, { times }) => sum + times.length, 0), all = new Float64Array(length);
    let at = 0;
    for (const { times } of this.pictures) {
      all.set(times, at);
      at += times.length;
    }
    this.times = all.sort();
    for (const picture of this.pictures) picture.moments = this.times;
    if (this.pictures[0].isWhole) this.zoom(true);
  }

  /** @returns {[number, number]} */
  whole() { return Axis.withMargin(this.times, this.times[0] ?? 0, this.times[this.times.length - 1] ?? 1); }

  /** Show the selected time, or the whole, in all pictures. @param {boolean} all */
  zoom(all) {
    const begin = Math.max(this.from, this.times[0]), end = Math.min(this.to, this.times[this.times.length - 1]), margin = Math.max((end - begin) * 0.08, 20);
    const view = all ? this.whole() : [begin - margin, end + margin];
    for (const picture of this.pictures) {
      picture.isWhole = all;
      [picture.viewBegin, picture.viewEnd] = view;
      picture.redraw();
    }
  }

  /** @param {() => void} watcher */
  watch(watcher) { this._watchers.push(watcher); }

  /** Select a time in all logs. @param {{from: number, to: number}} time */
  set({ from, to }) {
    this._isSpread = true;
    [this.from, this.to] = [from, to];
    for (const { selection, ...rest } of this.pictures.map((picture) => ({ selection: picture.selection, picture }))) {
      const { picture } = rest;
      picture.span = [from, to];
      const first = above(picture.times, from - 0.001), last = above(picture.times, to) - 1;
      const end = picture.offsets[last] ?? selection.first - 1;
      // Where nothing happened then, the range is empty, after the last change before it.
      [selection.from, selection.to] = first <= last ? [picture.offsets[first], end] : [end + 1, end];
      selection.tell();
    }
    this._isSpread = false;
    for (const watcher of this._watchers) watcher();
  }

  /** @param {number} time */
  timeAt(time) { return time; }

  /** The first and last change between two times. @param {number} begin @param {number} end */
  offsetsIn(begin, end) {
    const first = above(this.times, begin - 0.001), last = above(this.times, end) - 1, lowest = this.times[Math.min(first, this.times.length - 1)];
    return { from: lowest, to: last < first ? lowest : this.times[last] };
  }

  /** Select the previous or next change in any log. @param {number} by */
  step(by) {
    const time = this.times[by > 0 ? above(this.times, this.to) : above(this.times, this.from - 0.001) - 1];
    if (time === undefined) return;
    this.set({ from: time, to: time });
    const { begin, end } = this.axis;
    if (time >= begin && time <= end) return;
    for (const picture of this.pictures) {
      [picture.viewBegin, picture.viewEnd] = [time - (end - begin) / 2, time + (end - begin) / 2];
      picture.redraw();
    }
  }

  _timesOf(/** @type {Picture} */ picture) {
    const { selection } = picture;
    return { from: picture.timeAt(selection.from), to: picture.timeAt(selection.to) };
  }
}

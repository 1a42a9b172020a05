// Play: runs the time that is shown in a minute, and selects the records of each step.

import { make } from "report/dom.js";
import { above } from "report/numbers.js";

/** The whole width takes a minute. */
const WHOLE_MS = 60_000;

const STEP_MS = 100;

/** For readers who asked for less motion: the same minute in few steps. */
const CALM_STEP_MS = 1000;

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Player {
  button = make("button", { type: "button", "aria-pressed": "false", "aria-keyshortcuts": "Space", title: "run the time that is shown in a minute (space)", onclick: () => this.toggle() }, "play");
  head = make("div", { class: "playhead", "aria-hidden": "true", hidden: true });
  isPlaying = false;
  /** Where it is, as a share of the width. */
  share = 0;
  /** The index of the first change that was not selected. */
  next = 0;
  _timer = 0;
  _isStep = false;

  /** @param {import("report/picture.js").Picture} picture @param {import("report/selection.js").Selection} selection @param {(isPlaying: boolean) => void} tell */
  constructor(picture, selection, tell) {
    this.picture = picture;
    this.selection = selection;
    this.tell = tell;
    picture.plot.append(this.head);
    selection.watch(() => { if (!this._isStep && !selection.isGrowing) this.stop(); });
  }

  toggle() {
    if (this.isPlaying) this.stop();
    else this.play();
  }

  /** Run on from the selection if that is one moment within the view, else from the start. */
  play() {
    const { picture, selection } = this, { axis } = picture, time = picture.timeAt(selection.to);
    const isMoment = picture.timeAt(selection.from) === time && time > axis.begin && time < axis.time(axis.width - 1);
    this.share = isMoment ? axis.x(time) / axis.width : 0;
    this.next = above(picture.times, isMoment ? time : axis.begin - 1);
    this._set(true);
    this._next(performance.now());
  }

  stop() {
    if (!this.isPlaying) return;
    window.clearTimeout(this._timer);
    this._set(false);
  }

  _set(/** @type {boolean} */ isPlaying) {
    this.isPlaying = isPlaying;
    this.button.setAttribute("aria-pressed", String(isPlaying));
    this.button.textContent = isPlaying ? "pause" : "play";
    this.head.hidden = !isPlaying;
    this._place();
    this.tell(isPlaying);
  }

  _next(/** @type {number} */ begun) {
    this._timer = window.setTimeout(() => {
      const now = performance.now();
      this._step((now - begun) / WHOLE_MS);
      if (this.share >= 1) this.stop();
      else this._next(now);
    }, calm.matches ? CALM_STEP_MS : STEP_MS);
  }

  /** Select what happened in a share of the width. */
  _step(/** @type {number} */ by) {
    const { picture, selection } = this, { axis, times, offsets } = picture;
    this.share = Math.min(1, this.share + by);
    this._place();
    const end = above(times, axis.time(this.share * axis.width));
    if (end <= this.next) return;
    const from = offsets[this.next], to = offsets[end - 1];
    this.next = end;
    this._isStep = true;
    selection.set({ from, to });
    this._isStep = false;
  }

  _place() { this.head.style.left = `${this.share * this.picture.axis.width}px`; }
}

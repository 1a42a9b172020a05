// The pointer over the picture: hover names what is under it, a click picks it, a drag selects a range.

import { make } from "report/dom.js";
import { above } from "report/numbers.js";
import { redAt, rowAt, textsAt } from "report/under.js";

const DRAG_PX = 3, TIP_PX = 14;

export class Pointer {
  // What it says is in the list and in the answers, too.
  tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });

  /** @param {import("report/picture.js").Picture} picture */
  constructor(picture) {
    this.picture = picture;
    picture.plot.append(this.tip);
    this._listen();
  }

  _listen() {
    const { plot } = this.picture;
    /** @type {number|null} */
    let begun = null;
    const place = (/** @type {PointerEvent} */ event) => {
      const { left, top } = plot.getBoundingClientRect();
      return { x: event.clientX - left, y: event.clientY - top };
    };
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begun = place(event).x;
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      const { x, y } = place(event);
      if (begun === null) this._hover(x, y);
      else if (Math.abs(x - begun) >= DRAG_PX) this._select(begun, x);
    });
    plot.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const { x, y } = place(event);
      if (Math.abs(x - begun) < DRAG_PX) this._pick(x, y);
      begun = null;
    });
    plot.addEventListener("pointercancel", () => { begun = null; });
    plot.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    plot.addEventListener("dblclick", () => this.picture.zoom(!this.picture.isWhole));
  }

  _hover(/** @type {number} */ x, /** @type {number} */ y) {
    const { tip, picture } = this, texts = textsAt(picture, x, y), { width } = picture.axis;
    tip.hidden = !texts.length;
    tip.replaceChildren(...texts.map((text) => make("div", {}, text)));
    const isRight = x > width / 2;
    Object.assign(tip.style, {
      left: isRight ? "" : `${x + TIP_PX}px`, right: isRight ? `${width - x + TIP_PX}px` : "",
      top: `${Math.max(0, Math.min(y + TIP_PX, picture.plot.clientHeight - tip.offsetHeight))}px`,
      maxWidth: `${Math.max(120, (isRight ? x : width - x) - 2 * TIP_PX)}px`,
    });
  }

  _select(/** @type {number} */ a, /** @type {number} */ b) {
    const { axis, selection } = this.picture;
    this.tip.hidden = true;
    selection.set(this.picture.offsetsIn(axis.time(Math.min(a, b)), axis.time(Math.max(a, b))));
  }

  /** A click on a bad state shows its outage; any other selects the nearest change, and the row's object. */
  _pick(/** @type {number} */ x, /** @type {number} */ y) {
    const { picture } = this, { axis, times } = picture;
    const red = redAt(picture, x, y);
    if (red !== null && picture.onRed) {
      picture.onRed(red);
      return;
    }
    const index = above(times, axis.time(x));
    const near = [index - 1, index].filter((i) => i >= 0 && i < times.length)
      .sort((a, b) => Math.abs(axis.x(times[a]) - x) - Math.abs(axis.x(times[b]) - x))[0];
    const row = rowAt(picture, y);
    const range = near === undefined ? {} : picture.offsetsIn(times[near], times[near]);
    picture.selection.set({ ...range, ...(row ? { object: picture.named(row) } : {}) });
  }
}

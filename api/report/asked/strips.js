// Strips: rows below the picture's time axis, for what was asked: where an expression holds, the second future.

import { fitted, Paint, ROW_PX } from "report/bars.js";
import { make } from "report/dom.js";
import { plain } from "report/words.js";

/**
 * A row below the axis.
 * @typedef {object} Strip
 * @property {string} label
 * @property {string} title What the row is, in words.
 * @property {(context: CanvasRenderingContext2D, paint: Paint, axis: import("report/axis.js").Axis, y: number) => void} draw
 * @property {(time: number) => string[]} textsAt What is at a time, as lines.
 * @property {number} end After this time nothing was asked.
 * @property {(() => void)|null} [pick] Called when the label is pressed.
 */

export class Strips {
  names = make("div", { class: "strip-names", role: "group", "aria-label": "rows: what was asked" });
  canvas = make("canvas", { class: "strips", role: "img", "aria-label": "What was asked, over time; the answer below says it in words" });
  /** By owner, in the order in which they were first shown. @type {Map<string, {strips: Strip[], more: Node|null}>} */
  _groups = new Map();

  /** @param {import("report/picture.js").Picture} picture */
  constructor(picture) {
    this.picture = picture;
  }

  /** Show rows in place of those that their owner had. @param {string} owner @param {Strip[]} strips @param {Node|null} more A further element below the last name. */
  set(owner, strips, more = null) {
    if (strips.length) this._groups.set(owner, { strips, more });
    else this._groups.delete(owner);
    const groups = [...this._groups.values()];
    this.shown = groups.flatMap((group) => [...group.strips, ...(group.more ? [null] : [])]);
    this.names.replaceChildren(...groups.flatMap((group) => [...group.strips.map(nameOf), ...(group.more ? [make("div", { class: "name" }, /** @type {any} */ (group.more))] : [])]));
    if (this.shown.length) {
      this.picture.canvas.after(this.canvas);
      this.picture.corner.after(this.names);
    } else {
      this.canvas.remove();
      this.names.remove();
    }
    this.picture.plot.style.setProperty("--strips", `${this.height}px`);
    this.draw();
  }

  /** @type {(Strip|null)[]} */
  shown = [];

  get height() { return this.shown.length * ROW_PX; }

  draw() {
    const { axis } = this.picture;
    if (!this.shown.length || axis.width < 2) return;
    const context = fitted(this.canvas, axis.width, this.height), paint = new Paint(context, this.canvas);
    context.font = `11px ${paint.color("font")}`;
    this.shown.forEach((strip, i) => {
      if (!strip) return;
      const x = axis.x(strip.end);
      strip.draw(context, paint, axis, i * ROW_PX);
      context.fillStyle = paint.unknown;
      if (strip.end < axis.end) context.clearRect(x, i * ROW_PX, axis.width - x, ROW_PX);
      if (strip.end < axis.end) context.fillRect(x, i * ROW_PX, axis.width - x, ROW_PX);
    });
  }

  /** What is under the pointer, as lines. @param {number} x @param {number} y From the top of the plot. @returns {string[]} */
  textsAt(x, y) {
    const { picture } = this, strip = this.shown[Math.floor((y - picture.canvas.clientHeight) / ROW_PX)];
    if (!strip) return [];
    const time = picture.axis.time(x);
    return [strip.title, ...(time > strip.end ? ["not asked"] : strip.textsAt(time))].map(plain);
  }
}

function nameOf(/** @type {Strip} */ { label, title, pick }) {
  const text = plain(label), shown = pick ? make("button", { type: "button", class: "pick", onclick: pick }, text) : make("span", { class: "pick" }, text);
  return make("div", { class: "name", title: plain(title) }, shown);
}


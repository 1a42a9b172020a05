// Flips: where an expression has which value, as a row below the axis and in words.

import { ROW_PX } from "report/bars.js";
import { clockText, countText, timeText, valueText } from "report/words.js";

/** @typedef {{offset: number, time: number, value: any, cause: number, type: string, principal: string|null, reason: string|null}} Flip */
/** The answer of `metalog bisect`. @typedef {{first: number|null, before: any, flips: Flip[]}} Flips */
/** A time with one value; the first begins before all times, and the last one does not end.
 * @typedef {{begin: number, end: number, value: any}} Piece */

const PAD_PX = 4;

/** True if an expression with this value holds. @param {any} value */
export const holds = (value) => value !== null && value !== false;

/** The row of an expression.
 * @param {string} expression @param {Flips} flips @param {(offset: number) => number} timeAt The place of an offset on the axis. @param {number} end After this time nothing was asked.
 * @returns {import("asked/strips.js").Strip} */
export function flipStrip(expression, flips, timeAt, end) {
  const pieces = piecesOf(flips, timeAt, end);
  return {
    label: expression,
    title: expression,
    end,
    draw(context, paint, axis, y) {
      const [height, top] = [ROW_PX - 10, y + 5];
      pieces.forEach(({ begin, end: until, value }, i) => {
        if (until < axis.begin || begin > axis.end) return;
        const x0 = axis.x(begin), x1 = Math.max(axis.x(until), x0 + 1), isTrue = holds(value);
        // The height tells true from false, too.
        const full = isTrue ? height : height / 3;
        context.fillStyle = isTrue ? paint.color(i % 2 && value !== true ? "fenced" : "accent") : paint.healthy;
        context.fillRect(x0, top + (height - full) / 2, x1 - x0, full);
        const text = valueText(value);
        if (value === true || !isTrue || context.measureText(text).width + 2 * PAD_PX > x1 - x0) return;
        context.fillStyle = paint.color("panel");
        context.fillText(text, x0 + PAD_PX, top + height - 2);
      });
    },
    textsAt(time) {
      const piece = pieces.find(({ begin, end: until }) => time >= begin && time < until) ?? pieces[pieces.length - 1];
      return [`${valueText(piece.value)} ${Number.isFinite(piece.begin) ? `from ${clockText(piece.begin)}` : "from the start"}`];
    },
  };
}

/** @returns {Piece[]} */
function piecesOf(/** @type {Flips} */ { before, flips }, /** @type {(offset: number) => number} */ timeAt, /** @type {number} */ end) {
  const starts = [-Infinity, ...flips.map(({ offset }) => timeAt(offset))], values = [before, ...flips.map(({ value }) => value)];
  return starts.map((begin, i) => ({ begin, end: starts[i + 1] ?? end, value: values[i] }));
}

/** The answer in a sentence; the first change is named. @param {Flips} found @param {number} from @param {number} to */
export function flipsText({ first, before, flips }, from, to) {
  if (!flips.length) return first === null ? `It holds nowhere from ${from} to ${to}.` : `It is ${valueText(before)} all the time from ${from} to ${to}.`;
  const [flip] = flips, by = flip.principal === null ? "" : ` by ${flip.principal}`, reason = flip.reason === null ? "" : ` (${flip.reason})`;
  const changes = flips.length === 1 ? "It changes once" : `It changes ${countText(flips.length, "time")}`;
  const held = first === null ? "it holds nowhere" : `it holds first at offset ${first}`;
  return `${changes}; ${held}. First change: ${valueText(before)} to ${valueText(flip.value)} at ${timeText(flip.time)}, offset ${flip.offset}, by ${flip.type} at ${flip.cause}${by}${reason}.`;
}


// The controllers' terms: a band coloured by node, with gaps in which no controller wrote.

import { clockText, durationText } from "report/words.js";

/** A term: begin and end of its records, and the begin of the next one if none was active in between.
 * @typedef {{epoch: number, node: number|null, begin: number, end: number, next: number|null}} Term */

export const COLORS = 6;

/** An active controller writes at least this often, unless the log shows longer pauses. */
const QUIET_MS = 5000;

/** @param {any[][]} terms As in the header: offset, time, epoch, node, time of the last record, longest pause.
 * @param {import("report/gaps.js").Gap[]} [missing] What was not recorded. @returns {Term[]} */
export function termsOf(terms, missing = []) {
  const pause = Math.max(QUIET_MS, ...terms.map((term) => 3 * term[5]));
  return terms.map(([offset, begin, epoch, node, last], i) => {
    const [after, next] = i + 1 < terms.length ? terms[i + 1] : [offset, null];
    const isCut = missing.some(({ to }) => offset < to && to <= after), isGap = next !== null && next - last > pause;
    return { epoch, node, begin, end: next === null || isGap || isCut ? Math.max(begin, last) : next, next: isGap && !isCut ? next : null };
  });
}

/** A gap in words. @param {Term} term */
export function gapText({ end, next }) {
  const until = /** @type {number} */ (next), short = (/** @type {string} */ text) => text.replace(/\.\d+$/, "");
  return `no controller ${short(clockText(end))} to ${short(clockText(until, end))}`;
}

/** The term or the gap at a time, in words; null before the first one. @param {Term[]} terms @param {number} time */
export function termText(terms, time) {
  const term = terms.findLast(({ begin }) => begin <= time);
  if (!term) return null;
  if (term.next !== null && time > term.end) return `${gapText(term)} (${durationText(term.next - term.end)}): nothing was written`;
  const node = term.node === null ? "a controller that is not known" : `node ${term.node}`;
  return `${node} was the controller, epoch ${term.epoch}: ${clockText(term.begin)} to ${clockText(term.end, term.begin)} (${durationText(term.end - term.begin)})`;
}

/** @param {CanvasRenderingContext2D} context @param {import("report/bars.js").Paint} paint
 * @param {{axis: import("report/axis.js").Axis, terms: Term[]}} scene @param {number} y @param {number} height */
export function drawTerms(context, paint, { axis, terms }, y, height) {
  const nodes = [...new Set(terms.map(({ node }) => node))].filter((node) => node !== null).sort((a, b) => a - b);
  let free = -1;
  const write = (/** @type {number} */ x0, /** @type {number} */ x1, /** @type {string[]} */ texts, /** @type {string} */ color) => {
    const shown = texts.find((text) => context.measureText(text).width + 8 < x1 - x0);
    if (!shown || x0 < free) return;
    context.fillStyle = paint.color(color);
    context.fillText(shown, x0 + 5, y + height - 4);
    free = x0 + context.measureText(shown).width;
  };
  terms.forEach((term, i) => {
    const { node, epoch, begin, end, next } = term, isLast = i === terms.length - 1;
    if ((next ?? end) < axis.begin && !isLast || begin > axis.end) return;
    const x0 = i ? axis.x(begin) : 0, x1 = isLast ? axis.width : axis.x(end);
    context.fillStyle = paint.color(node === null ? "healthy" : `node-${nodes.indexOf(node) % COLORS}`);
    context.fillRect(x0, y, Math.max(1, x1 - x0), height);
    context.fillStyle = paint.color("muted");
    if (i) context.fillRect(x0, y - 1, 1, height + 2);
    write(x0, x1, node === null ? [`epoch ${epoch}`, `${epoch}`] : [`node ${node} · epoch ${epoch}`, `node ${node}`, `${node}`], "ink");
    if (next === null) return;
    const x2 = axis.x(next);
    context.fillStyle = paint.color("muted");
    context.fillRect(x1, y + height - 1, Math.max(1, x2 - x1), 1);
    write(x1, x2, [gapText(term), "no controller", "none"], "muted");
  });
}

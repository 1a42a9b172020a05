// Bars: draws the picture on one canvas. The names beside it are HTML.

import { FENCED, LEADERLESS, SHUTTING_DOWN, UNDER_REPLICATED } from "report/data.js";
import { drawMarks } from "report/marks.js";
import { above } from "report/numbers.js";
import { ABSENT, ORDERED, worst } from "report/states.js";
import { drawTerms } from "report/terms.js";
import { clockText, dayText, durationText } from "report/words.js";

export const ROW_PX = 22, HEALTH_PX = 46, TERMS_PX = 24, AXIS_PX = 40;
export const TOP_PX = HEALTH_PX + TERMS_PX;

/** The states, each with its name, what it means, and its colour. @type {[number, string, string, string][]} */
export const LEGEND = [
  [LEADERLESS, "leaderless", "no leader: neither reads nor writes", "leaderless"],
  [ORDERED, "planned stop", "leaderless, because brokers were shut down in order", "leaderless"],
  [UNDER_REPLICATED, "under-replicated", "a replica is not in sync", "under-replicated"],
  [FENCED, "fenced", "the broker is out of service", "fenced"],
  [SHUTTING_DOWN, "shutting down", "the broker hands over its leads", "shutting-down"],
];

/** The colours of the style sheet, with patterns that tell states apart without colour vision. */
export class Paint {
  /** @param {CanvasRenderingContext2D} context @param {Element} element */
  constructor(context, element) {
    const style = getComputedStyle(element);
    this.color = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
    this.healthy = this.color("healthy");
    /** @type {Map<number, CanvasPattern|string>} */
    this.fills = new Map();
    for (const [bit, , , color] of LEGEND) this.fills.set(bit, pattern(context, bit, this.color(color), this.color("ground")));
    this.unknown = pattern(context, ABSENT, this.color("line"), this.color("ground"));
  }
}

/** @param {CanvasRenderingContext2D} context @param {number} bit @param {string} color @param {string} ground */
function pattern(context, bit, color, ground) {
  const size = 6, scale = 2;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size * scale;
  const on = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  on.scale(scale, scale);
  const isPale = bit === ABSENT || bit === ORDERED;
  if (bit !== ABSENT) {
    on.fillStyle = isPale ? ground : color;
    on.fillRect(0, 0, size, size);
  }
  on.strokeStyle = on.fillStyle = isPale ? color : ground;
  on.lineWidth = 1.2;
  const line = (/** @type {number[][]} */ ...points) => {
    on.beginPath();
    for (const [x0, y0, x1, y1] of points) { on.moveTo(x0, y0); on.lineTo(x1, y1); }
    on.stroke();
  };
  if (bit === ORDERED) line([-1, -1, 7, 7], [-1, 5, 1, 7], [5, -1, 7, 1]);
  if (bit === UNDER_REPLICATED) line([-1, 7, 7, -1], [-1, 1, 1, -1], [5, 7, 7, 5]);
  if (bit === FENCED) line([3, 0, 3, 6]);
  if (bit === SHUTTING_DOWN) { on.beginPath(); on.arc(3, 3, 1.2, 0, 7); on.fill(); }
  if (bit === ABSENT) { on.lineWidth = 0.8; line([-1, -1, 7, 7], [-1, 5, 1, 7], [5, -1, 7, 1]); }
  const found = /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
  found.setTransform(new DOMMatrix().scale(1 / scale));
  return found;
}

/** The swatches of the legend, by state bit; of ABSENT the hatching of what is unknown. @param {Element} element @returns {Map<number, HTMLCanvasElement>} */
export function swatches(element) {
  /** @type {Paint|null} */
  let paint = null;
  return new Map([...LEGEND.map(([bit]) => bit), ABSENT].map((bit) => {
    const canvas = document.createElement("canvas");
    canvas.width = 44;
    canvas.height = 24;
    canvas.setAttribute("aria-hidden", "true");
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    paint ??= new Paint(context, element);
    context.scale(2, 2);
    context.fillStyle = paint.fills.get(bit) ?? paint.unknown;
    context.fillRect(0, 0, 22, 12);
    return [bit, canvas];
  }));
}

/**
 * @typedef {object} Scene
 * @property {import("report/axis.js").Axis} axis
 * @property {import("report/states.js").Row[]} rows
 * @property {(row: import("report/states.js").Row) => import("report/states.js").Steps} stepsOf
 * @property {ReturnType<import("report/states.js").States["health"]>} health
 * @property {import("report/terms.js").Term[]} terms
 * @property {(row: import("report/states.js").Row) => import("report/marks.js").Mark[]} marksOf
 * @property {number} historyTime Before this time the state is unknown.
 * @property {number|null} unconfirmedTime From this time on, records may still be replaced.
 * @property {import("report/gaps.js").Gap[]} missing What was not recorded.
 * @property {number[]} wentBack Times at which clocks went back.
 * @property {number} scroll How far the rows are scrolled, in pixels.
 * @property {number} height Height of the canvas, in pixels.
 */

/** An empty canvas of a size in pixels of the page. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function fitted(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  return context;
}

/** @param {HTMLCanvasElement} canvas @param {Scene} scene */
export function draw(canvas, scene) {
  const { width } = scene.axis, context = fitted(canvas, width, scene.height);
  const paint = new Paint(context, canvas);
  context.font = `11px ${paint.color("font")}`;
  const bottom = scene.height - AXIS_PX;
  drawGaps(context, paint, scene, bottom);
  drawUnknown(context, paint, scene, bottom);
  context.save();
  context.beginPath();
  context.rect(0, TOP_PX, width, bottom - TOP_PX);
  context.clip();
  scene.rows.forEach((row, i) => {
    const y = TOP_PX + i * ROW_PX - scene.scroll;
    if (y > TOP_PX - ROW_PX && y < bottom) drawRow(context, paint, scene, row, y);
  });
  context.restore();
  drawHealth(context, paint, scene);
  drawTerms(context, paint, scene, HEALTH_PX + 3, TERMS_PX - 8);
  drawMissing(context, paint, scene, bottom);
  drawAxis(context, paint, scene, bottom);
}

/** @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {import("report/states.js").Row} row @param {number} y */
function drawRow(context, paint, scene, row, y) {
  const steps = scene.stepsOf(row), { bits, share } = widened(pixels(steps, scene.axis));
  const top = y + 5, height = ROW_PX - 10;
  for (let x = 0; x < bits.length;) {
    let end = x + 1;
    while (end < bits.length && bits[end] === bits[x] && share[end] === share[x]) end++;
    const bit = bits[x];
    if (bit === ABSENT) {
      context.fillStyle = paint.color("line");
      for (let dot = x - (x % 6); dot < end; dot += 6) if (dot >= x) context.fillRect(dot, top + height / 2, 2, 1);
    } else {
      context.fillStyle = paint.healthy;
      const thin = row.kind === "broker" ? height : height / 3;
      context.fillRect(x, top + (height - thin) / 2, end - x, thin);
      if (bit) {
        // A topic's bar is as high as the share of its partitions in an outage, but always visible.
        const full = row.kind === "topic" ? Math.max(height * Math.sqrt(share[x]), height * 0.45) : height;
        context.fillStyle = paint.fills.get(bit) ?? "";
        context.fillRect(x, top + (height - full) / 2, end - x, full);
      }
    }
    x = end;
  }
  drawMarks(context, paint, scene.axis, scene.marksOf(row), y, ROW_PX);
}

/** The worst state in each pixel, so that an outage of one millisecond is still visible.
 * @param {import("report/states.js").Steps} steps @param {import("report/axis.js").Axis} axis */
export function pixels(steps, axis) {
  const width = Math.max(1, Math.ceil(axis.width));
  const bits = new Uint8Array(width).fill(255), share = new Float32Array(width);
  const rank = (/** @type {number} */ bit) => RANKS.get(bit) ?? 0;
  let i = Math.max(0, above(steps.time, axis.begin) - 1);
  if (!steps.time.length || steps.time[0] > axis.begin) bits.fill(ABSENT, 0, Math.floor(axis.x(steps.time[0] ?? axis.end)));
  for (; i < steps.time.length && steps.time[i] <= axis.end; i++) {
    const from = Math.floor(axis.x(steps.time[i]));
    const to = Math.max(from + 1, Math.floor(axis.x(steps.time[i + 1] ?? axis.end)));
    const bit = shownAs(steps.bits[i]);
    for (let x = from; x < to && x < width; x++) {
      if (bits[x] === 255 || rank(bit) > rank(bits[x])) {
        bits[x] = bit;
        share[x] = steps.share[i];
      } else if (bit === bits[x]) share[x] = Math.max(share[x], steps.share[i]);
    }
  }
  for (let x = 0; x < width; x++) if (bits[x] === 255) bits[x] = x ? bits[x - 1] : ABSENT;
  return { bits, share };
}

/** The state as which bits are drawn. */
function shownAs(/** @type {number} */ bits) {
  const bit = worst(bits);
  return bit === LEADERLESS && bits & ORDERED ? ORDERED : bit;
}

/** An alarm is at least this wide: so many pixels before it, and after its first one. */
const ALARM_BEFORE_PX = 1, ALARM_AFTER_PX = 2;

/** The states of pixels, with narrow alarms made wider. @param {{bits: Uint8Array, share: Float32Array}} drawn */
function widened({ bits, share }) {
  const found = { bits: bits.slice(), share: share.slice() };
  for (let x = 0; x < bits.length; x++) {
    if (bits[x] !== LEADERLESS || bits[x - 1] === LEADERLESS) continue;
    for (let near = Math.max(0, x - ALARM_BEFORE_PX); near <= x + ALARM_AFTER_PX && near < bits.length; near++) {
      if (bits[near] === LEADERLESS) continue;
      found.bits[near] = LEADERLESS;
      found.share[near] = share[x];
    }
  }
  return found;
}

/** How bad each state is. */
export const RANKS = new Map([[ABSENT, 0], [0, 1], [UNDER_REPLICATED, 2], [SHUTTING_DOWN, 3], [FENCED, 4], [ORDERED, 4.5], [LEADERLESS, 5]]);

/** @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene */
function drawHealth(context, paint, scene) {
  const { axis, health } = scene, base = HEALTH_PX - 6, height = base - 8;
  const most = Math.max(1, ...sampledMaxima(health));
  const width = Math.ceil(axis.width);
  const leaderless = new Float64Array(width), down = new Float64Array(width), alarming = new Float64Array(width);
  let i = Math.max(0, above(health.time, axis.begin) - 1);
  for (; i < health.time.length && health.time[i] <= axis.end; i++) {
    const from = Math.floor(axis.x(health.time[i]));
    const to = Math.max(from + 1, Math.floor(axis.x(health.time[i + 1] ?? axis.end)));
    for (let x = from; x < to && x < width; x++) {
      leaderless[x] = Math.max(leaderless[x], health.leaderless[i]);
      alarming[x] = Math.max(alarming[x], health.alarming[i]);
      down[x] = Math.max(down[x], health.down[i]);
    }
  }
  context.fillStyle = paint.healthy;
  context.fillRect(0, base, width, 1);
  const y = (/** @type {number} */ count) => (count ? Math.max(2, height * Math.sqrt(count / most)) : 0);
  for (let x = 0; x < width; x++) {
    const a = y(leaderless[x]), b = y(down[x]);
    if (b > a) { context.fillStyle = paint.fills.get(UNDER_REPLICATED) ?? ""; context.fillRect(x, base - b, 1, b - a); }
    if (a) { context.fillStyle = paint.fills.get(ORDERED) ?? ""; context.fillRect(x, base - a, 1, a); }
  }
  drawAlarms(context, paint, alarming, (count) => y(count), base);
}

/** The least distance between the marks above alarms. */
const ALARM_SIGN_PX = 9;

/** Draw the times without a leader that were not ordered, each wide enough to be seen and with a mark above.
 * @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Float64Array} alarming By pixel. @param {(count: number) => number} height @param {number} base */
function drawAlarms(context, paint, alarming, height, base) {
  context.fillStyle = paint.fills.get(LEADERLESS) ?? "";
  let signed = -Infinity;
  for (let x = 0; x < alarming.length; x++) {
    if (!alarming[x]) continue;
    const top = height(alarming[x]), isFirst = !alarming[x - 1], before = isFirst ? ALARM_BEFORE_PX : 0;
    context.fillRect(x - before, base - top, before + (isFirst ? 1 + ALARM_AFTER_PX : 1), top);
    if (!isFirst || x - signed < ALARM_SIGN_PX) continue;
    signed = x;
    context.fillStyle = paint.color("leaderless");
    context.beginPath();
    for (const [dx, dy] of [[-4, 0], [5, 0], [0.5, 6]]) context.lineTo(x + dx, dy);
    context.fill();
    context.fillStyle = paint.fills.get(LEADERLESS) ?? "";
  }
}

/** The largest number of partitions in an outage at any time, as the only item of an array.
 * @param {{down: number[]}} health */
function sampledMaxima(health) {
  let most = 0;
  for (const count of health.down) most = Math.max(most, count);
  return [most];
}

/** Hatch, behind all rows, the times at which the state is unknown or not final.
 * @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {number} bottom */
function drawUnknown(context, paint, scene, bottom) {
  context.fillStyle = paint.unknown;
  if (scene.historyTime > scene.axis.begin) context.fillRect(0, 0, scene.axis.x(scene.historyTime), bottom);
  if (scene.unconfirmedTime !== null && scene.unconfirmedTime <= scene.axis.end) {
    const x = scene.axis.x(scene.unconfirmedTime);
    context.fillRect(x, 0, scene.axis.width - x, bottom);
  }
}

/** A gap in a recording is seen, however short. */
const MISSING_PX = 4;

/** Hatch, over all rows, the times that were not recorded.
 * @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {number} bottom */
function drawMissing(context, paint, { axis, missing }, bottom) {
  for (const { begin, end } of missing) {
    if (end < axis.begin || begin > axis.end) continue;
    const x = Math.floor(axis.x(begin)) + 1, width = Math.max(MISSING_PX, Math.floor(axis.x(end)) - x);
    for (const fill of [paint.color("ground"), paint.unknown]) {
      context.fillStyle = fill;
      context.fillRect(x, 0, width, bottom);
    }
    context.fillStyle = paint.color("muted");
    if (context.measureText("not recorded").width + 8 < width) context.fillText("not recorded", x + 4, HEALTH_PX - 10);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {number} bottom */
function drawGaps(context, paint, scene, bottom) {
  for (const piece of scene.axis.pieces.filter((p) => p.idle)) {
    context.fillStyle = paint.color("gap");
    context.fillRect(piece.x0, 0, piece.x1 - piece.x0, bottom);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {number} bottom */
function drawAxis(context, paint, scene, bottom) {
  const { axis } = scene;
  context.fillStyle = paint.color("line");
  context.fillRect(0, bottom, axis.width, 1);
  context.textAlign = "left";
  const taken = gapTexts(context, axis);
  let last = "";
  for (const time of axis.ticks(92)) {
    const x = axis.x(time);
    context.fillStyle = paint.color("line");
    context.fillRect(x, bottom, 1, 5);
    const text = clockText(time).replace(/\.000$/, "").replace(/:00$/, "");
    const width = context.measureText(text).width, end = x + Math.max(56, width + 12);
    if (x + 3 + width > axis.width) continue;
    if (taken.some(({ from, to }) => end > from && x < to)) continue;
    context.fillStyle = paint.color("ink");
    context.fillText(text, x + 3, bottom + 15);
    const day = dayText(time);
    if (day !== last) {
      context.fillStyle = paint.color("muted");
      context.fillText(day, Math.min(x + 3, axis.width - context.measureText(day).width), bottom + 30);
      last = day;
    }
  }
  drawGapTexts(context, paint, scene, bottom, last !== "");
  if (last === "") drawEnds(context, paint, axis, bottom);
  for (const time of scene.wentBack) {
    if (time < axis.begin || time > axis.end) continue;
    context.fillStyle = paint.color("leaderless");
    context.fillText("↶", axis.x(time) - 4, bottom - 2);
  }
}

const GAP_TEXT_APART_PX = 4;

/** The lengths of idle times in words, and where they are written: they may be wider than the time is drawn.
 * @param {CanvasRenderingContext2D} context @param {import("report/axis.js").Axis} axis */
function gapTexts(context, axis) {
  return axis.pieces.filter((p) => p.idle).map((piece) => {
    const length = piece.end - piece.start, middle = (piece.x0 + piece.x1) / 2;
    // Seconds are irrelevant for a longer gap.
    const text = `⟨${durationText(length < 120_000 ? length : Math.round(length / 60_000) * 60_000)}⟩`;
    const half = context.measureText(text).width / 2 + GAP_TEXT_APART_PX;
    return { piece, middle, text, from: Math.min(piece.x0, middle - half), to: Math.max(piece.x1, middle + half) };
  });
}

/** @param {CanvasRenderingContext2D} context @param {Paint} paint @param {Scene} scene @param {number} bottom @param {boolean} hasRoom */
function drawGapTexts(context, paint, { axis, missing }, bottom, hasRoom) {
  context.textAlign = "center";
  for (const { piece, middle, text } of gapTexts(context, axis)) {
    context.fillStyle = paint.color("muted");
    context.fillText(text, middle, bottom + 15);
    const isMissing = missing.some(({ begin, end }) => begin < piece.end && end > piece.start);
    if (hasRoom) context.fillText(isMissing ? "gap" : "idle", middle, bottom + 30);
  }
  context.textAlign = "left";
}

/** Draw the time of both ends, because no round time has room between the gaps of a narrow page.
 * @param {CanvasRenderingContext2D} context @param {Paint} paint @param {import("report/axis.js").Axis} axis @param {number} bottom */
function drawEnds(context, paint, axis, bottom) {
  const [begin, end] = [axis.time(0), axis.time(axis.width)].map((time) => Math.round(time));
  const near = dayText(begin) === dayText(end), days = near ? `${dayText(begin)}, ` : "";
  const clocks = [clockText(begin), near ? clockText(end) : clockText(end, begin)].map((text) => text.replace(/\.\d+$/, ""));
  context.fillStyle = paint.color("muted");
  context.fillText(`${days}${clocks.join(" – ")}`, 3, bottom + 30);
}

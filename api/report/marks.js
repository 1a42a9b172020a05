// Marks: what was done to a row's object: created, deleted, reassigned, noted, configured, elected.

import { LEADERLESS } from "report/data.js";
import { isFound } from "report/gaps.js";
import { GONE, NEW } from "report/object_states.js";

/** The signs, the most important first: where several have no room, the first is drawn. Each with its name and what it means. */
export const MARKS = /** @type {const} */ ([
  ["deleted", "×", "deleted", "it was deleted"], ["created", "+", "created", "it was created"],
  ["reassigned", "⇄", "reassignment", "its replicas are to move, or have moved"], ["noted", "✎", "note", "somebody wrote a note about it"],
  ["configured", "◆", "config", "its configs were changed"],
  ["elected", "▲", "leader moved", "another broker leads, and the colour of the bar does not say why: its state stayed the same"],
]);

/** @typedef {typeof MARKS[number][0]} Kind */
/** @typedef {{time: number, row: number, kind: Kind}} Mark */

const PLANS = new Set(["adding_replicas", "removing_replicas", "replicas"]);

export class Marks {
  /** @param {import("report/data.js").Data} data */
  constructor(data) {
    this.data = data;
    /** @type {Map<number, Mark[]>} */
    this._known = new Map();
    const { fields, shapes } = data.header;
    const has = (/** @type {(name: string) => boolean} */ of) => shapes.map((/** @type {[number, number[]]} */ [, set]) => set.some((field) => of(fields[field][1])));
    this._elects = has((name) => name === "leader");
    this._plans = has((name) => PLANS.has(name));
    /** @type {Map<number, number[]>|null} The rows that have a note, by object. */
    this._noted = null;
  }

  /** The marks of a row, in order of time. @param {import("report/states.js").Row} row @returns {Mark[]} */
  of(row) {
    let found = this._known.get(row.object);
    if (found === undefined) {
      // What was found after a gap was done in it, nobody knows when.
      found = [...this._marks(row)].filter((mark) => !isFound(this.data, mark.row)).sort((a, b) => a.row - b.row);
      this._known.set(row.object, found);
    }
    return found;
  }

  /** @returns {Generator<Mark>} */
  *_marks(/** @type {import("report/states.js").Row} */ row) {
    const { data } = this;
    for (const object of row.lives) {
      yield* this._lives(object);
      const parts = row.kind === "topic" ? data.partitionsOf(object) : [object];
      for (const part of parts) {
        if (row.kind !== "broker") yield* this._ofPartition(part);
        for (const at of this.noted.get(part) ?? []) yield this._mark(at, "noted");
      }
      if (row.kind === "topic") for (const at of this.noted.get(object) ?? []) yield this._mark(at, "noted");
    }
    if (row.kind === "partition") return;
    const name = row.kind === "topic" ? `config:topic/${row.label}` : `config:broker/${data.labelAt(row.object, data.rows - 1)}`;
    for (const config of data.named(name)) {
      for (const touch of data.touchesOf(config)) if (data.rowOf[touch]) yield this._mark(data.rowOf[touch], "configured");
      for (const at of this.noted.get(config) ?? []) yield this._mark(at, "noted");
    }
  }

  *_lives(/** @type {number} */ object) {
    const { data } = this;
    for (const touch of data.touchesOf(object)) {
      const fate = data.fateOf(touch), row = data.rowOf[touch];
      if (row && fate === NEW) yield this._mark(row, "created");
      if (row && fate === GONE) yield this._mark(row, "deleted");
    }
  }

  *_ofPartition(/** @type {number} */ object) {
    const { data } = this;
    let before = 0;
    for (const touch of data.touchesOf(object)) {
      const row = data.rowOf[touch], shape = data.shape[touch], now = data.outages[touch], isSame = now === before;
      before = now;
      if (!row || data.fateOf(touch) === NEW) continue;
      if (this._plans[shape]) yield this._mark(row, "reassigned");
      // Where the state changes, too, the bar shows it.
      if (this._elects[shape] && isSame && !(now & LEADERLESS)) yield this._mark(row, "elected");
    }
  }

  /** @returns {Mark} */
  _mark(/** @type {number} */ row, /** @type {Kind} */ kind) { return { time: this.data.axisTime[row], row, kind }; }

  get noted() {
    if (this._noted) return this._noted;
    const { data } = this;
    this._noted = new Map();
    for (const { from } of data.events.notes(data.last)) {
      const row = data.rowAt(from);
      if (!row || data.effect[row] !== from) continue;
      for (let touch = data.firstTouch[row]; touch < data.firstTouch[row + 1]; touch++) {
        const of = this._noted.get(data.object[touch]);
        if (of) of.push(row);
        else this._noted.set(data.object[touch], [row]);
      }
    }
    return this._noted;
  }
}

/** The distance between signs, and between those of what happens often: near ones are drawn as one. */
const SIGN_PX = 11, OFTEN_PX = 18;
const OFTEN = new Set(["configured", "elected"]);

/** Where a row's signs stand, with no two too close: the more important ones first.
 * @param {Mark[]} marks In order of time. @param {import("report/axis.js").Axis} axis @returns {{x: number, kind: Kind}[]} */
export function signsOf(marks, axis) {
  /** @type {{x: number, kind: Kind}[]} */
  const found = [];
  for (const [kind] of MARKS) {
    const apart = OFTEN.has(kind) ? OFTEN_PX : SIGN_PX, others = found.map(({ x }) => x);
    let last = -Infinity;
    for (const mark of marks) {
      if (mark.kind !== kind || mark.time < axis.begin || mark.time > axis.end) continue;
      const x = Math.min(Math.max(Math.floor(axis.x(mark.time)), SIGN_PX / 2), axis.width - SIGN_PX / 2);
      if (x - last < apart || others.some((other) => Math.abs(other - x) < SIGN_PX)) continue;
      found.push({ x, kind });
      last = x;
    }
  }
  return found;
}

/** Draw the signs of a row.
 * @param {CanvasRenderingContext2D} context @param {import("report/bars.js").Paint} paint @param {import("report/axis.js").Axis} axis
 * @param {Mark[]} marks @param {number} y @param {number} height */
export function drawMarks(context, paint, axis, marks, y, height) {
  const signs = new Map(MARKS.map(([kind, sign]) => [kind, sign])), { font } = context;
  context.textAlign = "center";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = paint.color("panel");
  for (const { x, kind } of signsOf(marks, axis)) {
    const isOften = OFTEN.has(kind), sign = /** @type {string} */ (signs.get(kind)), at = y + height / 2 + (isOften ? 3 : 4);
    context.font = isOften ? font.replace("11px", "8px") : font;
    context.fillStyle = paint.color(isOften ? "muted" : "ink");
    context.strokeText(sign, x, at);
    context.fillText(sign, x, at);
  }
  context.font = font;
  context.textAlign = "left";
}

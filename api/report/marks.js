// Marks: what was done to a row's object: created, deleted, reassigned, noted, configured, elected.

import { LEADERLESS } from "report/data.js";
import { isFound } from "report/gaps.js";
import { GONE, NEW } from "report/object_states.js";

/** The signs, the most important first: where several have no room, the first is drawn. */
export const MARKS = /** @type {const} */ ([
  ["deleted", "×", "deleted"], ["created", "+", "created"], ["reassigned", "⇄", "reassignment"],
  ["noted", "✎", "note"], ["configured", "", "config"], ["elected", "", "another leader"],
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
    for (const touch of data.touchesOf(object)) {
      const row = data.rowOf[touch], shape = data.shape[touch];
      if (!row || data.fateOf(touch) === NEW) continue;
      if (this._plans[shape]) yield this._mark(row, "reassigned");
      if (this._elects[shape] && !(data.outages[touch] & LEADERLESS)) yield this._mark(row, "elected");
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

const SIGN_PX = 11;

/** Where the ticks of what happens often stand: that of a config above the bar, that of an election below it. */
const TICKS = { configured: 1, elected: 18 };

/** Draw the marks of a row: a sign each, or a tick.
 * @param {CanvasRenderingContext2D} context @param {import("report/bars.js").Paint} paint @param {import("report/axis.js").Axis} axis
 * @param {Mark[]} marks @param {number} y @param {number} height */
export function drawMarks(context, paint, axis, marks, y, height) {
  /** @type {Map<number, [number, number]>} By place: the sign's rank and its x. */
  const signs = new Map();
  const ticks = { configured: -1, elected: -1 };
  context.fillStyle = paint.color("muted");
  for (const { time, kind } of marks) {
    if (time < axis.begin || time > axis.end) continue;
    const x = Math.floor(axis.x(time)), rank = MARKS.findIndex(([name]) => name === kind);
    if (kind === "elected" || kind === "configured") {
      if (x > ticks[kind] + 1) context.fillRect(x, y + TICKS[kind], 1, 3);
      ticks[kind] = Math.max(ticks[kind], x);
      continue;
    }
    const place = Math.floor(x / SIGN_PX), known = signs.get(place);
    if (!known || rank < known[0]) signs.set(place, [rank, x]);
  }
  context.textAlign = "center";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = paint.color("panel");
  context.fillStyle = paint.color("ink");
  for (const [rank, x] of signs.values()) {
    const at = Math.min(Math.max(x, SIGN_PX / 2), axis.width - SIGN_PX / 2);
    context.strokeText(MARKS[rank][1], at, y + height / 2 + 4);
    context.fillText(MARKS[rank][1], at, y + height / 2 + 4);
  }
  context.textAlign = "left";
}

// The picture: the names of the rows, and the canvas beside them.

import { Strips } from "asked/strips.js";
import { Axis } from "report/axis.js";
import { AXIS_PX, draw, HEALTH_PX, ROW_PX, TERMS_PX, TOP_PX } from "report/bars.js";
import { above } from "report/numbers.js";
import { make } from "report/dom.js";
import { Marks } from "report/marks.js";
import { Pins } from "report/pins.js";
import { Pointer } from "report/pointer.js";
import { States } from "report/states.js";
import { gapsOf } from "report/gaps.js";
import { termsOf } from "report/terms.js";
import { countText, grouped, plain } from "report/words.js";

const TOPICS_AT_FIRST = 12, BROKERS_AT_FIRST = 12, PARTITIONS_MAX = 500, HEIGHT_MAX = 520;

/** The lines of the selection are this far from it, and so beside the narrowest bar. */
const BESIDE_PX = 3;

/** @typedef {import("report/states.js").Row} Row */

export class Picture {
  canvas = make("canvas", { role: "img", "aria-label": "State of brokers and topics over time; the list below says it in words" });
  band = make("div", { class: "band", "aria-hidden": "true" });
  plot = make("div", { class: "plot" }, this.canvas, this.band);
  names = make("div", { class: "names", role: "group", "aria-label": "rows: brokers and topics" });
  /** Below the names; for the page's switch of the time zone. */
  corner = make("div", { class: "names-bottom", style: `height:${AXIS_PX}px` });
  /** Called with a bad state that was clicked. @type {((red: import("report/under.js").Red) => void)|null} */
  onRed = null;
  element = make("section", { class: "picture", "aria-label": "picture" },
    make("div", { class: "side" },
      make("div", { class: "names-top" },
        make("div", { style: `height:${HEALTH_PX}px`, title: "partitions without a leader or under-replicated, of all" }, "health"),
        make("div", { style: `height:${TERMS_PX}px`, title: "the active controllers and their leader epochs" }, "controller")),
      this.names,
      this.corner),
    this.plot);

  // Offsets and times of all changes and events, ascending.
  offsets = new Float64Array();
  times = new Float64Array();
  /** @type {import("report/terms.js").Term[]} */ terms = [];
  viewBegin = 0;
  viewEnd = 1;
  isWhole = true;
  /** The times between which nothing happened; null: those of this log. @type {Float64Array|null} */ moments = null;
  /** The selected time, if it is more than that of the selected records. @type {[number, number]|null} */ span = null;
  axis = new Axis([], 0, 1, 1);
  /** @type {Row[]} The rows that are shown. */
  current = [];
  /** @type {Row[]} */ brokers = [];
  /** @type {Row[]} */ topics = [];
  shownBrokers = 0;
  shownTopics = 0;
  /** @type {Map<string, HTMLElement>} The name elements of the rows that were shown. */
  _nodes = new Map();
  /** @type {Set<string>} Names of topics. */
  opened = new Set();

  /** Notes that the log does not have. @type {import("report/notes.js").Note[]} */ noted = [];

  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection */
  constructor(data, selection) {
    this.data = data;
    this.selection = selection;
    this.states = new States(data);
    this.pins = new Pins(data, selection, this.noted);
    this.health = this.states.health();
    this.marks = new Marks(data);
    this.pointer = new Pointer(this);
    this.strips = new Strips(this);
    this._take();
    [this.viewBegin, this.viewEnd] = this.whole();
    this._listen();
    selection.watch(() => { this._reveal(); this._mark(); });
    new ResizeObserver(() => { if (this.plot.clientWidth !== this.axis.width) this.redraw(); }).observe(this.plot);
    // A printed page has another width, of which a ResizeObserver is not told.
    for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", () => this.redraw());
  }

  _take() {
    this.plot.append(this.pins.element);
    const { brokers, topics } = this.states.rows();
    // Brokers that changed come first only if not all can be shown.
    this.brokers = brokers.length <= BROKERS_AT_FIRST ? brokers : [...brokers].sort((a, b) => b.noise - a.noise || a.object - b.object);
    this.topics = topics;
    this.shownBrokers = Math.max(this.shownBrokers, this._worthShowing(this.brokers, BROKERS_AT_FIRST));
    this.shownTopics = Math.max(this.shownTopics, this._worthShowing(this.topics, TOPICS_AT_FIRST));
    [this.offsets, this.times] = moments(this.data);
    this.terms = termsOf(this.data.header.terms, gapsOf(this.data));
  }

  /** Show other data; a view of the whole report stays one.
   * @param {import("report/data.js").Data} data */
  renew(data) {
    this.data = data;
    this.states = new States(data);
    this.health = this.states.health();
    this.marks = new Marks(data);
    this.pins.element.remove();
    this.pins = new Pins(data, this.selection, this.noted);
    this._take();
    if (this.isWhole) [this.viewBegin, this.viewEnd] = this.whole();
    this._fillNames();
  }

  /** Show these notes that the log does not have, instead of earlier ones. @param {import("report/notes.js").Note[]} noted */
  pin(noted) {
    this.noted = noted;
    const pins = new Pins(this.data, this.selection, noted);
    this.pins.element.replaceWith(pins.element);
    this.pins = pins;
    pins.place(this.axis, (offset) => this.timeAt(offset));
  }

  /** The number of rows to show at first: those that changed, at least 3, up to a maximum. */
  _worthShowing(/** @type {Row[]} */ rows, /** @type {number} */ most) {
    return Math.min(most, rows.length, Math.max(3, rows.filter((row) => row.noise > 0).length));
  }

  _listen() {
    this.names.addEventListener("scroll", () => this.redraw());
    this.plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && this.names.scrollHeight > this.names.clientHeight) {
        this.names.scrollTop += event.deltaY;
        event.preventDefault();
      }
    }, { passive: false });
    this._fillNames();
  }

  /** The times at which the report begins and ends. */
  whole() {
    const { times } = this, [first, last] = this.data.header.times;
    const begin = Math.min(first ?? Infinity, times[0] ?? 0), end = Math.max(last ?? -Infinity, times[times.length - 1] ?? 1);
    return Axis.withMargin(times, begin, end);
  }

  /** Zoom to the selection with a margin, or to the whole report.
   * @param {boolean} all */
  zoom(all) {
    this.isWhole = all;
    if (all) {
      [this.viewBegin, this.viewEnd] = this.whole();
    } else {
      const begin = this.timeAt(this.selection.from), end = this.timeAt(this.selection.to);
      const margin = Math.max((end - begin) * 0.08, 20);
      [this.viewBegin, this.viewEnd] = [begin - margin, end + margin];
    }
    this.redraw();
  }

  /** Move the view to the selection if it lies outside, as after a key, a search or a link. */
  _reveal() {
    const { selection } = this, begin = this.timeAt(selection.from), end = this.timeAt(selection.to);
    const isSeen = end >= this.viewBegin && begin <= this.viewEnd;
    // New records do not move the view.
    if (this.isWhole || selection.isGrowing || isSeen) return;
    const width = this.viewEnd - this.viewBegin, middle = (begin + Math.min(end, begin + width)) / 2;
    [this.viewBegin, this.viewEnd] = [middle - width / 2, middle + width / 2];
    this.redraw();
  }

  /** The rows that are shown. @returns {Row[]} */
  rows() {
    const brokers = this.brokers.slice(0, this.shownBrokers);
    brokers.sort((a, b) => a.object - b.object);
    const topics = this.topics.slice(0, this.shownTopics).flatMap((row) =>
      this.opened.has(this.named(row)) ? [row, ...this.states.partitionsOf(row).slice(0, PARTITIONS_MAX)] : [row]);
    return [...brokers, ...topics];
  }

  _fillNames() {
    this.current = this.rows();
    /** @type {Set<HTMLElement>} */
    const used = new Set();
    const nodes = this.current.map((row) => this._nameNode(row, used));
    const quiet = this.brokers.length - this.shownBrokers, topics = this.topics.length - this.shownTopics;
    if (quiet > 0) nodes.push(this._more(countText(quiet, "more broker"), () => { this.shownBrokers = this.brokers.length; }));
    if (topics > 0) nodes.push(this._more(countText(topics, "more topic"), () => { this.shownTopics += 50; }));
    const { scrollTop } = this.names, { children } = this.names;
    // A button that is replaced while it is pressed gets no click.
    if (nodes.length !== children.length || nodes.some((node, i) => node !== children[i])) {
      const focused = this.names.contains(document.activeElement) ? document.activeElement?.getAttribute("data-object") : null;
      this.names.replaceChildren(...nodes);
      if (focused) /** @type {HTMLElement|null} */ (this.names.querySelector(`[data-object="${CSS.escape(focused)}"]`))?.focus();
    }
    this.names.style.height = `${Math.min(HEIGHT_MAX, nodes.length * ROW_PX)}px`;
    this.names.scrollTop = scrollTop;
    this._mark();
    this.redraw();
  }

  _more(/** @type {string} */ text, /** @type {() => void} */ show) {
    const onclick = () => { show(); this._fillNames(); };
    const node = this._nodes.get(text) ?? make("div", { class: "name" }, make("button", { type: "button", class: "quiet", onclick }, text));
    this._nodes.set(text, node);
    return node;
  }

  /** The name of a row's object, or of its last life. @param {Row} row */
  named(row) { return this.data.nameAt(row.object, this.data.rows - 1); }

  /** The name of a row; the same element as long as the row stays the same. */
  _nameNode(/** @type {Row} */ row, /** @type {Set<HTMLElement>} */ used) {
    const name = this.named(row), isOpen = this.opened.has(name), canOpen = row.kind === "topic" && row.lives.some((life) => this.data.partitionsOf(life).length > 0);
    const key = `${row.kind} ${name} ${canOpen} ${isOpen}`, known = this._nodes.get(key);
    // A name may have meant several topics in succession.
    const node = known && !used.has(known) ? known : this._nameOf(row, name, canOpen, isOpen);
    this._nodes.set(key, node);
    used.add(node);
    const lives = row.lives.length > 1 ? `, ${countText(row.lives.length, "life", "lives")} of the name` : "";
    node.title = `${plain(name)}: ${countText(row.noise, "change")}${lives}`;
    return node;
  }

  _nameOf(/** @type {Row} */ row, /** @type {string} */ name, /** @type {boolean} */ canOpen, /** @type {boolean} */ isOpen) {
    const select = make("button", {
      type: "button", class: `pick ${row.kind}`, "data-object": name, "aria-pressed": "false",
      onclick: () => this.selection.set({ object: this.selection.object === name ? null : name }),
    }, plain(row.label));
    if (!canOpen) return make("div", { class: "name" }, select);
    const open = make("button", {
      type: "button", class: "open", "aria-expanded": String(isOpen), "aria-label": `partitions of ${plain(row.label)}`,
      onclick: () => {
        if (isOpen) this.opened.delete(name);
        else this.opened.add(name);
        this._fillNames();
        /** @type {HTMLElement|null} */ (this.names.querySelector(`[data-object="${CSS.escape(name)}"]`)?.parentElement?.querySelector(".open"))?.focus();
      },
    }, isOpen ? "▾" : "▸");
    return make("div", { class: "name" }, open, select);
  }

  redraw() {
    const width = this.plot.clientWidth;
    if (!width) return;
    this.axis = new Axis(this.moments ?? this.times, this.viewBegin, this.viewEnd, width);
    const { header } = this.data;
    const confirmed = header.confirmed_end;
    draw(this.canvas, {
      axis: this.axis,
      rows: this.current,
      stepsOf: (row) => this.states.stepsOf(row),
      health: this.health,
      terms: this.terms,
      marksOf: (row) => this.marks.of(row),
      historyTime: header.history_from > header.first ? this.timeAt(header.history_from) : -Infinity,
      unconfirmedTime: confirmed <= header.last ? this.timeAt(confirmed) : null,
      missing: gapsOf(this.data),
      wentBack: this.data.wentBack,
      scroll: this.names.scrollTop,
      height: this.names.clientHeight + TOP_PX + AXIS_PX,
    });
    this.strips.draw();
    this.pins.place(this.axis, (offset) => this.timeAt(offset));
    this._mark();
  }

  /** The time of an offset on the axis: that of the last change at or before it, or of the end. @param {number} offset */
  timeAt(offset) {
    const found = this.times[Math.max(0, above(this.offsets, offset) - 1)] ?? 0;
    return offset >= this.data.last ? Math.max(found, this.data.header.times[1] ?? found) : found;
  }

  /** The offsets between two times, both inclusive. @param {number} begin @param {number} end */
  offsetsIn(begin, end) {
    const first = above(this.times, begin - 0.001), last = above(this.times, end) - 1;
    const lowest = this.offsets[Math.min(first, this.offsets.length - 1)] ?? this.data.first;
    return { from: lowest, to: last < first ? lowest : this.offsets[last] };
  }

  _mark() {
    const [begin, end] = this.span ?? [this.timeAt(this.selection.from), this.timeAt(this.selection.to)];
    const x0 = this.axis.x(begin), x1 = this.axis.x(end);
    const { selection } = this;
    this.band.hidden = this.span === null && selection.from === selection.first && selection.to === selection.last && selection.first < selection.last;
    Object.assign(this.band.style, { left: `${x0 - BESIDE_PX}px`, width: `${x1 - x0 + 2 * BESIDE_PX + 1}px` });
    for (const button of this.names.querySelectorAll(".pick")) {
      const pressed = String(button.getAttribute("data-object") === this.selection.object);
      if (button.getAttribute("aria-pressed") !== pressed) button.setAttribute("aria-pressed", pressed);
    }
  }

  /** The health after the record at an offset, in words. Not by time: several records may have the
   * same, and clocks go back. @param {number} offset */
  healthAt(offset) {
    const i = above(this.health.row, this.data.rowAt(offset)) - 1;
    if (i < 0) return "no partitions";
    const { leaderless, under, there } = this.health;
    return `${grouped(leaderless[i])} leaderless and ${grouped(under[i])} under-replicated of ${countText(there[i], "partition")}`;
  }
}

/** The offsets of all changes and events, and their times on the axis, which never go back.
 * @param {import("report/data.js").Data} data */
function moments(data) {
  const { events } = data, rows = data.rows - 1;
  // Without changes there is still the state before the range.
  if (!events.length && rows < 1) return [Float64Array.of(data.last), Float64Array.from(data.axisTime)];
  const offsets = new Float64Array(events.length + rows), times = new Float64Array(events.length + rows);
  let e = 0, r = 1, last = -Infinity;
  for (let i = 0; i < offsets.length; i++) {
    const isRow = e >= events.length || (r <= rows && data.effect[r] <= events.from[e]);
    offsets[i] = isRow ? data.effect[r] : events.from[e];
    last = Math.max(last, isRow ? data.axisTime[r] : events.time[e]);
    times[i] = last;
    if (isRow) r++;
    else e++;
  }
  return [offsets, times];
}

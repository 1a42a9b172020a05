// The page: assembles its parts, and shows newer data.

import { Ask } from "asked/ask.js";
import { Answers } from "report/answers.js";
import { showClause } from "report/clause_links.js";
import { Difference } from "report/difference.js";
import { afterPaint, make } from "report/dom.js";
import { gapsOf, gapWords } from "report/gaps.js";
import { helpButton, Keys } from "report/keys.js";
import { legend } from "report/legend.js";
import { List } from "report/list.js";
import { Notes } from "report/notes.js";
import { OutagePanel } from "report/outage_panel.js";
import { whyOfRed } from "report/red.js";
import { BrokerMap } from "play/broker_map.js";
import { Player } from "play/player.js";
import { Picture } from "report/picture.js";
import { Search } from "report/search.js";
import { Selection } from "report/selection.js";
import { clauseItems, summaryList } from "report/summary.js";
import { clockText, countText, dayText, plain, timeText } from "report/words.js";
import { zone } from "report/zone.js";

/** What made the page; a report in a file may have notes. @typedef {{name: string, where: string, masked: boolean, notes?: import("report/notes.js").Note[]}} Command */

export class Page {
  range = make("p", { class: "range" });
  remarks = make("ul", { class: "remarks" });
  said = make("p", { class: "said", "aria-live": "polite" });
  zones = make("button", { type: "button", class: "zone", title: "UTC or local time (u)", onclick: () => this.switchZone() }, zone.name);

  /**
   * @param {import("report/data.js").Data} data @param {Command} command
   * @param {(import("report/answers.js").Questions & import("report/notes.js").NoteWriter)|null} service Null for a report in a file.
   */
  constructor(data, command, service) {
    this.data = data;
    this.command = command;
    this.selection = new Selection(data.first, data.last, window, command.where);
    this.opensOnIncident = !this.selection.read();
    if (this.opensOnIncident) open(this.selection, data);
    this.picture = new Picture(data, this.selection);
    this.answers = new Answers(data, this.selection, service);
    this.difference = new Difference(data, this.selection, this.answers);
    this.search = new Search(data, this.selection, this.picture);
    this.list = new List(data, this.selection, this.picture);
    this.outages = new OutagePanel(data, this.selection, this.answers);
    this.ask = new Ask(this, service);
    this.notes = new Notes(this, command.notes ?? [], service);
    this.map = new BrokerMap(data, this.selection);
    this.player = new Player(this.picture, this.selection, (isPlaying) => this._play(isPlaying));
    this.picture.onRed = ({ objects, bit, row, name }) => this.outages.open(objects, bit, row, name);
    this.picture.corner.append(this.zones);
    this.keys = new Keys(this);
    this.selection.watch(() => this._say());
    this._tellOfData();
  }

  /** Show the page in a document. @param {Document} document @param {...Element} more Further parts of the header. */
  show(document, ...more) {
    const { keys, search } = this;
    const header = make("header", {},
      make("h1", {}, plain(this.command.name), " ", make("small", {}, `cluster ${plain(this.data.header.cluster_id)}`)),
      this.range, search.element, helpButton(keys.help), ...more, ...this._summary(), this.remarks);
    document.body.append(header, make("main", {}, legend(this), make("div", { class: "stage" }, this.picture.element, this.map.element), make("div", { class: "moment" }, this.said, this.notes.button), this.notes.element, this.answers.element, this.ask.element,
      make("div", { class: "columns" }, this.list.element, this.difference.element)), keys.help);
    this.picture.redraw();
    this.selection.tell();
    // The values, of which it tells, are decoded after the first paint.
    if (this.opensOnIncident) afterPaint(() => { if (this.answers.element.hidden) this.outages.showOpening(); });
    Object.assign(window, { report: this });
  }

  /** Show newer data; the selection, expanded events and open answers stay. @param {import("report/data.js").Data} data */
  renew(data) {
    for (const part of [this, this.answers, this.difference, this.search, this.list, this.outages]) part.data = data;
    this.picture.renew(data);
    this.ask.renew();
    this.map.renew(data);
    this._tellOfData();
    this.selection.grow(data.first, data.last);
    this._say();
  }

  /** The summary of a report; a service is asked for it. */
  _summary() {
    const clauses = this.data.header.summary;
    if (!clauses) return [];
    const list = summaryList("");
    list.replaceChildren(...clauseItems(clauses, (clause) => this.showClause(clause)));
    list.removeAttribute("aria-busy");
    return [list];
  }

  /** Show what a clause of the summary is about. @param {import("report/summary.js").Clause} clause */
  showClause(clause) { showClause(clause, this); }

  /** Show why of what is red in the picture, of its field; else of the default field of what is selected. */
  why() {
    if (!whyOfRed(this)) this.difference.whyOfSelection();
  }

  /** Show all times in UTC, or in the reader's zone. */
  switchZone() {
    zone.isLocal = !zone.isLocal;
    this.zones.textContent = zone.name;
    this._tellOfData();
    this.picture.redraw();
    this.ask.redraw();
    this.notes.draw();
    this.selection.tell();
  }

  /** The map is part of it; a screen reader would read each step. */
  _play(/** @type {boolean} */ isPlaying) {
    if (isPlaying) this.map.toggle(true);
    this.said.setAttribute("aria-live", isPlaying ? "off" : "polite");
  }

  _tellOfData() {
    this.range.textContent = rangeText(this.data);
    const found = remarks(this.data, this.command);
    this.remarks.hidden = !found.length;
    this.remarks.replaceChildren(...found.map((text) => make("li", {}, text)));
  }

  _say() {
    const { to } = this.selection, time = this.picture.timeAt(to);
    const text = `At offset ${to}, ${timeText(time)}: ${this.picture.healthAt(to)}.`;
    // A screen reader repeats a text that is set again, even if it is the same.
    if (this.said.textContent !== text) this.said.textContent = text;
  }
}

/** Select the incident on which the page opens; without one, all stays selected.
 * @param {Selection} selection @param {import("report/data.js").Data} data */
function open(selection, data) {
  const opens = data.header.opens;
  if (opens) [selection.from, selection.to] = opens;
}

/** The text of the range of the data, with times and offsets. @param {import("report/data.js").Data} data */
function rangeText(data) {
  const [begin, end] = data.header.times;
  if (begin === undefined) return `no records · the state at offset ${data.last}${data.axisTime[0] ? `, ${timeText(data.axisTime[0])}` : ""}`;
  const range = dayText(begin) === dayText(end) ? `${clockText(begin).slice(0, 8)} – ${clockText(end).slice(0, 8)} ${zone.name}, ${dayText(end)}`
      : `${dayText(begin)} ${clockText(begin).slice(0, 5)} – ${dayText(end)} ${clockText(end).slice(0, 5)} ${zone.name}`;
  return `${range} · offsets ${data.first} – ${data.last}`;
}

/** Remarks on what the page does not show, or shows differently. @param {import("report/data.js").Data} data @param {any} command */
function remarks(data, command) {
  const { header } = data, { about } = header;
  /** @type {string[]} */
  const found = [];
  if (header.asked[0] !== data.first || header.asked[1] !== data.last) {
    found.push(`This is a part of offsets ${header.asked[0]} – ${header.asked[1]}: the whole range would be too large for one page.`);
  }
  if (about.not_understood) found.push(`${countText(about.not_understood.records, "record")} not understood by this release.`);
  if (about.gap && data.first <= about.gap.to_offset) {
    found.push(`Offsets ${about.gap.from_offset} – ${about.gap.to_offset - 1} were not recorded; what was before is in another part of the recording.`);
  }
  for (const gap of gapsOf(data)) {
    found.push(`${gapWords(gap).replace("o", "O")} (hatched): what differs after them is shown as it was found, not when or why it changed.`);
  }
  if (header.history_from > data.first) found.push(`Before offset ${header.history_from} the state is unknown: the log begins there (hatched).`);
  const isSaid = header.summary?.some((/** @type {import("report/summary.js").Clause} */ { about }) => about === "tail");
  if (header.confirmed_end <= data.last && !isSaid) found.push(`From offset ${header.confirmed_end} of the metadata log on, records were not confirmed: Kafka may still replace them (hatched).`);
  if (data.wentBack.length) found.push(`Clocks went back ${countText(data.wentBack.length, "time")} (↶).`);
  if (command.masked) found.push("Names of hosts and addresses are replaced.");
  return found;
}


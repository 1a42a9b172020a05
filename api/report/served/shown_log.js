// One of several logs on one time axis: its picture, its events, and its answers.

import { Ask } from "asked/ask.js";
import { Answers } from "report/answers.js";
import { make } from "report/dom.js";
import { List } from "report/list.js";
import { Notes } from "report/notes.js";
import { OutagePanel } from "report/outage_panel.js";
import { Picture } from "report/picture.js";
import { Selection } from "report/selection.js";
import { plain } from "report/words.js";
import { zone } from "report/zone.js";
import { Bar } from "served/bar.js";
import { Service } from "served/service.js";

/** What the selection of one of several logs takes for the window: the page's address is that of the selected time.
 * @param {() => void} link Sets that address. */
const windowFor = (link) => /** @type {any} */ ({ location: { hash: "" }, addEventListener() {}, clearTimeout() {}, setTimeout: link });

export class ShownLog {
  bar = new Bar();
  about = make("small");
  /** Called when the page's address is to change. */
  onLink = () => {};

  /** @param {import("served/logs.js").Log} log @param {Service} service @param {import("report/data.js").Data} data */
  constructor({ name, path, log }, service, data) {
    this.name = name;
    this.path = path;
    this.service = service;
    this.data = data;
    this.where = service.where || log;
    this.selection = new Selection(data.first, data.last, windowFor(() => this.onLink()), this.where);
    this.picture = new Picture(data, this.selection);
    this.picture.corner.textContent = zone.name;
    this.answers = new Answers(data, this.selection, service);
    this.outages = new OutagePanel(data, this.selection, this.answers);
    this.picture.onRed = ({ objects, bit, row, name: object }) => this.outages.open(objects, bit, row, object);
    this.ask = new Ask(this, service);
    this.list = new List(data, this.selection, this.picture);
    this.notes = new Notes(this, [], service, name);
    this.link = make("a", { href: path }, plain(name));
    this.selection.watch(() => { if (!this.selection.isGrowing) this.answers.close(); });
    this.list.title.id = `happened-${name}`;
    this.list.element.setAttribute("aria-labelledby", this.list.title.id);
    this.list.element.prepend(make("h2", { class: "log" }, plain(name)), this.notes.button, this.notes.element, this.answers.element, this.ask.answers);
  }

  /** Load a log. @param {import("served/logs.js").Log} log */
  static async of(log) {
    const service = new Service(log.path.replace(/^\//, ""));
    return new ShownLog(log, service, await service.columns(null, null));
  }

  /** Show newer data. @param {import("report/data.js").Data} data */
  renew(data) {
    for (const part of [this, this.answers, this.outages, this.list]) part.data = data;
    this.picture.renew(data);
    this.selection.last = data.last;
    this.ask.renew();
  }

  /** Say which records there are; the log's own page opens with the same selection. */
  tell() {
    const { data, path, selection } = this;
    this.about.textContent = `offsets ${data.first} – ${data.last} `;
    const range = selection.from > selection.to ? "" : `&from=${selection.from}&to=${selection.to}`, link = range + this.notes.link("note");
    this.link.href = link ? `${path}#${link.slice(1)}` : path;
  }

  /** Show all times in the page's zone. */
  redraw() {
    this.picture.corner.textContent = zone.name;
    this.picture.redraw();
    this.ask.redraw();
    this.notes.draw();
  }
}

// The page of a reader who may not describe the cluster: the topics that the reader may see, as bars,
// and their changes in a range. The service sends nothing else, so there are no brokers and no events.
// Each new set of columns has the topics that the reader may see at that time.

import { Answers } from "report/answers.js";
import { diffCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { legend } from "report/legend.js";
import { Picture } from "report/picture.js";
import { Selection } from "report/selection.js";
import { changeLines, countText, plain } from "report/words.js";
import { Bar } from "served/bar.js";
import { Live } from "served/live.js";

const AT_FIRST = 60;

/** @typedef {import("served/service.js").Service} Service */

/** @param {Document} document @param {Service} service @param {import("report/data.js").Data} data The data of these topics. @param {() => void} signOut */
export async function showOwn(document, service, data, signOut) {
  const page = new Own(service, data, await service.historyStart());
  page.show(document, signOut);
  return page;
}

const offsetInput = (/** @type {string} */ id) =>
  make("input", { id, size: "12", inputmode: "numeric", pattern: "[0-9]+", required: true, autocomplete: "off" });

class Own {
  title = make("h2", { id: "difference" });
  links = make("div", { class: "links" });
  changes = make("div", { class: "changes" });
  foot = make("div");
  from = offsetInput("from");
  to = offsetInput("to");
  bar = new Bar();
  count = make("small");
  topics = make("ol", { class: "events own" });
  asked = 0;

  /** @param {Service} service @param {import("report/data.js").Data} data @param {number} first First offset of the log. */
  constructor(service, data, first) {
    this.service = service;
    this.data = data;
    this.selection = new Selection(first, data.last, window, service.where);
    if (!this.selection.read()) this.selection.from = Math.max(first, data.first);
    this.picture = new Picture(data, this.selection);
    this.answers = new Answers(null, this.selection, service);
    this.seen = data.last;
    this.selection.watch(() => this._select());
  }

  /** @param {Document} document @param {() => void} signOut */
  show(document, signOut) {
    const form = make("form", { class: "load", "aria-label": "range of offsets" }, make("label", { for: "from" }, "from"), this.from,
      make("label", { for: "to" }, "to"), this.to, make("button", { type: "submit" }, "show"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.selection.set({ from: Number(this.from.value), to: Number(this.to.value) });
    });
    const { bar, selection, service } = this;
    bar.now.addEventListener("click", () => selection.set({ from: selection.last, to: Infinity }));
    bar.news.addEventListener("click", () => selection.set({ from: Math.min(this.seen + 1, selection.last), to: Infinity }));
    document.body.replaceChildren(
      make("header", {}, make("h1", {}, "metalog"),
        make("ul", { class: "remarks" }, make("li", {}, "You may not describe the cluster. This page shows the topics that you may see.")),
        make("div", { class: "served" }, bar.state, bar.news, bar.now, form, make("button", { type: "button", hidden: service.token === null, onclick: signOut }, "sign out"))),
      make("main", {}, legend(this), this.picture.element, make("div", { class: "columns" },
        make("section", { class: "panel", "aria-labelledby": "topics" }, make("h2", { id: "topics" }, "Your topics ", this.count), this.topics),
        make("section", { class: "panel", "aria-labelledby": "difference" }, this.title, this.links, this.answers.element, this.changes, this.foot))));
    this._list();
    this.picture.redraw();
    selection.show();
    selection.tell();
    this._follow();
  }

  /** List the existing topics. */
  _list() {
    const { data } = this, row = data.rows - 1, first = data.kindStart[data.kinds.indexOf("topic")];
    const there = Array.from(data.header.topic_ids, (_, i) => first + i).filter((topic) => data.isThere(topic, row));
    this.count.textContent = countText(there.length, "topic");
    this.topics.replaceChildren();
    fill(this.topics, there.map((topic) => make("li", {}, this._pick(data.nameAt(topic, row)))).values(), AT_FIRST);
  }

  _follow() {
    this.live = new Live(this.service, this.data, this.bar, (data) => this._renew(data));
    this.live.follow();
  }

  /** Show newer data; if it is another object, the reader may see other topics now.
   * @param {import("report/data.js").Data} data */
  _renew(data) {
    const { selection } = this, isOther = data !== this.data;
    if (!data.header.is_of_topics) location.reload();
    this.data = data;
    this.picture.renew(data);
    this._list();
    const { object } = selection;
    if (isOther && object !== null && data.find(object, data.rows - 1) === null) selection.object = null;
    selection.grow(selection.first, data.last);
    if (isOther) selection.tell();
    this.bar.tellNew(selection.follows ? 0 : data.rows - 1 - data.rowAt(this.seen), "change");
  }

  _pick(/** @type {string} */ name) {
    return make("button", { type: "button", class: "name-of", onclick: () => this.selection.set({ object: name }) }, plain(name));
  }

  async _select() {
    const { from, to, object, follows } = this.selection, ticket = ++this.asked;
    if (follows) {
      this.seen = to;
      this.bar.tellNew(0);
    }
    [this.from.value, this.to.value] = [String(from), String(to)];
    this.answers.close();
    const about = make("small", {}, "asking the service …");
    this.title.replaceChildren(object === null ? "What changed " : `${plain(object)} `, about);
    this.links.replaceChildren(...(object === null ? [] : this._links(object)));
    this.foot.replaceChildren(commandLine(diffCommand(this.selection.where, from, to, object)));
    this.changes.replaceChildren();
    try {
      const groups = await this.service.difference(from, to, object);
      if (ticket !== this.asked) return;
      about.textContent = `${countText(groups.length, "object")} between ${from > 0 ? `offset ${from - 1}` : "the start"} and offset ${to}`;
      fill(this.changes, groups.map(({ name, changes, passed }) => make("div", { class: "object" }, this._pick(name),
        ...(passed ? [`came and went: ${passed.from_offset} to ${passed.to_offset}`] : changeLines(name, changes)).map((line) => make("div", { class: "line" }, line)))).values(), AT_FIRST);
    } catch (error) {
      if (ticket === this.asked) about.textContent = plain(/** @type {Error} */ (error).message);
    }
  }

  _links(/** @type {string} */ object) {
    const link = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", class: "link", onclick }, text);
    const ask = { history: () => this.answers.history(object), blame: () => this.answers.blame(object) };
    const configs = object.startsWith("topic:") ? [link("its configs", () => this.selection.set({ object: `config:topic/${object.slice("topic:".length)}` }))] : [];
    return [...Object.entries(ask).map(([text, onclick]) => link(text, onclick)), ...configs, link("all", () => this.selection.set({ object: null }))];
  }
}

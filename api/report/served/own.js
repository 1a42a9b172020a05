// The page of a reader who may not describe the cluster: the topics that the reader may see, as bars,
// what became of them in a range, and who did it. The service leaves out the rest; so there are no
// brokers and no events, and nothing is live.

import { Answers } from "report/answers.js";
import { diffCommand, setPlace } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { legend } from "report/page.js";
import { Picture } from "report/picture.js";
import { Selection } from "report/selection.js";
import { changeLines, countText, plain } from "report/words.js";

const AT_FIRST = 60;

/** @typedef {import("served/service.js").Service} Service */

/** @param {Document} document @param {Service} service @param {import("report/data.js").Data} data Of these topics. @param {() => void} signOut */
export async function showOwn(document, service, data, signOut) {
  const { topics, history_start: first, log_end: end } = await service.topics();
  const page = new Own(service, data, first, Math.max(end - 1, data.last));
  page.show(document, topics.map((/** @type {any} */ topic) => `topic:${topic.name}`), signOut);
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
  asked = 0;

  /** @param {Service} service @param {import("report/data.js").Data} data @param {number} first @param {number} last Of the log. */
  constructor(service, data, first, last) {
    // The address of the service stands beside what this reader may not see.
    setPlace("--server $METALOG_SERVER");
    this.service = service;
    this.data = data;
    this.selection = new Selection(first, last, window);
    if (!this.selection.read()) this.selection.from = Math.max(first, data.first);
    this.picture = new Picture(data, this.selection);
    this.answers = new Answers(null, this.selection, service);
    this.selection.watch(() => this._select());
  }

  /** @param {Document} document @param {string[]} names @param {() => void} signOut */
  show(document, names, signOut) {
    const form = make("form", { class: "load", "aria-label": "range of offsets" }, make("label", { for: "from" }, "from"), this.from,
      make("label", { for: "to" }, "to"), this.to, make("button", { type: "submit" }, "show"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.selection.set({ from: Number(this.from.value), to: Number(this.to.value) });
    });
    const topics = make("ol", { class: "events own" });
    fill(topics, names.map((name) => make("li", {}, this._pick(name))).values(), AT_FIRST);
    document.body.replaceChildren(
      make("header", {}, make("h1", {}, "metalog"),
        make("ul", { class: "remarks" }, make("li", {}, "You may not describe the cluster. This page shows the topics that you may see.")),
        make("div", { class: "served" }, form, make("button", { type: "button", hidden: this.service.token === null, onclick: signOut }, "sign out"))),
      make("main", {}, legend(this), this.picture.element, make("div", { class: "columns" },
        make("section", { class: "panel", "aria-labelledby": "topics" }, make("h2", { id: "topics" }, "Your topics ", make("small", {}, countText(names.length, "topic"))), topics),
        make("section", { class: "panel", "aria-labelledby": "difference" }, this.title, this.links, this.answers.element, this.changes, this.foot))));
    this.picture.redraw();
    this.selection.show();
    this.selection.tell();
  }

  _pick(/** @type {string} */ name) {
    return make("button", { type: "button", class: "name-of", onclick: () => this.selection.set({ object: name }) }, plain(name));
  }

  async _select() {
    const { from, to, object } = this.selection, ticket = ++this.asked;
    [this.from.value, this.to.value] = [String(from), String(to)];
    this.answers.close();
    const about = make("small", {}, "asking the service …");
    this.title.replaceChildren(object === null ? "What changed " : `${plain(object)} `, about);
    this.links.replaceChildren(...(object === null ? [] : this._links(object)));
    this.foot.replaceChildren(commandLine(diffCommand(from, to, object)));
    this.changes.replaceChildren();
    try {
      const groups = await this.service.difference(from, to, object);
      if (ticket !== this.asked) return;
      about.textContent = `${countText(groups.length, "object")} between ${from > 0 ? `offset ${from - 1}` : "the start"} and offset ${to}`;
      fill(this.changes, groups.map(({ name, changes }) => make("div", { class: "object" }, this._pick(name),
        ...changeLines(changes).map((line) => make("div", { class: "line" }, line)))).values(), AT_FIRST);
    } catch (error) {
      if (ticket === this.asked) about.textContent = plain(/** @type {Error} */ (error).message);
    }
  }

  _links(/** @type {string} */ object) {
    const link = (/** @type {string} */ text, /** @type {() => void} */ onclick) => make("button", { type: "button", class: "link", onclick }, text);
    const ask = { history: () => this.answers.history(object), blame: () => this.answers.blame(object) };
    return [...Object.entries(ask).map(([text, onclick]) => link(text, onclick)), link("all", () => this.selection.set({ object: null }))];
  }
}

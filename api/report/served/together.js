// Several logs one above the other on one time axis: a selected time is selected in all of them.

import { make } from "report/dom.js";
import { List } from "report/list.js";
import { legend } from "report/page.js";
import { Picture } from "report/picture.js";
import { Player } from "play/player.js";
import { Selection } from "report/selection.js";
import { plain, timeText } from "report/words.js";
import { zone } from "report/zone.js";
import { Bar } from "served/bar.js";
import { Live } from "served/live.js";
import { Service } from "served/service.js";
import { SharedTime } from "served/shared_time.js";

/** @typedef {import("served/logs.js").Log} Log */

/** The selection of one of several logs: the page's address is that of the selected time. */
const WITHOUT_LINK = /** @type {any} */ ({ location: { hash: "" }, addEventListener() {}, clearTimeout() {}, setTimeout() { return 0; } });

/** A list of events whose command names its own log. */
class ListOfLog extends List {
  /** @param {Shown} shown */
  constructor({ data, selection, picture, name }) {
    super(data, selection, picture);
    this.heading = make("h2", { class: "log" }, plain(name));
    this.title.id = `happened-${name}`;
    this.element.setAttribute("aria-labelledby", this.title.id);
    this.element.prepend(this.heading);
  }
}

/** @typedef {{name: string, path: string, where: string, service: Service, data: import("report/data.js").Data, selection: Selection, picture: Picture, bar: Bar, link: HTMLAnchorElement, about: HTMLElement}} Shown */

export class Together {
  said = make("p", { class: "said", "aria-live": "polite" });

  /** @param {Shown[]} shown */
  constructor(shown) {
    this.shown = shown;
    this.time = new SharedTime(shown.map(({ picture }) => picture));
    this.player = new Player(/** @type {any} */ (this.time), /** @type {any} */ (this.time), (isPlaying) => this.said.setAttribute("aria-live", isPlaying ? "off" : "polite"));
    this.lists = shown.map((each) => new ListOfLog(each));
    this.time.watch(() => this._say());
    document.addEventListener("keydown", (event) => this._key(event));
  }

  /** Load some logs and show them. @param {Log[]} logs @returns {Promise<Together>} */
  static async of(logs) {
    return new Together(await Promise.all(logs.map(shownLog)));
  }

  show() {
    const { shown, time, player } = this;
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) => make("button", { type: "button", title, onclick }, text);
    const buttons = make("span", { class: "buttons" }, player.button, button("zoom in", "show the selected time (z)", () => time.zoom(false)), button("whole", "show the whole time (0)", () => time.zoom(true)));
    const states = legend(/** @type {any} */ ({ data: shown[0].data, picture: shown[0].picture, selection: shown[0].selection }));
    states.querySelector(".buttons")?.replaceWith(buttons);
    document.body.replaceChildren(
      make("header", {}, make("h1", {}, shown.map(({ name }) => plain(name)).join(" and "), " ", make("small", {}, "on one time axis")), make("p", { class: "range" }, make("a", { href: "./" }, "all logs"))),
      make("main", { class: "together" }, states,
        ...shown.map(({ name, link, about, picture, bar }) => make("section", { "aria-label": plain(name) },
          make("h2", {}, link, " ", about, bar.state), picture.element)),
        this.said, make("div", { class: "columns" }, ...this.lists.map(({ element }) => element))));
    time.zoom(true);
    const asked = new URLSearchParams(location.hash.slice(1)), [from, to] = [Number(asked.get("begin")), Number(asked.get("end"))];
    const opens = shown.map(({ data, picture }) => data.header.opens?.map((/** @type {number} */ offset) => picture.timeAt(offset))).find((each) => each) ?? time.whole();
    time.set(from && to ? { from, to } : { from: opens[0], to: opens[1] });
    Object.assign(window, { together: this });
    for (const each of shown) this._follow(each);
    performance.mark("report-shown");
  }

  _follow(/** @type {Shown} */ each) {
    new Live(each.service, each.data, each.bar, (data) => {
      each.data = data;
      each.picture.renew(data);
      each.selection.last = data.last;
      this.lists[this.shown.indexOf(each)].data = data;
      this.time.renew();
      this._say();
    }).follow();
  }

  _say() {
    const { from, to } = this.time;
    this.said.textContent = `${timeText(from)}${to > from ? ` to ${timeText(to)}` : ""}: ${this.shown.map(({ name, picture, selection }) => `${plain(name)} ${picture.healthAt(selection.to)}`).join("; ")}.`;
    for (const { path, link, about, data, selection } of this.shown) {
      about.textContent = `offsets ${data.first} – ${data.last} `;
      // Its own page opens with the same selection.
      link.href = selection.from > selection.to ? path : `${path}#from=${selection.from}&to=${selection.to}`;
    }
    history.replaceState(null, "", `#together&begin=${Math.floor(from)}&end=${Math.ceil(to)}`);
  }

  _key(/** @type {KeyboardEvent} */ event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(target.tagName) || (event.key === " " && /BUTTON|SUMMARY|^A$/.test(target.tagName))) return;
    const { time, player } = this;
    /** @type {Record<string, () => void>} */
    const actions = {
      "ArrowLeft": () => time.step(-1), "ArrowRight": () => time.step(1), "z": () => time.zoom(false), "0": () => time.zoom(true),
      " ": () => player.toggle(), "Escape": () => player.stop(),
      "u": () => { zone.isLocal = !zone.isLocal; for (const { picture } of this.shown) picture.redraw(); time.set(time); },
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }
}

/** @param {Log} log @returns {Promise<Shown>} */
async function shownLog({ name, path, log }) {
  const service = new Service(path.replace(/^\//, "")), data = await service.columns(null, null);
  const selection = new Selection(data.first, data.last, WITHOUT_LINK, service.where || log), picture = new Picture(data, selection);
  picture.corner.textContent = zone.name;
  return { name, path, where: service.where || log, service, data, selection, picture, bar: new Bar(), link: make("a", { href: path }, plain(name)), about: make("small") };
}


// Several logs one above the other on one time axis: a selected time is selected in all of them, a question
// is asked of all, and what is configured in them otherwise is listed.

import { make } from "report/dom.js";
import { helpButton, helpDialog } from "report/keys.js";
import { legend } from "report/legend.js";
import { whyOfRed } from "report/red.js";
import { Player } from "play/player.js";
import { plain, timeText } from "report/words.js";
import { zone } from "report/zone.js";
import { DriftPanel } from "served/drift_panel.js";
import { Live } from "served/live.js";
import { jointQuestions } from "served/other_questions.js";
import { Service } from "served/service.js";
import { SharedTime } from "served/shared_time.js";
import { ShownLog } from "served/shown_log.js";

/** @type {import("report/keys.js").Help[]} */
const HELP = [
  ["← →", "select the previous or next change in any log"],
  ["Space", "play the time that is shown in a minute; again: pause"],
  ["w", "why: the records that led to what is red, or to the object that is picked, in each log that answers"],
  ["u", "UTC or local time"],
  ["e", "an expression: where is it true?"],
  ["c", "check: which invariants does the history violate?"],
  ["p", "pin a note to the first record of the selected time"],
  ["z", "zoom to the selected time"],
  ["0", "show the whole time"],
  ["Esc", "close the open answers"],
  ["?", "this help"],
];

export class Together {
  help = helpDialog(HELP);
  said = make("p", { class: "said", "aria-live": "polite" });
  /** Which log answers: the name of one, or all. */
  asked = make("select", { "aria-label": "which log answers", onchange: () => this.ask.offer() }, make("option", { value: "" }, "all logs"));

  /** @param {ShownLog[]} shown */
  constructor(shown) {
    this.shown = shown;
    this.time = new SharedTime(shown.map(({ picture }) => picture));
    this.player = new Player(/** @type {any} */ (this.time), /** @type {any} */ (this.time), (isPlaying) => this.said.setAttribute("aria-live", isPlaying ? "off" : "polite"));
    this.drift = new DriftPanel(shown, () => this.time.to);
    this.asked.append(...shown.map(({ name }) => make("option", { value: name }, plain(name))));
    // One form for all logs; each answers below its events.
    this.ask = shown[0].ask;
    this.ask.answering = () => this._answering().map(({ ask }) => ask);
    this.ask.element.prepend(make("label", {}, "ask ", this.asked));
    this.time.watch(() => this._say());
    for (const each of shown) each.onLink = () => { each.tell(); this._link(); };
    document.addEventListener("keydown", (event) => this._key(event));
  }

  /** Load some logs and show them. @param {import("served/logs.js").Log[]} logs @returns {Promise<Together>} */
  static async of(logs) {
    return new Together(await Promise.all(logs.map((log) => ShownLog.of(log))));
  }

  show() {
    const { shown, time, player } = this;
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) => make("button", { type: "button", title, onclick }, text);
    const buttons = make("span", { class: "buttons" }, player.button, button("zoom in", "show the selected time (z)", () => time.zoom(false)), button("whole", "show the whole time (0)", () => time.zoom(true)));
    const states = legend(shown[0]);
    states.querySelector(".buttons")?.replaceWith(buttons);
    document.body.replaceChildren(
      make("header", {}, make("h1", {}, shown.map(({ name }) => plain(name)).join(" and "), " ", make("small", {}, "on one time axis")), make("p", { class: "range" }, make("a", { href: "./" }, "all logs")), helpButton(this.help)),
      make("main", { class: "together" }, states,
        ...shown.map(({ name, link, about, picture, bar }) => make("section", { "aria-label": plain(name) },
          make("h2", {}, link, " ", about, bar.state), picture.element)),
        this.said, this.ask.element, make("div", { class: "columns" }, ...shown.map(({ list }) => list.element)), this.drift.element, jointQuestions(new Service())), this.help);
    time.zoom(true);
    const asked = new URLSearchParams(location.hash.slice(1)), [from, to] = [Number(asked.get("begin")), Number(asked.get("end"))], { hash } = location;
    const opens = shown.map(({ data, picture }) => data.header.opens?.map((/** @type {number} */ offset) => picture.timeAt(offset))).find((each) => each) ?? time.whole();
    time.set(from && to ? { from, to } : { from: opens[0], to: opens[1] });
    for (const { ask } of shown) ask.read(hash);
    Object.assign(window, { together: this });
    for (const each of shown) this._follow(each);
    performance.mark("report-shown");
  }

  _follow(/** @type {ShownLog} */ each) {
    new Live(each.service, each.data, each.bar, (data) => {
      each.renew(data);
      this.time.renew();
      this._say();
    }).follow();
  }

  /** The logs that answer a question. */
  _answering() { return this.shown.filter(({ name }) => this.asked.value === "" || name === this.asked.value); }

  /** Show why of what is red in each log that answers, or of the object that is picked there. */
  why() {
    const told = this._answering().filter((each) => {
      const { object } = each.selection;
      if (whyOfRed(each)) return true;
      if (object !== null) each.answers.why(object, null);
      return object !== null;
    });
    if (!told.length) this.said.textContent = "Nothing is red at this time. Pick a name in the picture to ask why of it.";
  }

  /** Ask for a note on the log that answers; if all do, on the first that has a record in the selected time. */
  _note() {
    const logs = this._answering(), found = logs.find(({ selection }) => selection.from <= selection.to) ?? logs[0];
    found.notes.open();
  }

  _say() {
    const { from, to } = this.time;
    this.said.textContent = `${timeText(from)}${to > from ? ` to ${timeText(to)}` : ""}: ${this.shown.map(({ name, picture, selection }) => `${plain(name)} ${picture.healthAt(selection.to)}`).join("; ")}.`;
    for (const each of this.shown) each.tell();
    this.ask.offer();
    this.drift.draw();
    this._link();
  }

  /** Set the page's address to the selected time and what is asked. */
  _link() {
    const { from, to } = this.time;
    const asked = this.shown.find(({ selection }) => selection.asked)?.selection.asked ?? "", noted = this.shown.map(({ selection }) => selection.noted).join("");
    history.replaceState(null, "", `#together&begin=${Math.floor(from)}&end=${Math.ceil(to)}${asked}${noted}`);
  }

  _switchZone() {
    zone.isLocal = !zone.isLocal;
    for (const each of this.shown) each.redraw();
    this.time.set(this.time);
  }

  _key(/** @type {KeyboardEvent} */ event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(target.tagName) || this.help.open || (event.key === " " && /BUTTON|SUMMARY|^A$/.test(target.tagName))) return;
    const { time, player, ask } = this;
    /** @type {Record<string, () => void>} */
    const actions = {
      "ArrowLeft": () => time.step(-1), "ArrowRight": () => time.step(1), "z": () => time.zoom(false), "0": () => time.zoom(true),
      " ": () => player.toggle(), "Escape": () => { player.stop(); for (const { answers } of this.shown) answers.close(); },
      "u": () => this._switchZone(), "p": () => this._note(), "?": () => this.help.showModal(), "w": () => this.why(), "e": () => ask.expression.focus(),
      "c": () => { for (const each of this._answering()) each.ask.check(); },
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }
}

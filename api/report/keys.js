// Keys: the keyboard does everything that the mouse does.

import { above } from "report/numbers.js";
import { make } from "report/dom.js";

/** A key, and what it does. @typedef {[string, string]} Help */

/** @type {Help[]} */
const HELP = [
  ["← →", "select the previous or next change (of the selected object, if any)"],
  ["Shift ← →", "make the selection longer or shorter at its end"],
  ["Space", "play the time that is shown in a minute; again: pause"],
  ["m", "map: the brokers by rack, with what they lead and hold"],
  ["/", "search: a name, an offset, a time"],
  ["w", "why: the records that led to what is red, else to the value"],
  ["u", "UTC or local time"],
  ["h", "history of the selected object"],
  ["b", "blame: its fields, each with the record that set it"],
  ["e", "an expression: where is it true?"],
  ["c", "check: which invariants does the history violate?"],
  ["d", "what would have happened without the first record of the selection?"],
  ["p", "pin a note to the first record of the selection"],
  ["z", "zoom to the selection"],
  ["0", "show the whole report"],
  ["a", "select the whole report"],
  ["Esc", "close the open answer; if none is open, deselect the object"],
  ["?", "this help"],
];

/** @type {Help[]} */
const HELP_SERVED = [
  ["o", "outages in the selection (of the selected object, if any)"],
  ["n", "now: select the end, and follow it"],
];

/** The list of keys. @param {Help[]} keys */
export function helpDialog(keys) {
  const rows = keys.map(([key, text]) => make("div", {}, make("dt", {}, ...key.split(" ").map((k) => make("kbd", {}, k))), make("dd", {}, text)));
  const close = make("button", { type: "button", onclick: () => help.close() }, "close");
  const help = make("dialog", { "aria-labelledby": "help-title" }, make("h2", { id: "help-title", tabindex: "-1", autofocus: "" }, "Keys"), make("dl", {}, ...rows),
    make("p", {}, "Drag over the picture to select a range; click to select a moment and a row; click a colour to see that outage; click a value to see why. The address of the page is a link to what is selected."), close);
  return help;
}

/** The button that opens the list of keys. @param {HTMLDialogElement} help */
export const helpButton = (help) => make("button", { type: "button", class: "help", "aria-label": "help: keys", onclick: () => help.showModal() }, "?");

export class Keys {
  /** @param {import("report/page.js").Page} page */
  constructor(page) {
    this.page = page;
    this.help = helpDialog([...HELP, ...(page.answers.questions ? HELP_SERVED : [])]);
    document.addEventListener("keydown", (event) => this._key(event));
  }

  _key(/** @type {KeyboardEvent} */ event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(target.tagName) || this.help.open) return;
    // Space presses what has the focus.
    if (event.key === " " && /BUTTON|SUMMARY|^A$/.test(target.tagName)) return;
    const { selection, picture, difference, search, answers, ask } = this.page;
    /** @type {Record<string, () => void>} */
    const actions = {
      "ArrowLeft": () => (event.shiftKey ? this._stretch(-1) : this.step(-1)),
      "ArrowRight": () => (event.shiftKey ? this._stretch(1) : this.step(1)),
      " ": () => this.page.player.toggle(),
      "m": () => this.page.map.toggle(),
      "/": () => search.focus(),
      "w": () => this.page.why(),
      "u": () => this.page.switchZone(),
      "h": () => difference.history(),
      "b": () => difference.blame(),
      "o": () => difference.outages(),
      "n": () => selection.set({ from: selection.last, to: Infinity }),
      "e": () => ask.expression.focus(),
      "c": () => ask.check(),
      "d": () => ask.whatIf(String(selection.from)),
      "p": () => this.page.notes.open(),
      "z": () => picture.zoom(false),
      "0": () => picture.zoom(true),
      "a": () => selection.set({ from: selection.first, to: selection.last }),
      "?": () => this.help.showModal(),
      "Escape": () => (this.page.player.isPlaying ? this.page.player.stop() : answers.element.hidden ? selection.set({ object: null }) : answers.close()),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  }

  /** Select the previous or next change. @param {number} by */
  step(by) {
    const { selection, player } = this.page;
    player.stop(); // also where there is no change to go to
    const offsets = this._offsets();
    const at = by > 0 ? above(offsets, selection.to) : above(offsets, selection.from - 1) - 1;
    const offset = offsets[at];
    if (offset !== undefined) selection.set({ from: offset, to: offset });
  }

  _stretch(/** @type {number} */ by) {
    const { selection, player } = this.page;
    player.stop();
    const offsets = this._offsets();
    const at = by > 0 ? above(offsets, selection.to) : above(offsets, selection.to - 1) - 1;
    const offset = offsets[at];
    if (offset !== undefined && offset >= selection.from) selection.set({ to: offset });
  }

  /** The offsets at which the selected object changed; without an object, those of all changes. */
  _offsets() {
    const { data, selection, picture } = this.page;
    const object = selection.object === null ? null : data.find(selection.object, data.rowAt(selection.to));
    if (object === null) return picture.offsets;
    return Float64Array.from([...data.touchesOf(object)].filter((t) => data.rowOf[t] > 0), (t) => data.effect[data.rowOf[t]]);
  }
}

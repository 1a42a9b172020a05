// Pins: notes on the axis, each at the record that the note is about.

import { make } from "report/dom.js";
import { plain } from "report/words.js";

export class Pins {
  element = make("div", { class: "pins", role: "group", "aria-label": "notes" });

  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection
   * @param {import("report/notes.js").Note[]} own Notes that the log does not have. */
  constructor(data, selection, own) {
    this.selection = selection;
    /** @type {Map<number, HTMLElement>} */
    this.byOffset = new Map();
    for (const { from, text, principal } of data.events.notes(data.last)) this._pin(from, plain(`${text} by ${principal}`));
    for (const { offset, text } of own) {
      if (offset >= data.first && offset <= data.last) this._pin(offset, plain(`note: ${text} (not in the log)`)).classList.add("own");
    }
  }

  /** The pin of a record, with one more text. */
  _pin(/** @type {number} */ from, /** @type {string} */ words) {
    const known = this.byOffset.get(from);
    if (known) {
      known.title += `\n${words}`;
      known.setAttribute("aria-label", known.title);
      return known;
    }
    const button = make("button", {
      type: "button", class: "pin", title: words, "aria-label": words,
      onclick: () => this.selection.set({ from, to: from }),
      // Otherwise the press would start the selection of a range.
      onpointerdown: (/** @type {Event} */ event) => event.stopPropagation(),
    }, "✎");
    this.byOffset.set(from, button);
    this.element.append(button);
    return button;
  }

  /** @param {import("report/axis.js").Axis} axis @param {(offset: number) => number} timeAt */
  place(axis, timeAt) {
    for (const [offset, button] of this.byOffset) {
      const time = timeAt(offset);
      button.hidden = time < axis.begin || time > axis.end;
      button.style.left = `${axis.x(time)}px`;
    }
  }
}

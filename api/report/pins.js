// Pins: notes on the axis, each at the record that the note is about.

import { make } from "report/dom.js";
import { plain } from "report/words.js";

export class Pins {
  element = make("div", { class: "pins", role: "group", "aria-label": "notes" });

  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection */
  constructor(data, selection) {
    /** @type {Map<number, HTMLElement>} */
    this.byOffset = new Map();
    for (const { from, text, principal } of data.events.notes(data.last)) {
      const words = plain(`${text} by ${principal}`), known = this.byOffset.get(from);
      if (known) {
        known.title += `\n${words}`;
        known.setAttribute("aria-label", known.title);
        continue;
      }
      const button = make("button", {
        type: "button", class: "pin", title: words, "aria-label": words,
        onclick: () => selection.set({ from, to: from }),
        // Otherwise the press would start the selection of a range.
        onpointerdown: (/** @type {Event} */ event) => event.stopPropagation(),
      }, "✎");
      this.byOffset.set(from, button);
      this.element.append(button);
    }
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

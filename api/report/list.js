// The list of events in the selection, in the words of `metalog timeline`.

import { timelineCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { clockText, countText, eventParts, plain } from "report/words.js";

const EVENTS_AT_FIRST = 60, EVENTS_AT_ONCE = 24, OBJECTS_AT_FIRST = 40;

export class List {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection @param {import("report/picture.js").Picture} picture */
  constructor(data, selection, picture) {
    this.picture = picture;
    this.data = data;
    this.selection = selection;
    this.title = make("h2", { id: "happened" });
    this.list = make("ol", { class: "events" });
    this.foot = make("div");
    this.element = make("section", { class: "panel", "aria-labelledby": "happened" }, this.title, this.list, this.foot);
    // Reading scrollTop would force a layout.
    this.isScrolled = false;
    /** @type {Set<string>} Expanded events; they stay expanded while the selection follows the end. */
    this.opened = new Set();
    this.list.addEventListener("scroll", () => { this.isScrolled = true; }, { passive: true });
    selection.watch(() => this.show());
  }

  show() {
    const { from, to } = this.selection;
    const count = this.data.events.count(from, to);
    const [begin, end] = [this.picture.timeAt(from), this.picture.timeAt(to)];
    const range = `${clockText(begin)} – ${clockText(end, begin)}`;
    this.title.replaceChildren("What happened ", make("small", {}, `${range} · ${countText(count, "event")} · offsets ${from} – ${to}`));
    const isGrowing = this.selection.isGrowing, scrolled = isGrowing && this.isScrolled ? this.list.scrollTop : 0;
    if (!isGrowing) this.opened.clear();
    this.list.replaceChildren();
    fill(this.list, this._items(this.data.events.told(from, to)), EVENTS_AT_FIRST, scrolled ? EVENTS_AT_FIRST : EVENTS_AT_ONCE);
    const earlier = from > to ? "" : this._earlier(from, to);
    if (!count) this.list.append(make("li", { class: "nothing" }, earlier ? "No event begins in this range." : "Nothing happened in this range."));
    if (this.isScrolled) this.list.scrollTop = scrolled;
    this.isScrolled = scrolled > 0;
    this.foot.replaceChildren(earlier, from > to ? "" : commandLine(timelineCommand(from, to)));
  }

  /** The collapsed list of events that began before the selection. */
  _earlier(/** @type {number} */ from, /** @type {number} */ to) {
    const found = this.data.events.toldBefore(from, to);
    if (!found.length) return "";
    const list = make("ol", { class: "events" });
    const folded = make("details", {}, make("summary", {}, `${countText(found.length, "earlier event")} with a part in this range`), list);
    folded.addEventListener("toggle", () => fill(list, this._items(found), EVENTS_AT_FIRST), { once: true });
    return folded;
  }

  /** @param {Iterable<import("report/events.js").Told>} events */
  *_items(events) {
    for (const told of events) yield this._item(told);
  }

  _item(/** @type {import("report/events.js").Told} */ told) {
    const parts = eventParts(told);
    const line = make("button", { type: "button", class: "event", "aria-expanded": "false" },
      make("time", { datetime: parts.time, title: parts.time }, clockText(told.time)),
      make("span", { class: "offsets" }, parts.offsets),
      make("span", { class: `text ${told.kind}` }, parts.text),
      parts.by ? make("span", { class: "by" }, parts.by) : null);
    const item = make("li", {}, line);
    if (told.goesOn) line.append(make("span", { class: "by" }, "continues after the selection"));
    line.addEventListener("click", () => this._open(item, line, told));
    if (this.opened.has(eventName(told))) this._open(item, line, told);
    return item;
  }

  _open(/** @type {HTMLElement} */ item, /** @type {HTMLElement} */ line, /** @type {import("report/events.js").Told} */ told) {
    const isOpen = line.getAttribute("aria-expanded") === "true";
    line.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      this.opened.delete(eventName(told));
      item.querySelector(".objects")?.remove();
      return;
    }
    this.opened.add(eventName(told));
    const objects = make("div", { class: "objects" });
    objects.append(make("button", {
      type: "button", class: "chip only", onclick: () => this.selection.set({ from: told.from, to: told.to }),
    }, "select only this"));
    if (told.client !== null) objects.append(make("div", { class: "by" }, plain(`client ${told.client}`)));
    fill(objects, this._objects(told.objects), OBJECTS_AT_FIRST);
    item.append(objects);
  }

  *_objects(/** @type {string[]} */ names) {
    for (const name of names) {
      yield make("button", { type: "button", class: "chip", onclick: () => this.selection.set({ object: name }) }, plain(name));
    }
  }
}

/** A key of an event that stays the same when newer data extend the event. @param {import("report/events.js").Told} told */
function eventName(told) { return `${told.from} ${told.kind}`; }

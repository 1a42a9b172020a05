// The list of events in the selection, in the words of `metalog timeline`.

import { timelineCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { groupList } from "report/event_groups.js";
import { Filter } from "report/filter.js";
import { clockText, countText, dayText, eventParts, grouped, plain } from "report/words.js";

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
    this.filter = new Filter(selection, () => this.show());
    this.element = make("section", { class: "panel", "aria-labelledby": "happened" }, this.title, this.filter.element, this.list, this.foot);
    // Reading scrollTop would force a layout.
    this.isScrolled = false;
    /** @type {Set<string>} Expanded events; they stay expanded while the selection follows the end. */
    this.opened = new Set();
    this.list.addEventListener("scroll", () => { this.isScrolled = true; }, { passive: true });
    selection.watch(() => this.show());
  }

  show() {
    const { from, to } = this.selection;
    const { events } = this.data, { isOn } = this.filter;
    const accepts = isOn ? this.filter.accepts(events) : undefined;
    const all = events.count(from, to), count = isOn ? events.count(from, to, accepts) : all;
    this.filter.draw(events);
    const [begin, end] = [this.picture.timeAt(from), this.picture.timeAt(to)];
    const range = from > to ? "" : `${clockText(begin)} – ${clockText(end, begin)} · `, offsets = from > to ? "" : ` · offsets ${from} – ${to}`;
    this.title.replaceChildren("What happened ", make("small", {}, `${range}${isOn ? `${grouped(count)} of ` : ""}${countText(all, "event")}${offsets}`));
    const isGrowing = this.selection.isGrowing, scrolled = isGrowing && this.isScrolled ? this.list.scrollTop : 0;
    if (!isGrowing) this.opened.clear();
    this.list.replaceChildren();
    fill(this.list, this._items(events.told(from, to, accepts), begin), EVENTS_AT_FIRST, scrolled ? EVENTS_AT_FIRST : EVENTS_AT_ONCE);
    const earlier = from > to ? "" : this._earlier(from, to, accepts);
    const nothing = from > to ? "There are no records: only a state is known." : earlier ? "No event begins in this range." : "Nothing happened in this range.";
    if (!count) this.list.append(make("li", { class: "nothing" }, nothing));
    if (this.isScrolled) this.list.scrollTop = scrolled;
    this.isScrolled = scrolled > 0;
    const { kinds, objects, rest } = this.filter.options;
    const left = rest === null ? "" : make("p", { class: "remark" }, `The command has no filter for ${rest}.`);
    this.foot.replaceChildren(earlier, ...(from > to ? [] : [commandLine(timelineCommand(this.selection.where, from, to, kinds, objects)), left]));
  }

  /** The collapsed list of events that began before the selection. */
  _earlier(/** @type {number} */ from, /** @type {number} */ to, /** @type {((i: number) => boolean)|undefined} */ accepts) {
    const found = this.data.events.toldBefore(from, to, accepts);
    if (!found.length) return "";
    const list = make("ol", { class: "events" });
    const folded = make("details", {}, make("summary", {}, `${countText(found.length, "earlier event")} with a part in this range`), list);
    folded.addEventListener("toggle", () => fill(list, this._items(found), EVENTS_AT_FIRST), { once: true });
    return folded;
  }

  /** The items; the first one of a day that is not the day before it has the date.
   * @param {Iterable<import("report/events.js").Told>} events @param {number} [begin] The time before the first one. */
  *_items(events, begin) {
    let day = begin === undefined ? "" : dayText(begin);
    for (const told of events) {
      const item = this._item(told), now = dayText(told.time);
      // Drawn by the style sheet.
      if (now !== day) item.dataset.day = now;
      day = now;
      yield item;
    }
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
    const pick = (/** @type {string} */ name) => this.selection.set({ object: name }), groups = groupList(this.data, told, pick);
    if (groups) objects.append(groups);
    else fill(objects, this._objects(told.objects), OBJECTS_AT_FIRST);
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

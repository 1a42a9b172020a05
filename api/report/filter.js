// Which events the list shows: those of the picked object, of some kinds, of one principal.

import { make } from "report/dom.js";
import { plain } from "report/words.js";

/** @typedef {import("report/events.js").Events} Events */
/** The kinds of events, in the order of `metalog timeline --help`, and then the notes and gaps. */
const KINDS = ["controllers", "brokers", "partitions", "topics", "others", "notes", "gap"];

/** `timeline` has no option for notes and gaps, nor for principals. */
const OPTIONS = new Set(KINDS.slice(0, -2));

export class Filter {
  /** @type {string[]} The kinds that are shown; all if there are none. */
  kinds = [];
  /** @type {string|null} */
  principal = null;
  /** False: the events of all objects, even if one is picked. */
  isOfObject = true;
  element = make("div", { class: "filter", role: "group", "aria-label": "filter of the events" });
  people = make("select", { "aria-label": "only the events of a principal", onchange: () => this.set({ principal: this.people.value || null }) });

  /** The kinds and principals that there are, and the number of events in which they were found. */
  _found = { kinds: /** @type {string[]} */ ([]), people: /** @type {string[]} */ ([]), count: -1 };

  /** @param {import("report/selection.js").Selection} selection @param {() => void} changed */
  constructor(selection, changed) {
    this.selection = selection;
    this.changed = changed;
  }

  /** The kinds and principals that there are; looked for again if there are more events. */
  _among(/** @type {Events} */ events) {
    if (this._found.count !== events.length) {
      const there = new Set(events.kind);
      this._found = { kinds: KINDS.filter((kind) => there.has(kind)), people: peopleOf(events), count: events.length };
    }
    return this._found;
  }

  /** @param {{kinds?: string[], principal?: string|null, isOfObject?: boolean}} to */
  set(to) {
    Object.assign(this, to);
    this.changed();
  }

  /** True if only some events are shown. */
  get isOn() { return this.kinds.length > 0 || this.principal !== null || this.object !== null; }

  /** The object whose events alone are shown; null for all objects. */
  get object() { return this.isOfObject ? this.selection.object : null; }

  /** A function that tells by an event's index whether it is shown. @param {Events} events @returns {(i: number) => boolean} */
  accepts(events) {
    const { kinds, principal, object } = this, names = object === null ? null : namesOf(events, object);
    return (i) => (kinds.length === 0 || kinds.includes(events.kind[i])) && (principal === null || asks(events, i, principal))
      && (names === null || events.objectsOf(i).some((name) => names.has(name)));
  }

  /** The options with which `metalog timeline` shows the same events, and what it cannot.
   * @returns {{kinds: string[], objects: string[], rest: string|null}} */
  get options() {
    const kinds = this.kinds.filter((kind) => OPTIONS.has(kind));
    const left = this.kinds.filter((kind) => !OPTIONS.has(kind)).map((kind) => (kind === "gap" ? "gaps" : kind));
    if (this.principal !== null) left.push("the principal");
    return { kinds: kinds.length === this.kinds.length ? kinds : [], objects: this.object === null ? [] : patternsOf(this.object), rest: left.join(" and ") || null };
  }

  /** Draw the buttons for the kinds and principals that there are. @param {Events} events */
  draw(events) {
    const { kinds, people } = this._among(events);
    const buttons = kinds.map((kind) => make("button", {
      type: "button", class: `kind ${kind}`, "aria-pressed": String(this.kinds.includes(kind)), title: `only ${kind}`,
      onclick: () => this.set({ kinds: this.kinds.includes(kind) ? this.kinds.filter((each) => each !== kind) : [...this.kinds, kind] }),
    }, kind));
    const object = this.selection.object === null ? null : make("button", {
      type: "button", class: "kind", "aria-pressed": String(this.isOfObject), title: "only events of the picked object",
      onclick: () => this.set({ isOfObject: !this.isOfObject }),
    }, plain(`only ${this.selection.object}`));
    this.people.replaceChildren(make("option", { value: "" }, "by anyone"),
      ...people.map((name) => make("option", { value: name, selected: name === this.principal }, plain(name))));
    const focused = this.element.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
    this.element.replaceChildren(...[kinds.length > 1 ? buttons : [], object ?? [], people.length ? this.people : []].flat());
    if (focused === this.people) focused.focus();
    else if (focused) buttons.find((each) => each.textContent === focused.textContent)?.focus();
  }
}

/** The principals that wrote events or asked for them, by name. @param {Events} events */
function peopleOf(events) {
  const found = new Set(events.origin.flatMap(([principal, , , asked]) => [principal, ...asked.map(([, by]) => by)]));
  return [...found].filter((name) => name !== null).sort();
}

function asks(/** @type {Events} */ events, /** @type {number} */ i, /** @type {string} */ principal) {
  const [writer, , , asked] = events.origin[i];
  return writer === principal || asked.some(([, by]) => by === principal);
}

/** The names, as indices, of an object and of what belongs to it: a topic's partitions and configs. */
function namesOf(/** @type {Events} */ events, /** @type {string} */ object) {
  const topic = object.startsWith("topic:") ? object.slice("topic:".length) : null, found = new Set();
  const begin = `partition:${topic}/`, config = `config:topic/${topic}`;
  events.names.forEach((name, i) => {
    if (name === object || (topic !== null && (name === config || (name.startsWith(begin) && /^\d+$/.test(name.slice(begin.length)))))) found.add(i);
  });
  return found;
}

/** The same as patterns of the command line. @param {string} object */
function patternsOf(object) {
  if (!object.startsWith("topic:")) return [object];
  const topic = object.slice("topic:".length);
  return [object, `partition:${topic}/*`, `config:topic/${topic}`];
}

// Ask: where does an expression hold, and what if something had not happened. A service answers with rows
// below the picture's axis and in words; a report in a file has no log to ask, and names the command.

import { ExpressionInput } from "asked/expression_input.js";
import { flipsText, flipStrip } from "asked/flips.js";
import { futureStrips, partingText } from "asked/second_future.js";
import { violationStrip, violationText } from "asked/violations.js";
import { foldedGroup } from "report/event_groups.js";
import { bisectCommand, checkCommand, whatIfCommand } from "report/commands.js";
import { commandLine, fill, make } from "report/dom.js";
import { countText, grouped, plain, timeText, valueText } from "report/words.js";

const ITEMS_AT_FIRST = 12, STRIPS_AT_FIRST = 6, STRIPS_MAX = 40;

/** A service is asked again for new records at most this often. */
const AGAIN_MS = 15_000;

/** What the answers are called, by owner. */
const LABELS = new Map([["ask", "where it is true"], ["check", "check"], ["without", "what if not"]]);

/** @typedef {import("report/answers.js").Questions} Questions */
/** What an answer consists of. @typedef {{nodes: Node[], strips: import("asked/strips.js").Strip[]}} Answered */

/** What is asked about. @typedef {{data: import("report/data.js").Data, picture: import("report/picture.js").Picture, selection: import("report/selection.js").Selection}} Asked */

export class Ask {
  expression;
  without = make("input", { type: "text", class: "without", spellcheck: "false", autocomplete: "off", "aria-label": "offset of a record, or an object, as in broker:2#fenced=true", size: "18" });
  answers = make("div", { class: "asked" });
  /** The open answers, by owner of their rows. @type {Map<string, HTMLElement>} */
  _open = new Map();
  /** Draws each answer again. @type {Map<string, () => void>} */
  _drawn = new Map();
  _askedAt = -Infinity;
  _ticket = 0;

  /** Which of several logs answer what the form asks. @type {() => Ask[]} */
  answering = () => [this];

  /** @param {Asked} page @param {Questions|null} questions */
  constructor(page, questions) {
    this.page = page;
    this.questions = questions;
    this.expression = new ExpressionInput(page.data);
    const button = (/** @type {string} */ text, /** @type {string} */ title) => make("button", { type: "submit", title }, text);
    const submits = (/** @type {() => void} */ act) => (/** @type {Event} */ event) => { event.preventDefault(); act(); };
    this.element = make("section", { class: "ask", "aria-label": "ask" },
      make("form", { onsubmit: submits(() => this._all((each) => each.flips(this.expression.text))) }, make("span", {}, "when was"), this.expression.element, button("true?", "where the expression holds (e, Enter)"),
        make("button", { type: "button", title: "which invariants the history violates (c)", onclick: () => this._all((each) => each.check()) }, "check invariants")),
      make("form", { onsubmit: submits(() => this._whatIf()) }, make("span", {}, "without the record"), this.without, button("what would have happened?", "an offset, or a value such as broker:1#fenced=true (d)")),
      this.answers);
    page.selection.watch(() => this.offer());
    page.selection.window.addEventListener("hashchange", () => this.read(page.selection.window.location.hash));
    this.read(page.selection.window.location.hash);
  }

  _all(/** @type {(each: Ask) => void} */ act) { this.answering().forEach(act); }

  /** Offer to leave out the first record of the selection, unless something else was written. */
  offer() {
    const [{ page }, ...others] = this.answering();
    if (document.activeElement !== this.without && /^\d*$/.test(this.without.value)) this.without.value = others.length ? "" : String(page.selection.from);
  }

  _whatIf() {
    const text = this.without.value.trim();
    if (/^\d+$/.test(text) && this.answering().length > 1) this._fill("without", [make("p", { class: "remark" }, "An offset is that of one log: choose which one answers.")]);
    else this._all((each) => each.whatIf(text));
  }

  /** Ask what a link asks. @param {string} hash The fragment of the link. */
  read(hash) {
    const link = new URLSearchParams(hash.slice(1)), [ask, without] = [link.get("ask"), link.get("without")];
    if (link.has("check") && !this._asked.has("check")) this.check();
    if (ask !== null && ask !== this._asked.get("ask")) this.flips(ask);
    if (without !== null && without !== this._asked.get("without")) this.whatIf(without);
  }

  /** What was asked, by the name that it has in the link. @type {Map<string, string>} */
  _asked = new Map();

  _link() {
    const { selection } = this.page;
    selection.asked = [...this._asked].map(([name, text]) => `&${name}=${encodeURIComponent(text)}`).join("");
    selection.show();
  }

  /** Ask again after newer records, if an expression is shown. */
  renew() {
    const { page } = this, expression = this._asked.get("ask");
    this.expression.data = page.data;
    if (expression === undefined || this.questions === null || performance.now() - this._askedAt < AGAIN_MS) return;
    this.flips(expression, true);
  }

  /** Show where an expression holds in the page's range. */
  flips(expression = this.expression.text, isAgain = false) {
    if (!expression) return this.expression.focus();
    const { first, last } = this.page.data, { picture } = this.page;
    if (!isAgain) this.expression.text = expression;
    this._askedAt = performance.now();
    return this._ask("ask", expression, bisectCommand(this.page.selection.where, expression, first, last), () => this.questions?.flips(expression, first, last), (found) => {
      const records = make("ol", { class: "chain" });
      fill(records, found.flips.map((flip) => this._flip(flip)).values(), ITEMS_AT_FIRST);
      const strip = flipStrip(expression, found, (offset) => picture.timeAt(offset), picture.timeAt(last));
      return { nodes: [make("h3", {}, plain(expression)), make("p", {}, plain(flipsText(found, first, last))), records], strips: [strip] };
    }, isAgain);
  }

  /** Show which invariants the history violates. */
  check() {
    const { first, last } = this.page.data, { picture } = this.page;
    return this._ask("check", "", checkCommand(this.page.selection.where, first, last), () => this.questions?.violations(first, last), ({ violations }) => {
      const list = make("ol", { class: "chain" });
      fill(list, violations.map((each) => this._violation(each)).values(), ITEMS_AT_FIRST);
      const heading = violations.length ? countText(violations.length, "violation") : "no violation";
      return { nodes: [make("h3", {}, `${heading} from ${first} to ${last}`), list], strips: [violationStrip(violations, (offset) => picture.timeAt(offset), picture.timeAt(last))] };
    });
  }

  /** Show what would have been without a record, or without what was done to an object. */
  whatIf(text = this.without.value.trim()) {
    if (!text) return this.without.focus();
    const { data, selection } = this.page, { last } = data;
    this.without.value = text;
    const from = /^\d+$/.test(text) ? null : Math.max(selection.from - 1, data.header.history_from);
    return this._ask("without", text, whatIfCommand(this.page.selection.where, text, from, last), () => this.questions?.whatIf(text, from, last), (found) => this._future(text, found));
  }

  /** @param {string} text @param {import("asked/second_future.js").Future} found @returns {Answered} */
  _future(text, found) {
    const { data, picture, selection } = this.page, pick = (/** @type {string} */ object) => selection.set({ object });
    const strips = futureStrips(data, found.partings, (offset) => picture.timeAt(offset), pick);
    const list = make("ul", { class: "groups" });
    fill(list, groupsOf(found.partings).map(({ kind, text: change, names, about }) => make("li", {}, foldedGroup(kind, change, names, about, pick))).values(), ITEMS_AT_FIRST);
    const lasting = new Set(found.partings.filter(({ to_offset: to }) => to === null).map(({ object }) => object));
    const end = lasting.size ? `${countText(lasting.size, "object")} still ${lasting.size === 1 ? "differs" : "differ"} at ${found.as_of}.`
        : found.partings.length ? `Both are equal again from offset ${found.meets_again} on.` : "Both futures are equal.";
    const count = new Set(found.partings.map(({ object }) => object)).size;
    const refused = found.refused.length ? `; ${countText(found.refused.length, "request")} that ${found.refused.length === 1 ? "was" : "were"} carried out would have been refused` : "";
    return {
      nodes: [
        make("h3", {}, plain(/^\d+$/.test(text) ? `without the record ${text}` : `without ${text}`)),
        ...found.changed.slice(0, ITEMS_AT_FIRST).map((change) => make("p", {}, plain(change))),
        make("p", {}, `${countText(count, "object")} would have been different. ${end}`),
        make("p", { class: "remark" }, `All decisions after offset ${found.from} were repeated without it: ${grouped(found.decided.asked)} from the requests in the log, ${grouped(found.decided.inferred)} from requests that the log implies, ${grouped(found.decided["as recorded"])} copied unchanged${refused}. Brokers act as in the log.`),
        list,
      ],
      strips,
    };
  }

  /** Ask the service, and show its answer; without a service, show the command that asks.
   * @template T
   * @param {string} owner @param {string} text @param {string} command @param {() => Promise<T>|undefined} ask @param {(found: T) => Answered} show */
  async _ask(owner, text, command, ask, show, isAgain = false) {
    const ticket = ++this._ticket, panel = this._panel(owner);
    this._asked.set(owner, text);
    panel.dataset.ticket = String(ticket);
    this._link();
    const told = ask();
    if (told === undefined) {
      this._fill(owner, [make("p", { class: "remark" }, "A report has no log to ask. This command answers:"), commandLine(command)]);
      return;
    }
    if (!isAgain) this._fill(owner, [make("p", { class: "remark" }, "asking the service …")]);
    try {
      const found = await told;
      if (panel.dataset.ticket !== String(ticket)) return;
      const draw = () => {
        const { nodes, strips } = show(found);
        this._strips(owner, strips, STRIPS_AT_FIRST);
        this._fill(owner, [...nodes, commandLine(command)]);
      };
      this._drawn.set(owner, draw);
      draw();
    } catch (error) {
      if (panel.dataset.ticket !== String(ticket) || isAgain) return;
      this.page.picture.strips.set(owner, []);
      this._fill(owner, [make("p", { class: "remark failed" }, plain(/** @type {Error} */ (error).message))]);
    }
  }

  /** Show the first rows; a button shows more. */
  _strips(/** @type {string} */ owner, /** @type {import("asked/strips.js").Strip[]} */ strips, /** @type {number} */ count) {
    const rest = Math.min(strips.length, STRIPS_MAX) - count;
    const more = rest > 0 ? make("button", { type: "button", class: "quiet", onclick: () => this._strips(owner, strips, STRIPS_MAX) }, `${rest} more`) : null;
    this.page.picture.strips.set(owner, strips.slice(0, count), more);
  }

  /** Show the times of the answers in the page's zone. */
  redraw() { for (const draw of this._drawn.values()) draw(); }

  /** The panel of an answer, which stays until it is closed. @returns {HTMLElement} */
  _panel(/** @type {string} */ owner) {
    const known = this._open.get(owner) ?? make("div", { class: "answer", role: "region", "aria-live": "polite", "aria-label": LABELS.get(owner) ?? "" });
    this._open.set(owner, known);
    this.answers.append(known);
    return known;
  }

  _fill(/** @type {string} */ owner, /** @type {Node[]} */ nodes) {
    const close = make("button", { type: "button", class: "close", "aria-label": "close", onclick: () => this.close(owner) }, "×");
    this._panel(owner).replaceChildren(close, ...nodes);
  }

  /** Close an answer, with its rows. @param {string} owner */
  close(owner) {
    this._open.get(owner)?.remove();
    this._open.delete(owner);
    this._drawn.delete(owner);
    this._asked.delete(owner);
    this.page.picture.strips.set(owner, []);
    this._link();
  }

  _flip(/** @type {import("asked/flips.js").Flip} */ { offset, time, value, type, cause, principal, reason }) {
    const { selection } = this.page, by = [principal && `by ${principal}`, reason && `(${reason})`].filter(Boolean).join(" ");
    return make("li", {},
      make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => selection.set({ from: cause, to: offset }) }, `${offset}`),
      make("time", { datetime: timeText(time) }, timeText(time)), make("span", {}, plain(valueText(value))), make("span", { class: "type" }, type), make("span", { class: "by" }, plain(by)));
  }

  _violation(/** @type {import("asked/violations.js").Violation} */ violation) {
    const { offset, until, time, type } = violation, { selection } = this.page;
    const onclick = () => selection.set({ from: offset ?? -Infinity, to: until ?? Infinity });
    return make("li", {},
      make("button", { type: "button", class: "link offset", title: "select the time of this violation", onclick }, `${offset ?? "before the range"}`),
      time === null ? null : make("time", { datetime: timeText(time) }, timeText(time)), make("span", { class: "type" }, type ?? ""), make("div", { class: "text" }, plain(violationText(violation))));
  }
}

/** The differences, with the objects that differ alike in one group. @param {import("asked/second_future.js").Parting[]} partings */
function groupsOf(partings) {
  /** @type {Map<string, {kind: string, text: string, names: string[], about: string}>} */
  const found = new Map();
  for (const each of partings) {
    const [kind] = each.object.split(":", 1), text = partingText(each), about = `${each.from_offset} to ${each.to_offset ?? "the end"}`, key = `${kind} ${text} ${about}`;
    const known = found.get(key);
    if (known) known.names.push(each.object);
    else found.set(key, { kind, text, names: [each.object], about });
  }
  return [...found.values()];
}

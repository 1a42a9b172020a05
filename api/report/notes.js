// Notes: the reader pins one to a record. A service writes it to the log if the reader may change the
// cluster; otherwise the page's address keeps it, and a report can be written that has it.

import { reportCommand } from "report/commands.js";
import { commandLine, make } from "report/dom.js";
import { countText, plain, timeText } from "report/words.js";

/** As for `metalog notes add`. */
const LENGTH_MAX = 4096;

/** @typedef {{offset: number, text: string}} Note */

/** What the notes are about. @typedef {{data: import("report/data.js").Data, picture: import("report/picture.js").Picture, selection: import("report/selection.js").Selection}} Noted */

/** Writes notes to the log, unless it may not. @typedef {{mayNote: boolean, addNote: (offset: number, text: string) => Promise<string>}} NoteWriter */

export class Notes {
  button = make("button", { type: "button", class: "note", "aria-expanded": "false", title: "pin a note to the first record of the selection (p)", onclick: () => this.open() }, "✎ note");
  offset = make("input", { type: "text", inputmode: "numeric", pattern: "[0-9]+", required: true, size: "9", autocomplete: "off", "aria-label": "offset of the record" });
  text = make("input", { type: "text", required: true, maxlength: String(LENGTH_MAX), autocomplete: "off", "aria-label": "text of the note" });
  place = make("small");
  said = make("p", { class: "remark", role: "status" });
  list = make("ul", { class: "chain", "aria-label": "notes of this page" });
  foot = make("div");
  form = make("form", { hidden: true, "aria-label": "a note" }, make("span", {}, "note on record"), this.offset, this.text,
    make("button", { type: "submit" }, "pin"), make("button", { type: "button", "aria-label": "close the note", onclick: () => this.close() }, "×"), this.place);
  element = make("section", { class: "pinned", "aria-label": "notes" }, this.form, this.said, this.list, this.foot);

  /** Notes that only the address has. @type {Note[]} */
  kept = [];
  /** Called when the log has a new note. */
  onWritten = () => {};

  /** @param {Noted} page @param {Note[]} given Notes of a report in a file. @param {NoteWriter|null} writer
   * @param {string} [log] The name of the log, on a page of several. */
  constructor(page, given, writer, log) {
    this.page = page;
    this.given = given;
    this.writer = writer;
    /** Their parameter in the link. */
    this.key = log === undefined ? "note" : `note of ${log}`;
    if (log !== undefined) this.element.setAttribute("aria-label", plain(`notes on ${log}`));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.pin(); });
    this.form.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
    addEventListener("hashchange", () => this._read());
    this._read();
  }

  /** Ask for a note about the first record of the selection. */
  open() {
    const { from, to } = this.page.selection;
    // Of an empty selection, the record before it.
    this.offset.value = String(Math.min(from, to));
    this.place.textContent = this.writer?.mayNote ? "It is written to the log; all readers see it." : "It is kept in the address of this page only.";
    this._show(true);
    this.text.focus();
  }

  close() {
    this._show(false);
    this.button.focus();
  }

  _show(/** @type {boolean} */ isOpen) {
    this.form.hidden = !isOpen;
    this.button.setAttribute("aria-expanded", String(isOpen));
  }

  /** Pin the note of the form: the service writes it, or the address keeps it. */
  async pin() {
    const note = { offset: Number(this.offset.value), text: this.text.value.trim() };
    if (!note.text) return;
    if (!this.writer?.mayNote) {
      this._keep(note);
      return;
    }
    try {
      const author = await this.writer.addNote(note.offset, note.text);
      this._done(`pinned to record ${note.offset} in the log, by ${author}`);
      this.onWritten();
    } catch (error) {
      // The text is still in the form.
      this.said.replaceChildren(plain(`${/** @type {Error} */ (error).message} `), make("button", { type: "button", class: "link", onclick: () => this._keep(note) }, "keep it in the address instead"));
    }
  }

  _keep(/** @type {Note} */ note) {
    const { first, last } = this.page.data;
    if (note.offset < first || note.offset > last) {
      this.said.textContent = `this page has the records ${first} to ${last}, not ${note.offset}`;
      return;
    }
    this.kept = [...this.kept.filter(({ offset, text }) => offset !== note.offset || text !== note.text), note];
    this._done(`pinned to record ${note.offset}, in the address of this page`);
    this._link();
  }

  _done(/** @type {string} */ text) {
    this.said.textContent = plain(text);
    this.text.value = "";
    this.close();
  }

  _remove(/** @type {Note} */ note) {
    this.kept = this.kept.filter((each) => each !== note);
    this.said.textContent = `the note on record ${note.offset} is no longer in the address`;
    this._link();
    this.button.focus();
  }

  /** Take the notes of the page's link. */
  _read() {
    const given = new URLSearchParams(location.hash.slice(1)).getAll(this.key).map((text) => /^(\d+):([^]+)$/.exec(text));
    this.kept = given.flatMap((found) => (found ? { offset: Number(found[1]), text: found[2].slice(0, LENGTH_MAX) } : []));
    this._noted();
    this.draw();
  }

  _noted() { this.page.selection.noted = this.link(this.key); }

  /** The notes that the address keeps, as parameters of a link. @param {string} key */
  link(key) { return this.kept.map(({ offset, text }) => `&${encodeURIComponent(key)}=${encodeURIComponent(`${offset}:${text}`)}`).join(""); }

  _link() {
    this._noted();
    this.page.selection.show();
    this.draw();
  }

  /** Show the notes on the axis, and list them. */
  draw() {
    const { given, kept, page } = this, all = [...given, ...kept].sort((a, b) => a.offset - b.offset);
    page.picture.pin(all);
    this.list.replaceChildren(...all.map((note) => this._item(note)));
    const { first, last } = page.data, about = make("p", { class: "remark" }, `${countText(kept.length, "note")} only in the address of this page. This command writes a report that has ${all.length === 1 ? "it" : "them"}:`);
    this.foot.replaceChildren(...(kept.length ? [about, commandLine(reportCommand(page.selection.where, first, last, all))] : []));
  }

  _item(/** @type {Note} */ note) {
    const { offset, text } = note, { selection, picture } = this.page, time = timeText(picture.timeAt(offset));
    return make("li", {},
      make("button", { type: "button", class: "link offset", title: "select this record", onclick: () => selection.set({ from: offset, to: offset }) }, `${offset}`),
      make("time", { datetime: time }, time), make("span", { class: "text notes" }, plain(text)),
      this.kept.includes(note) ? make("button", { type: "button", class: "link", "aria-label": plain(`remove the note ${text}`), onclick: () => this._remove(note) }, "remove") : null);
  }
}

// A served page whose first columns are there: shows them, loads other ranges, and keeps up to date.

import { commandLine, make } from "report/dom.js";
import { Page } from "report/page.js";
import { plain } from "report/words.js";
import { Bar } from "served/bar.js";
import { Live } from "served/live.js";
import { OtherQuestions } from "served/other_questions.js";
import { showOwn } from "served/own.js";
import { Refused } from "served/service.js";

/** The list of the logs, from the page of one of several. */
const LIST = "../../", IS_ONE_OF_SEVERAL = /\/logs\/[^/]+\/$/.test(location.pathname);

/** What is answered elsewhere: where, or by which command. @param {import("report/selection.js").Selection} selection */
function elsewhereNodes({ where, to }) {
  const remark = (/** @type {(string|Node)[]} */ ...parts) => make("p", { class: "remark" }, ...parts);
  const joint = "Which nodes agree, who is behind, and where to start from after a lost quorum, is asked of several logs at once: ";
  return [
    ...(IS_ONE_OF_SEVERAL ? [remark(joint, make("a", { href: LIST }, "all logs"))] : [remark(joint), commandLine(`metalog view ${where} OTHER`)]),
    remark("The page writes nothing. This command writes the state as a checkpoint that Kafka loads:"),
    commandLine(`metalog export kraft ${where} NEW --as checkpoint --at ${to}`),
  ];
}

export class Served {
  bar = new Bar();
  seen = -1;

  /** @param {import("served/first_columns.js").FirstColumns} first */
  constructor({ service, summary, from, to, failed }) {
    this.service = service;
    this.summary = summary;
    // The first and last point of the loaded range; no last point while the page is live.
    this.from = from;
    this.to = to;
    this.bar.failed.textContent = failed;
  }

  /** Show the page in place of what the document shows. @param {import("report/data.js").Data} data */
  async show(data) {
    document.body.replaceChildren();
    if (data.header.is_of_topics) {
      Object.assign(window, { served: await showOwn(document, this.service, data, () => this._signOut()) });
      return;
    }
    const { name, where } = this.service;
    this.page = new Page(data, { name, where, masked: false }, this.service);
    document.title = `${name}: metalog`;
    const { bar, page } = this;
    if (IS_ONE_OF_SEVERAL) this.bar.element.prepend(make("a", { href: LIST }, "all logs"));
    this.bar.now.addEventListener("click", () => page.selection.set({ from: page.selection.last, to: Infinity }));
    bar.news.addEventListener("click", () => page.selection.set({ from: Math.min(this.seen + 1, page.selection.last), to: Infinity }));
    bar.form.addEventListener("submit", (event) => { event.preventDefault(); this._load(); });
    bar.signOut.addEventListener("click", () => this._signOut());
    bar.signOut.hidden = this.service.token === null;
    this.seen = data.last;
    page.selection.watch(({ follows, to }) => { if (follows) this._looked(to); });
    this._place();
    this.summary.page = page;
    page.notes.onWritten = () => this._noted();
    this._offerQuestions(page);
    page.show(document, this.summary.element, bar.element);
    page.selection.show();
    addEventListener("hashchange", () => this._follow_link());
    Object.assign(window, { served: this });
    performance.mark("report-shown");
    if (!this.summary.isKnown) this.summary.ask();
    this._follow();
  }

  /** Offer all other questions; those about several logs are asked where several are shown. @param {Page} page */
  _offerQuestions(page) {
    const { selection } = page, elsewhere = make("div", { class: "elsewhere" });
    const asked = new OtherQuestions(this.service, () => {
      const { from, to, object } = selection, name = object?.match(/^topic:(.*)/)?.[1] ?? "";
      return { at: String(to), from: String(from), to: String(to), object: object ?? "", objects: object ?? "", name, only: object ?? "" };
    }, "more questions", elsewhere);
    const offer = () => {
      asked.offer();
      if (this.service.isShown) elsewhere.replaceChildren(...elsewhereNodes(selection));
    };
    offer();
    selection.watch(offer);
    page.ask.element.append(asked.element);
  }

  _signOut() {
    this.service.token = null;
    location.reload();
  }

  /** Load the range given in the form. */
  async _load() {
    const { bar } = this, [from, to] = [bar.from, bar.to].map((input) => input.value.trim() || null);
    bar.failed.textContent = "";
    bar.form.toggleAttribute("aria-busy", true);
    try {
      const data = await this.service.columns(from, to === "end" ? null : to);
      [this.from, this.to] = [String(data.first), to === null || to === "end" ? null : String(data.last)];
      this._take(data);
      const { opens } = data.header;
      this.page?.selection.set(opens ? { from: opens[0], to: opens[1] } : { from: data.first, to: data.last });
      this.page?.picture.zoom(true);
      this._follow();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      bar.failed.textContent = plain(error.message);
    } finally {
      bar.form.toggleAttribute("aria-busy", false);
    }
  }

  /** A note was written: a range that is not live is loaded again. */
  async _noted() {
    if (this.to === null) return;
    try {
      this._take(await this.service.columns(this.from, this.to));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.bar.failed.textContent = plain(error.message);
    }
  }

  /** Reload the page if a link opened in this tab has another range. */
  _follow_link() {
    const link = new URLSearchParams(location.hash.slice(1));
    const [first, last] = [link.get("first"), link.get("last")];
    if (first !== null && (first !== this.from || last !== this.to)) location.reload();
  }

  /** Add the loaded range to the link. */
  _place() {
    const { page } = this;
    if (!page) return;
    this.from = String(page.data.first);
    // A range that the service cut short is not live.
    if (page.data.last < page.data.header.asked[1]) this.to = String(page.data.last);
    page.selection.place = `&first=${this.from}${this.to === null ? "" : `&last=${this.to}`}`;
    [this.bar.from.value, this.bar.to.value] = [this.from, this.to ?? "end"];
  }

  /** @param {import("report/data.js").Data} data */
  _take(data) {
    const { page } = this;
    if (!page) return;
    page.renew(data);
    this.summary.ask();
    this._place();
    page.selection.show();
    if (page.selection.follows) this._looked(data.last);
    this.bar.tellNew(this.to === null ? data.last - this.seen : 0);
  }

  _looked(/** @type {number} */ last) {
    this.seen = last;
    this.bar.tellNew(0);
  }

  /** Follow new records, unless the range has an end. */
  _follow() {
    const { page, bar } = this;
    this.live?.stop();
    if (!page) return;
    if (this.to !== null) {
      bar.say("still", "not live: the range has an end");
      return;
    }
    this.live = new Live(this.service, page.data, bar, (data) => this._renew(data));
    this.live.follow();
  }

  /** Show newer data. @param {import("report/data.js").Data} data */
  _renew(data) {
    const { page, live, bar } = this;
    if (!page) return;
    // The reader got or lost the right to see the whole cluster.
    if (data.header.is_of_topics) location.reload();
    data.header.asked[0] = page.data.header.asked[0];
    if (data.first > page.data.first && page.selection.from < data.first && !page.selection.follows) {
      live?.stop();
      bar.say("still", `not live: the page is full. Press load for what came after offset ${page.data.last}.`);
      return;
    }
    this._take(data);
    // Its end did not fit.
    if (this.to !== null) this._follow();
  }
}

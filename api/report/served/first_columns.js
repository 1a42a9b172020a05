// Loads the first columns of a page, and shows meanwhile what is known of the log.

import { make } from "report/dom.js";
import { plain } from "report/words.js";
import { firstLook } from "served/first_look.js";
import { Refused } from "served/service.js";

/** So soon a service that is away is asked again: a log that is being read is there at any moment. */
const RETRY_MS = 300;

/** When the columns are not there after this time, what is known is asked, which takes the service a moment. */
const KNOWN_AFTER_MS = 50;

const pause = (/** @type {number} */ ms) => new Promise((go) => setTimeout(go, ms));

export class FirstColumns {
  /** @type {import("served/first_look.js").Known|null} What is known of the log. */
  known = null;
  /** Why the range of the link is not shown; empty if it is. */
  failed = "";
  isWaiting = false;

  /** @param {import("served/service.js").Service} service @param {import("served/asked_summary.js").AskedSummary} summary */
  constructor(service, summary) {
    this.service = service;
    this.summary = summary;
    // The first and last point of the range to load; no last point for a page that is live.
    const link = new URLSearchParams(location.hash.slice(1));
    this.from = link.get("first");
    this.to = link.get("last");
  }

  /** Load the columns; sign in and retry as long as necessary. */
  async load() {
    for (;;) {
      this._look();
      this.summary.ask();
      this.isWaiting = true;
      const isLate = window.setTimeout(() => this._askKnown(), KNOWN_AFTER_MS);
      try {
        return await this.service.columns(this.from, this.to);
      } catch (error) {
        this.isWaiting = false;
        if (!(error instanceof Refused)) throw error;
        await this._help(error).catch((again) => this._wait(again));
      } finally {
        this.isWaiting = false;
        clearTimeout(isLate);
      }
    }
  }

  /** Draw what is known: the records of a long log take a while. */
  _look() {
    document.body.replaceChildren(firstLook(this.known, "reading the records …", this.summary.element));
  }

  /** Ask what is known of a log whose columns are being computed. */
  async _askKnown() {
    const known = await this.service.known().catch(() => null);
    if (known === null || !this.isWaiting) return;
    this.known = known;
    this._look();
  }

  /** React to a refusal, so that another attempt may succeed. @param {Refused} error */
  async _help(error) {
    const { service } = this;
    if (error.isAway) {
      await this._wait(error);
    } else if (error.status === 401) {
      const { askForToken } = await import("served/sign_in.js");
      service.token = await askForToken(document, service.token !== null ? "This token is not known." : "This service asks who you are.");
    } else if (this.from !== null || this.to !== null) {
      // The link's range no longer exists: show the error, and load the default range.
      this.failed = plain(error.message);
      this.from = this.to = null;
    } else {
      document.body.replaceChildren(make("p", { class: "waiting", role: "alert" }, plain(error.message)));
      await new Promise(() => {});
    }
  }

  async _wait(/** @type {Error} */ error) {
    const { known = null } = /** @type {Refused} */ (error), text = `${error.message} …`;
    this.known = known;
    document.body.replaceChildren(known === null ? make("p", { class: "waiting", role: "status" }, plain(text)) : firstLook(known, text));
    await pause(RETRY_MS);
  }
}

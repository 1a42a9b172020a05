// The bar of a served page: whether it is live, what is new, and which range it shows.

import { make } from "report/dom.js";
import { countText, plain } from "report/words.js";

export class Bar {
  state = make("span", { class: "state", role: "status" });
  news = make("button", { type: "button", class: "news", title: "select what is new, and follow the end", hidden: true });
  from = make("input", { id: "from", size: "12", placeholder: "end-20000", spellcheck: "false", autocomplete: "off" });
  to = make("input", { id: "to", size: "12", placeholder: "end", spellcheck: "false", autocomplete: "off" });
  failed = make("span", { class: "failed", role: "alert" });
  form = make("form", { class: "load", "aria-label": "range", title: "offsets, times such as 2026-01-14T03:00, or counted back: end-2h" },
    make("label", { for: "from" }, "from"), this.from, make("label", { for: "to" }, "to"), this.to,
    make("button", { type: "submit" }, "load"), this.failed);
  now = make("button", { type: "button", title: "select the end, and follow it (n)" }, "now");
  signOut = make("button", { type: "button", hidden: true }, "sign out");
  element = make("div", { class: "served" }, this.state, this.news, this.now, this.form, this.signOut);

  /** @param {"live"|"away"|"still"} state @param {string} text */
  say(state, text) {
    this.state.className = `state ${state}`;
    if (this.state.textContent !== text) this.state.textContent = plain(text);
  }

  /** Show how much is new since the reader last saw the end. @param {number} count @param {string} [what] The noun. */
  tellNew(count, what = "record") {
    this.news.hidden = count <= 0;
    this.news.textContent = countText(count, `new ${what}`);
  }
}

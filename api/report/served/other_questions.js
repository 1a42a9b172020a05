// Other questions: every question that the service answers, as a form made from its OpenAPI document.

import { answerNodes } from "served/answer_nodes.js";
import { make } from "report/dom.js";
import { countText, plain } from "report/words.js";

/** A longer answer is shown in part. */
const ITEMS_MAX = 200;

/** Parameters that the form leaves out: how an answer is cut, and by whom it is asked. */
const LEFT_OUT = new Set(["as", "limit", "cursor", "min_offset", "consistent", "known", "records_max", "size_max", "show_secrets", "verbose"]);

/** @typedef {{name: string, required?: boolean, description?: string, example?: any, schema: {type?: string, default?: any, enum?: string[]}}} Parameter */
/** @typedef {{path: string, name: string, text: string, parameters: Parameter[], hasLimit: boolean}} Question */

export class OtherQuestions {
  choice = make("select", { "aria-label": "which question", onchange: () => this._choose() });
  about = make("p", { class: "remark" });
  fields = make("span", { class: "fields" });
  answer = make("div", { class: "found", role: "region", "aria-live": "polite", "aria-label": "answer" });
  form = make("form", { "aria-label": "another question" }, this.choice, this.fields, make("button", { type: "submit" }, "ask"));
  element = make("details", { class: "other", "aria-label": "other questions" }, make("summary", {}, "more questions"), this.form, this.about, this.answer);
  /** @type {Question[]} */ questions = [];
  _ticket = 0;

  /** @param {import("report/selection.js").Selection} selection @param {import("served/service.js").Service} service */
  constructor(selection, service) {
    this.selection = selection;
    this.service = service;
    this.element.addEventListener("toggle", () => this._load(), { once: true });
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
  }

  get chosen() { return this.questions.find(({ name }) => name === this.choice.value) ?? this.questions[0]; }

  async _load() {
    try {
      this.questions = questionsOf(await this.service.operations());
      this.choice.replaceChildren(...this.questions.map(({ name }) => make("option", { value: name }, name)));
      this._choose();
    } catch (error) {
      this.about.textContent = plain(/** @type {Error} */ (error).message);
    }
  }

  /** Show the fields of the chosen question; points begin as those of the selection. */
  _choose() {
    const { from, to } = this.selection, { text, parameters } = this.chosen;
    /** @type {Record<string, string>} */
    const known = { at: String(to), from: String(from), to: String(to) };
    this.about.textContent = plain(text);
    this.answer.replaceChildren();
    // `to` of an upgrade is a version.
    const isRange = parameters.some(({ name }) => name === "from");
    this.fields.replaceChildren(...parameters.map((each) => {
      const given = each.name === "to" && !isRange ? "" : known[each.name] ?? "", hint = each.example ?? each.schema.default ?? "";
      const input = each.schema.type === "boolean" ? make("input", { type: "checkbox", name: each.name })
        : make("input", { type: "text", name: each.name, value: given, required: Boolean(each.required), placeholder: typeof hint === "string" ? hint : JSON.stringify(hint), title: plain(each.description ?? each.name), size: "12", spellcheck: "false", autocomplete: "off" });
      return make("label", {}, plain(each.name.replaceAll("_", " ")), " ", input);
    }));
  }

  /** Ask the chosen question. */
  async ask() {
    const { path, name, hasLimit } = this.chosen, ticket = ++this._ticket;
    this.answer.replaceChildren(make("p", { class: "remark" }, "asking the service …"));
    try {
      const response = await this.service.get(path, { ...this._given(), limit: hasLimit ? ITEMS_MAX : null });
      const nodes = await this._shown(name, response);
      if (ticket === this._ticket) this.answer.replaceChildren(...nodes);
    } catch (error) {
      if (ticket === this._ticket) this.answer.replaceChildren(make("p", { class: "remark failed" }, plain(/** @type {Error} */ (error).message)));
    }
  }

  /** @returns {Record<string, string|null>} */
  _given() {
    const inputs = /** @type {HTMLInputElement[]} */ ([...this.fields.querySelectorAll("input")]);
    return Object.fromEntries(inputs.map((input) => [input.name, (input.type === "checkbox" ? input.checked && "true" : input.value.trim()) || null]));
  }

  /** @param {string} name @param {Response} response @returns {Promise<Node[]>} */
  async _shown(name, response) {
    const type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/html")) return [fileLink(`${name}.html`, await response.blob())];
    const text = await response.text(), save = () => fileLink(`${name.replaceAll(" ", "-")}.json`, new Blob([text]));
    if (!type.startsWith("application/x-ndjson")) return [...answerNodes(JSON.parse(text)), save()];
    const lines = text.split("\n").filter(Boolean).map((line) => JSON.parse(line)), items = lines.filter(({ next }) => next === undefined);
    return [make("p", {}, countText(items.length, "line")), ...answerNodes({ lines: items, next: lines.find(({ next }) => next)?.next }), save()];
  }
}

/** The questions of an OpenAPI document. @param {any} document @returns {Question[]} */
export function questionsOf({ paths }) {
  const found = Object.entries(paths).filter(([path, { get }]) => path.startsWith("/v1/") && get && !Object.keys(get.responses["200"].content).some((type) => /octet-stream|event-stream/.test(type)));
  return found.map(([path, { get }]) => ({
    path: path.slice("/v1/".length), name: path.slice("/v1/".length).replaceAll("/", " "), text: get.summary,
    parameters: get.parameters.filter((/** @type {Parameter} */ { name }) => !LEFT_OUT.has(name)),
    hasLimit: get.parameters.some((/** @type {Parameter} */ { name }) => name === "limit"),
  })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A link that saves a file. @param {string} name @param {Blob} content */
function fileLink(name, content) {
  return make("a", { href: URL.createObjectURL(content), download: name, class: "save" }, `save as ${name}`);
}

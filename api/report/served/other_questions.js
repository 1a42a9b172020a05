// Other questions: every question that a service answers, as a form made from its OpenAPI document.

import { answerNodes } from "served/answer_nodes.js";
import { make } from "report/dom.js";
import { countText, plain } from "report/words.js";

/** A longer answer is shown in part. */
const ITEMS_MAX = 200;

/** Parameters that the form leaves out: how an answer is cut, and by whom it is asked. */
const LEFT_OUT = new Set(["as", "limit", "cursor", "min_offset", "consistent", "known", "records_max", "size_max", "show_secrets", "verbose"]);

/** @typedef {{name: string, required?: boolean, description?: string, example?: any, schema: {type?: string, default?: any, enum?: string[]}}} Parameter */
/** @typedef {{path: string, name: string, text: string, parameters: Parameter[], hasLimit: boolean}} Question */
/** What was asked. @typedef {{question: Question, given: Record<string, string|string[]|null>}} Asked */

export class OtherQuestions {
  choice = make("select", { "aria-label": "which question", onchange: () => this._choose() });
  about = make("p", { class: "remark" });
  fields = make("span", { class: "fields" });
  answer = make("div", { class: "found", role: "region", "aria-live": "polite", "aria-label": "answer" });
  form = make("form", { "aria-label": "another question" }, this.choice, this.fields, make("button", { type: "submit" }, "ask"));
  /** @type {Question[]} */ questions = [];
  /** What the fields were given by the page, by name. @type {Record<string, string>} */
  _offered = {};
  _ticket = 0;

  /** @param {import("served/service.js").Service} service
   * @param {() => Record<string, string>} known What the page knows of the fields, by name, such as the selected points.
   * @param {string} title @param {...Node} more Shown below the answer. */
  constructor(service, known, title, ...more) {
    this.service = service;
    this.known = known;
    this.element = make("details", { class: "other", "aria-label": title }, make("summary", {}, title), this.form, this.about, this.answer, ...more);
    this.element.addEventListener("toggle", () => this._load(), { once: true });
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
  }

  get chosen() { return this.questions.find(({ name }) => name === this.choice.value) ?? this.questions[0]; }

  async _load() {
    try {
      this.questions = questionsOf(await this.service.operations());
      this.choice.replaceChildren(...this.questions.map(({ name, text }) => make("option", { value: name }, plain(`${name}: ${text}`))));
      this._choose();
    } catch (error) {
      this.about.textContent = plain(/** @type {Error} */ (error).message);
    }
  }

  /** Show the fields of the chosen question. */
  _choose() {
    const { text, parameters } = this.chosen;
    this.about.textContent = plain(text);
    this.answer.replaceChildren();
    this.fields.replaceChildren(...parameters.map((each) => make("label", {}, plain(each.name.replaceAll("_", " ")), " ", field(each))));
    this._offered = {};
    this.offer();
  }

  /** Fill the fields with what the page knows, except those in which the reader wrote. */
  offer() {
    if (!this.questions.length) return;
    // `to` of an upgrade is a version.
    const { at, ...known } = this.known(), hasRange = this.chosen.parameters.some(({ name }) => name === "from");
    const offered = hasRange ? known : { ...known, at, to: "" };
    for (const input of this._inputs()) {
      const value = offered[input.name] ?? "";
      if (input.type === "text" && input.value === (this._offered[input.name] ?? "")) input.value = value;
    }
    this._offered = offered;
  }

  _inputs() { return /** @type {HTMLInputElement[]} */ ([...this.fields.querySelectorAll("input")]); }

  /** Ask the chosen question. */
  async ask() {
    const ticket = ++this._ticket, asked = { question: this.chosen, given: this._given() };
    this.answer.replaceChildren(make("p", { class: "remark" }, "asking the service …"));
    try {
      const nodes = await this._shown(asked);
      if (ticket === this._ticket) this.answer.replaceChildren(...nodes);
    } catch (error) {
      if (ticket === this._ticket) this.answer.replaceChildren(make("p", { class: "remark failed" }, plain(/** @type {Error} */ (error).message)));
    }
  }

  _given() {
    const lists = new Set(this.chosen.parameters.filter(isList).map(({ name }) => name));
    return Object.fromEntries(this._inputs().map(({ name, type, checked, value }) => {
      const text = (type === "checkbox" ? checked && "true" : value.trim()) || null;
      return [name, text !== null && lists.has(name) ? text.split(/\s*,\s*/) : text];
    }));
  }

  /** @param {Asked} asked @returns {Promise<Node[]>} */
  async _shown(asked) {
    const { name, hasLimit } = asked.question;
    const response = await this._request(asked, hasLimit ? String(ITEMS_MAX) : null), type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/html")) {
      const page = await response.blob();
      return [fileButton(`${name}.html`, async () => page)];
    }
    const text = await response.text(), answer = type.startsWith("application/x-ndjson") ? answerOf(text) : JSON.parse(text);
    // What is saved is whole, also if only the begin is shown.
    const whole = async () => (answer.next ? (await this._request(asked, null)).text() : text), file = name.replaceAll(" ", "-");
    if (isScript(answer)) return [...scriptNodes(answer), fileButton(`${file}.sh`, async () => new Blob([scriptOf(JSON.parse(await whole()))]))];
    return [...answerNodes(answer), fileButton(`${file}.json`, async () => new Blob([await whole()]))];
  }

  /** @param {Asked} asked @param {string|null} limit */
  _request({ question, given }, limit) { return this.service.get(question.path, { ...given, limit }); }
}

/** The questions about several logs. @param {import("served/service.js").Service} service */
export function jointQuestions(service) {
  const asked = new OtherQuestions(service, () => ({}), "compare these logs, or ask what to do after a lost quorum");
  return make("section", { class: "ask", "aria-label": "ask" }, asked.element);
}

/** The input for a parameter. @param {Parameter} parameter */
function field(parameter) {
  const { name, required, description, example, schema } = parameter;
  if (schema.type === "boolean") return make("input", { type: "checkbox", name });
  const hint = example ?? schema.default ?? "", shown = typeof hint === "string" ? hint : hint.length === 0 ? "" : [hint].flat().map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  const title = `${plain(description ?? name.replaceAll("_", " "))}${isList(parameter) ? "; several are separated by commas" : ""}`;
  return make("input", { type: "text", name, required: Boolean(required), placeholder: shown, title, size: "12", spellcheck: "false", autocomplete: "off" });
}

const isList = (/** @type {Parameter} */ { schema }) => schema.type === "array";

/** Lines of an answer as one answer. @param {string} text */
function answerOf(text) {
  const found = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  const lines = found.filter(({ next }) => next === undefined), next = found.find((each) => each.next)?.next;
  return { lines: countText(lines.length, "line"), items: lines, next };
}

/** True if an answer is lines of a script, rather than a table. @param {any} answer */
const isScript = (answer) => Array.isArray(answer.lines) && answer.lines.every((/** @type {any} */ { line }) => typeof line === "string");

const scriptOf = (/** @type {{lines: {line: string}[]}} */ { lines }) => lines.map(({ line }) => `${line}\n`).join("");

/** @param {any} answer @returns {Node[]} */
function scriptNodes({ lines, ...rest }) {
  return [...answerNodes(rest), make("pre", { class: "script", tabindex: "0", role: "group", "aria-label": "script" }, scriptOf({ lines }))];
}

/** The questions of an OpenAPI document. @param {any} document @returns {Question[]} */
export function questionsOf({ paths }) {
  const found = Object.entries(paths).filter(([path, { get }]) => path.startsWith("/v1/") && !path.startsWith("/v1/report/") && get && !Object.keys(get.responses["200"].content).some((type) => /octet-stream|event-stream/.test(type)));
  return found.map(([path, { get }]) => ({
    path: path.slice("/v1/".length), name: path.slice("/v1/".length).replaceAll("/", " "), text: get.summary,
    parameters: get.parameters.filter((/** @type {Parameter} */ { name }) => !LEFT_OUT.has(name)),
    hasLimit: get.parameters.some((/** @type {Parameter} */ { name }) => name === "limit"),
  })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A button that saves a file. @param {string} name @param {() => Promise<Blob>} content */
function fileButton(name, content) {
  const failed = make("span", { class: "failed", role: "alert" });
  const save = async () => {
    try {
      make("a", { href: URL.createObjectURL(await content()), download: name }).click();
    } catch (error) {
      failed.textContent = ` ${plain(/** @type {Error} */ (error).message)}`;
    }
  };
  return make("p", {}, make("button", { type: "button", class: "save", onclick: save }, `save as ${name}`), failed);
}

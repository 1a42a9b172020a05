// Answers of any form as elements: an object as names and values, a list of objects as a table.

import { make } from "report/dom.js";
import { bytesText, durationText, plain, timeText, valueText } from "report/words.js";

const ROWS_MAX = 200, DEPTH_MAX = 4;

/** What every answer has; it is said elsewhere on the page. */
const PLACE = new Set(["as_of", "history_start", "log_end", "not_understood", "not_counted", "as_of_timestamp", "next"]);

/** Elements that show an answer. @param {any} answer @returns {Node[]} */
export function answerNodes(answer) {
  const about = answer.as_of === undefined ? [] : [make("p", { class: "remark" }, `as of offset ${answer.as_of}`)];
  const rest = answer.next ? [make("p", { class: "remark" }, `There is more: only the first ${ROWS_MAX} are shown.`)] : [];
  return [...about, ...members(answer, 0), ...rest];
}

/** @param {any} object @param {number} depth @returns {Node[]} */
function members(object, depth) {
  const entries = Object.entries(object).filter(([name]) => depth > 0 || !PLACE.has(name));
  const list = make("dl", { class: "values" }, ...entries.map(([name, value]) => make("div", {}, make("dt", {}, plain(titleOf(name))), make("dd", {}, valueNode(name, value, depth)))));
  return [list];
}

/** @param {string} name @param {any} value @param {number} depth @returns {Node|string} */
function valueNode(name, value, depth) {
  if (typeof value === "number" && /(^|_)time(stamp)?(_|$)/.test(name)) return timeText(value);
  if (typeof value === "number" && /_ms$/.test(name)) return durationText(value);
  if (typeof value === "number" && /(^|_)bytes(_|$)/.test(name)) return bytesText(value);
  if (value === null || value === undefined) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return plain(String(value));
  if (depth >= DEPTH_MAX) return plain(valueText(value));
  if (!Array.isArray(value)) return !Object.keys(value).length ? "-" : isMap(value) ? table(Object.entries(value).map(([of, each]) => ({ name: of, [name]: each })), depth) : make("div", {}, ...members(value, depth + 1));
  if (!value.length) return "none";
  if (value.every((each) => typeof each === "string" && each.includes(" "))) return make("ol", {}, ...value.map((each) => make("li", {}, plain(each))));
  return value.every((each) => each !== null && typeof each === "object" && !Array.isArray(each)) ? table(value, depth) : plain(valueText(value));
}

/** True if the names are those of topics, logs and the like, rather than of fields. @param {any} object */
const isMap = (object) => Object.keys(object).some((name) => !/^[a-z][a-z0-9_]*$/.test(name));

/** The title of a value, which is shown with its unit. @param {string} name */
const titleOf = (name) => name.replace(/_ms$/, "").replaceAll("_", " ");

/** @param {any[]} rows @param {number} depth */
function table(rows, depth) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, plain(name.replaceAll("_", " ")))));
  const lines = rows.slice(0, ROWS_MAX).map((row) => make("tr", {}, ...names.map((name) => make("td", {}, valueNode(name, row[name], depth + 1)))));
  const more = rows.length > ROWS_MAX ? `${rows.length - ROWS_MAX} more are in the file.` : "";
  return make("div", { class: "table", tabindex: "0", role: "group", "aria-label": "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)), more);
}

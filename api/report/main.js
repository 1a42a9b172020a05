// The page of a report: puts its parts together.

import { LEGEND, swatch } from "report/bars.js";
import { setPlace } from "report/commands.js";
import { openData } from "report/data.js";
import { Difference } from "report/difference.js";
import { make } from "report/dom.js";
import { Keys } from "report/keys.js";
import { List } from "report/list.js";
import { Picture } from "report/picture.js";
import { Search } from "report/search.js";
import { Selection } from "report/selection.js";
import { clockText, countText, dayText, plain, timeText } from "report/words.js";

/** @param {Document} document */
export async function start(document) {
  const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? "";
  const command = JSON.parse(text("command"));
  setPlace(command.where);
  const data = await openData(text("columns"));
  document.getElementById("columns")?.remove();
  const selection = new Selection(data.first, data.last, window);
  if (!selection.read()) openOnMostEventful(selection, data);
  const picture = new Picture(data, selection);
  const difference = new Difference(data, selection);
  const search = new Search(data, selection, picture);
  const keys = new Keys({ data, selection, picture, difference, search });
  const said = make("p", { class: "said", "aria-live": "polite" });
  const main = make("main", {}, legend(picture, selection), picture.element, said,
    make("div", { class: "columns" }, new List(data, selection, picture).element, difference.element));
  document.body.append(header(data, command, search, keys), main, keys.help);
  selection.watch(({ to }) => { said.textContent = `At offset ${to}, ${timeText(picture.timeAt(to))}: ${picture.healthAt(picture.timeAt(to))}.`; });
  picture.redraw();
  selection.tell();
  Object.assign(window, { report: { data, selection, picture, difference, keys } });
  performance.mark("report-shown");
}

/** @param {Selection} selection @param {import("report/data.js").Data} data */
function openOnMostEventful(selection, data) {
  const opens = data.header.opens;
  if (opens) [selection.from, selection.to] = opens;
}

/** @param {import("report/data.js").Data} data @param {any} command @param {Search} search @param {Keys} keys */
function header(data, command, search, keys) {
  const [begin, end] = data.header.times;
  const range = begin === undefined ? "empty"
    : dayText(begin) === dayText(end) ? `${clockText(begin).slice(0, 8)} – ${clockText(end).slice(0, 8)} UTC, ${dayText(end)}`
      : `${dayText(begin)} ${clockText(begin).slice(0, 5)} – ${dayText(end)} ${clockText(end).slice(0, 5)} UTC`;
  const help = make("button", { type: "button", class: "help", "aria-label": "help: keys", onclick: () => keys.help.showModal() }, "?");
  return make("header", {},
    make("h1", {}, plain(command.name), " ", make("small", {}, `cluster ${plain(data.header.cluster_id)}`)),
    make("p", { class: "range" }, `${range} · offsets ${data.first} – ${data.last}`),
    search.element, help, remarks(data, command));
}

/** What the reader must know about what is missing. @param {import("report/data.js").Data} data @param {any} command */
function remarks(data, command) {
  const { header } = data, { about } = header;
  /** @type {string[]} */
  const found = [];
  if (header.asked[0] !== data.first || header.asked[1] !== data.last) {
    found.push(`The range was narrowed from offsets ${header.asked[0]} – ${header.asked[1]}: all of it would be too large for one file.`);
  }
  if (about.not_understood) found.push(`${countText(about.not_understood.records, "record")} not understood by this release.`);
  if (header.history_from > data.first) found.push(`Before offset ${header.history_from} the state is unknown: the log begins there (hatched).`);
  if (header.confirmed_end <= data.last) found.push(`From offset ${header.confirmed_end} on records may still be replaced (hatched).`);
  if (data.wentBack.length) found.push(`Clocks went back ${countText(data.wentBack.length, "time")} (↶).`);
  if (command.masked) found.push("Names of hosts and addresses are replaced.");
  return found.length ? make("ul", { class: "remarks" }, ...found.map((text) => make("li", {}, text))) : null;
}

/** @param {Picture} picture @param {Selection} selection */
function legend(picture, selection) {
  const items = LEGEND.map(([bit, name, title]) => make("li", { title, "data-outage": String(bit) }, name));
  const list = make("ul", { class: "legend", "aria-label": "states" }, make("li", { class: "healthy" }, "healthy"), ...items);
  const paint = () => items.forEach((item) => {
    item.querySelector("canvas")?.remove();
    item.prepend(swatch(Number(item.dataset.outage), document.documentElement));
  });
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) => make("button", { type: "button", title, onclick }, text);
  const { opens } = picture.data.header;
  return make("nav", { class: "bar", "aria-label": "view" }, list, make("span", { class: "buttons" },
    opens ? button("most eventful", "select the most eventful range", () => { selection.set({ from: opens[0], to: opens[1] }); picture.zoom(true); }) : null,
    button("zoom in", "show the selection (z)", () => picture.zoom(false)),
    button("whole", "show the whole report (0)", () => picture.zoom(true))));
}


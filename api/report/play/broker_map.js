// The map: the brokers by rack at the end of the selection, each with its state, and what it leads and holds.

import { Loads } from "play/loads.js";
import { afterPaint, make, whenIdle } from "report/dom.js";
import { STATES } from "report/outages.js";
import { worst } from "report/states.js";
import { countText, grouped, plain } from "report/words.js";

const BUDGET_MS = 6;

/** @typedef {{element: HTMLElement, state: HTMLElement, leaders: HTMLElement, replicas: HTMLElement}} Tile */

export class BrokerMap {
  racks = make("div", { class: "racks" });
  title = make("small");
  element = make("section", { class: "map", "aria-labelledby": "map", hidden: true }, make("h2", { id: "map" }, "Brokers ", this.title), this.racks);
  button = make("button", { type: "button", "aria-pressed": "false", "aria-keyshortcuts": "m", title: "the brokers by rack (m)", onclick: () => this.toggle() }, "map");
  /** By broker id. @type {Map<number, Tile>} */
  _tiles = new Map();
  /** The racks and brokers that are shown, as text. */
  _layout = "";
  _isCounting = false;
  _isWaiting = false;

  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection */
  constructor(data, selection) {
    this.loads = new Loads(data);
    this.data = data;
    this.selection = selection;
    selection.watch(() => this._drawLater());
  }

  toggle(isOpen = this.element.hidden) {
    this.element.hidden = !isOpen;
    this.button.setAttribute("aria-pressed", String(isOpen));
    this.draw();
  }

  /** @param {import("report/data.js").Data} data */
  renew(data) {
    if (data !== this.data) this.loads = new Loads(data);
    this.data = data;
    this._drawLater();
  }

  /** Draw after the next paint: a selection shows its list first. */
  _drawLater() {
    if (this.element.hidden || this._isWaiting) return;
    this._isWaiting = true;
    this.racks.setAttribute("aria-busy", "true");
    afterPaint(() => {
      this._isWaiting = false;
      this.draw();
    });
  }

  draw() {
    if (this.element.hidden) {
      // Closed while it waited or counted.
      this.racks.removeAttribute("aria-busy");
      return;
    }
    if (this.data.hasValues && this.loads.advance(BUDGET_MS)) this.racks.removeAttribute("aria-busy");
    else this._countOn();
    const { data, selection, loads } = this, row = data.rowAt(selection.to), shown = this._brokers(row);
    this._arrange(shown);
    const most = { leaders: 1, replicas: 1 }, all = shown.map(({ id }) => loads.at(id, row));
    for (const { leaders, replicas } of all) {
      most.leaders = Math.max(most.leaders, leaders);
      most.replicas = Math.max(most.replicas, replicas);
    }
    shown.forEach(({ id, object }, i) => this._fill(/** @type {Tile} */ (this._tiles.get(id)), data.outagesAt(object, row), all[i], most));
    this.title.textContent = `at offset ${selection.to}, ${countText(new Set(shown.map(({ rack }) => rack)).size, "rack")}`;
  }

  /** Count in slices of time: there may be 100,000 partitions. */
  _countOn() {
    this.racks.setAttribute("aria-busy", "true");
    if (this._isCounting) return;
    this._isCounting = true;
    whenIdle(() => {
      this._isCounting = false;
      if (this.element.hidden || (this.data.hasValues && this.loads.advance(BUDGET_MS))) this.draw();
      else this._countOn();
    });
  }

  /** The brokers after a row, by rack and id. @param {number} row */
  _brokers(row) {
    const { data } = this, kind = data.kinds.indexOf("broker"), end = data.kindStart[kind + 1] ?? data.objects, found = [];
    for (let object = data.kindStart[kind]; object < end; object++) {
      const state = data.isThere(object, row) ? data.stateAt(object, row) : null;
      if (state !== null) found.push({ id: Number(data.labelAt(object, row)), object, rack: state.rack ?? "" });
    }
    return found.sort((a, b) => (a.rack < b.rack ? -1 : a.rack > b.rack ? 1 : a.id - b.id));
  }

  /** Make the tiles anew only if a broker came, went or moved. @param {{id: number, rack: string}[]} shown */
  _arrange(shown) {
    const layout = JSON.stringify(shown.map(({ id, rack }) => [id, rack]));
    if (layout === this._layout) return;
    this._layout = layout;
    this._tiles.clear();
    /** @type {Map<string, HTMLElement>} */
    const racks = new Map();
    for (const { id, rack } of shown) {
      const list = racks.get(rack) ?? make("ul", { "aria-label": rack === "" ? "without a rack" : `rack ${plain(rack)}` });
      racks.set(rack, list);
      const tile = this._tile(id);
      this._tiles.set(id, tile);
      list.append(make("li", {}, tile.element));
    }
    this.racks.replaceChildren(...[...racks].map(([rack, list]) => make("div", { class: "rack" }, make("h3", {}, rack === "" ? "no rack" : plain(rack)), list)));
    if (!shown.length) this.racks.replaceChildren(make("p", { class: "nothing" }, "No broker is registered."));
  }

  /** @returns {Tile} */
  _tile(/** @type {number} */ id) {
    const [state, leaders, replicas] = [make("span", { class: "is" }), make("span", { class: "bar-of" }), make("span", { class: "bar-of" })], name = `broker:${id}`;
    const onclick = () => this.selection.set({ object: this.selection.object === name ? null : name });
    return { element: make("button", { type: "button", class: "tile", onclick }, make("b", {}, `${id} `), state, leaders, replicas), state, leaders, replicas };
  }

  /** @param {Tile} tile @param {number} bits @param {{leaders: number, replicas: number}} load @param {{leaders: number, replicas: number}} most */
  _fill(tile, bits, load, most) {
    const bit = worst(bits & 127), of = STATES.get(bit), text = of ? of.one.replace("is ", "") : "";
    tile.element.dataset.state = of?.kind ?? "";
    if (tile.state.textContent !== text) tile.state.textContent = text;
    for (const what of /** @type {const} */ (["leaders", "replicas"])) {
      const words = `${grouped(load[what])} ${what}`;
      if (tile[what].textContent !== words) tile[what].textContent = words;
      const share = `${Math.round((load[what] / most[what]) * 100)}%`;
      if (tile[what].style.getPropertyValue("--share") !== share) tile[what].style.setProperty("--share", share);
    }
  }
}

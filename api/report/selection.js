// Selection: a range of offsets and an object. The page's address is a link to the selection.

/** Minimum time between two changes of the address: they are slow, and some browsers refuse 100 in 30 s. */
const LINK_EVERY_MS = 300, AFTER_PAINT_MS = 40;

/** A `to` of Infinity follows the end of the range.
 * @typedef {{from: number, to: number, object: string|null}} Selected */

export class Selection {
  /** @param {number} first @param {number} last The range of the report. @param {Window} window
   * @param {string} where How the command line names the log or service. */
  constructor(first, last, window, where) {
    this.where = where;
    this.first = first;
    this.last = last;
    this.window = window;
    this.from = first;
    this.to = last;
    this.follows = false;
    /** True while the watchers are called only because the end has moved. */
    this.isGrowing = false;
    /** Further parameters of the link. */
    this.place = "";
    /** What is asked, as further parameters of the link. */
    this.asked = "";
    /** The notes that the address keeps, as further parameters of the link. */
    this.noted = "";
    /** @type {string|null} */
    this.object = null;
    /** @type {((selected: Selection) => void)[]} */
    this.watchers = [];
    this._shownAt = -Infinity;
    this._timer = 0;
    window.addEventListener("hashchange", () => {
      window.clearTimeout(this._timer);
      if (this.read()) this.tell();
    });
  }

  /** @param {(selected: Selection) => void} watcher */
  watch(watcher) { this.watchers.push(watcher); }

  /** Change the selection; omitted parts stay as they are. @param {Partial<Selected>} to */
  set(to) {
    const from = this._within(to.from ?? this.from), end = this._within(to.to ?? this.to);
    [this.from, this.to] = [Math.min(from, end), Math.max(from, end)];
    if (to.to !== undefined) this.follows = to.to === Infinity;
    if (to.object !== undefined) this.object = to.object;
    this.show();
    this.tell();
  }

  /** Set the range of the report. The selection stays, unless it follows the end.
   * @param {number} first @param {number} last */
  grow(first, last) {
    [this.first, this.last] = [first, last];
    const to = this.follows ? last : this._within(this.to), from = this._within(this.from);
    const isSame = from === this.from && to === this.to;
    this.isGrowing = from === this.from;
    [this.from, this.to] = [from, to];
    this.show();
    if (!isSame) this.tell();
    this.isGrowing = false;
  }

  /** Set the page's address to the link: after the next paint, because browsers take up to 20 ms for
   * it, and only now and then during a drag. */
  show() {
    const { window } = this, wait = this._shownAt + LINK_EVERY_MS - performance.now();
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      this._shownAt = performance.now();
      // Not pushState: a drag would fill the browser's history.
      window.history.replaceState(null, "", this.link());
    }, Math.max(wait, AFTER_PAINT_MS));
  }

  tell() { for (const watcher of this.watchers) watcher(this); }

  /** The fragment of the link. */
  link() {
    const object = this.object === null ? "" : `&object=${encodeURIComponent(this.object)}`;
    return `#from=${this.from}&to=${this.follows ? "end" : this.to}${object}${this.asked}${this.noted}${this.place}`;
  }

  /** Set the selection from the page's address; false if the address contains none. */
  read() {
    const found = new URLSearchParams(this.window.location.hash.slice(1));
    const [from, to] = [found.get("from"), found.get("to")];
    if (from === null || to === null || !/^\d+$/.test(from) || !/^(\d+|end)$/.test(to)) return false;
    this.follows = to === "end";
    [this.from, this.to] = [this._within(Number(from)), this.follows ? this.last : this._within(Number(to))];
    if (this.from > this.to) [this.from, this.to] = [this.to, this.from];
    this.object = found.get("object");
    return true;
  }

  _within(/** @type {number} */ offset) {
    return Math.min(this.last, Math.max(this.first, Math.round(offset)));
  }
}

// Selection: a range of offsets and an object. It is the link of what is shown.

/** The address changes no more often: browsers take time for it, and some refuse 100 in 30 s. */
const LINK_EVERY_MS = 300, AFTER_PAINT_MS = 40;

/** A `to` of Infinity is the end of the range, also when it grows.
 * @typedef {{from: number, to: number, object: string|null}} Selected */

export class Selection {
  /** @param {number} first @param {number} last The range of the report. @param {Window} window */
  constructor(first, last, window) {
    this.first = first;
    this.last = last;
    this.window = window;
    this.from = first;
    this.to = last;
    this.follows = false;
    /** True while the watchers are told that the end moved on, and nothing else. */
    this.isGrowing = false;
    /** What else the link holds. */
    this.place = "";
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

  /** Select; what is left out stays as it is. @param {Partial<Selected>} to */
  set(to) {
    const from = this._within(to.from ?? this.from), end = this._within(to.to ?? this.to);
    [this.from, this.to] = [Math.min(from, end), Math.max(from, end)];
    if (to.to !== undefined) this.follows = to.to === Infinity;
    if (to.object !== undefined) this.object = to.object;
    this.show();
    this.tell();
  }

  /** Take a range that changed; what is selected stays, unless it follows the end.
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

  /** Make the page's address the link of what is selected: after that is painted, since browsers
   * take up to 20 ms for it, and during a drag not each time. */
  show() {
    const { window } = this, wait = this._shownAt + LINK_EVERY_MS - performance.now();
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => {
      this._shownAt = performance.now();
      // Replaced, not pushed: a drag would fill the browser's history.
      window.history.replaceState(null, "", this.link());
    }, Math.max(wait, AFTER_PAINT_MS));
  }

  tell() { for (const watcher of this.watchers) watcher(this); }

  /** What follows the address of the file. */
  link() {
    const object = this.object === null ? "" : `&object=${encodeURIComponent(this.object)}`;
    return `#from=${this.from}&to=${this.follows ? "end" : this.to}${object}${this.place}`;
  }

  /** Take the selection from the address; false if it has none. */
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

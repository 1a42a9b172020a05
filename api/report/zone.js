// The time zone of all times on the page: UTC, or the reader's own.

const MINUTE_MS = 60_000;

/** How the reader's own zone is called. */
const OWN = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

export const zone = {
  isLocal: false,

  /** The name of the zone. */
  get name() { return this.isLocal ? OWN : "UTC"; },

  /** How far the zone is ahead of UTC at a time, in ms. @param {number} ms */
  ahead(ms) { return this.isLocal ? -new Date(ms).getTimezoneOffset() * MINUTE_MS : 0; },

  /** What ends a time in ISO form: `Z`, or +02:00. @param {number} ms */
  suffix(ms) {
    if (!this.isLocal) return "Z";
    const minutes = this.ahead(ms) / MINUTE_MS, size = Math.abs(minutes);
    return `${minutes < 0 ? "-" : "+"}${[Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, "0")).join(":")}`;
  },
};

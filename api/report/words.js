// Formats values, times and counts as the commands print them.

import { LEVEL_NAMES } from "report/levels.js";
import { zone } from "report/zone.js";

/** @param {any} value @returns {string} */
export function valueText(value) {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (typeof value === "object") return Object.values(value).map(valueText).join(":");
  return String(value);
}

/** The value of a field of an object; a level of metadata.version with its name.
 * @param {string} name @param {string|null} field @param {any} value */
export const fieldText = (name, field, value) => withName(name, field, value, valueText(value));

function withName(/** @type {string} */ name, /** @type {string|null} */ field, /** @type {any} */ value, /** @type {string} */ text) {
  return name === "feature:metadata.version" && field === "level" && typeof value === "number" ? `${text} (${LEVEL_NAMES[value - 1] ?? "unknown"})` : text;
}

/** The value of a field of an object as printed in the text of a chain. @param {string} name @param {string|null} field @param {any} value */
export function chainText(name, field, value) {
  if (value === null) return "-";
  return typeof value === "string" ? value : withName(name, field, value, JSON.stringify(value));
}

/** The last time that a date can have, less a day for the zone. */
const TIME_MAX = 8.64e15 - 86_400_000;

/** A time with milliseconds, in the page's zone. @param {number} ms */
export function timeText(ms) {
  if (Math.abs(ms) > TIME_MAX) return `${ms} ms`;
  return new Date(ms + zone.ahead(ms)).toISOString().replace("Z", zone.suffix(ms));
}

/** The time of day, preceded by the date unless `near` is on the same day.
 * @param {number} ms @param {number} [near] */
export function clockText(ms, near) {
  const [day, time] = timeText(ms).split("T");
  if (time === undefined) return day;
  const short = time.replace(/(Z|[+-]\d\d:\d\d)$/, "");
  return near === undefined || timeText(near).startsWith(day) ? short : `${day} ${short}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// The first call of `toLocaleString` would take 0.2 s.
/** A day in the page's zone: 14 Jan 2026. @param {number} ms */
export function dayText(ms) {
  const date = new Date(ms + zone.ahead(ms));
  return Number.isNaN(date.getTime()) ? `${ms} ms` : `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** A count with separated thousands: 12,345. @param {number} count */
export const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** `1 topic`, `2 topics`. @param {number} count @param {string} noun @param {string} [plural] */
export function countText(count, noun, plural = `${noun}s`) {
  return `${grouped(count)} ${count === 1 ? noun : plural}`;
}

/** A duration in its two largest units. @param {number} ms */
export function durationText(ms) {
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 3 : 1))} s`;
  let rest = Math.floor(ms / 1000);
  /** @type {string[]} */
  const parts = [];
  for (const [size, unit] of /** @type {[number, string][]} */ ([[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]])) {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count || parts.length) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).filter((part) => !part.startsWith("0 ")).join(" ");
}

/** A size in bytes with a unit. @param {number} size */
export function bytesText(size) {
  const place = Math.min(Math.floor(Math.log2(Math.max(size, 1)) / 10), 3);
  return place ? `${(size / 1024 ** place).toFixed(1)} ${["KiB", "MiB", "GiB"][place - 1]}` : `${size} B`;
}

/** Text as one line, with control characters escaped, because names are untrusted.
 * @param {string} text */
export function plain(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (char) => {
    const code = /** @type {number} */ (char.codePointAt(0));
    const known = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    if (known) return known;
    const [mark, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${mark}${code.toString(16).padStart(Number(width), "0")}`;
  });
}

/** An event about more partitions only counts them. */
const NAMED_MAX = 3;

/** The text of an event; it names the partitions if they are few. @param {import("report/events.js").Told} told */
function namedText(told) {
  const { kind, text, count } = told;
  if (!["brokers", "partitions"].includes(kind) || count > NAMED_MAX + 1) return text;
  const names = told.objects.filter((name) => name.startsWith("partition:")).join(", ");
  if (!names || count - (kind === "brokers" ? 1 : 0) > NAMED_MAX) return text;
  return kind === "partitions" ? `${names}: ${text}` : `${text} (${names})`;
}

/** An event that more asked for only counts the others. */
export const ASKERS_MAX = 3;

/** The records that asked for what an event's records did, and who wrote them. @param {import("report/events.js").Told} told */
export function askersText({ principal, asked }) {
  const parts = asked.filter(([, by]) => principal === null || by !== principal)
    .map(([offset, by]) => `${by ? `by ${by}` : "for"} at offset ${offset}`);
  const more = parts.length > ASKERS_MAX ? `, and ${grouped(parts.length - ASKERS_MAX)} more` : "";
  return parts.length ? `asked ${parts.slice(0, ASKERS_MAX).join(", ")}${more}` : "";
}

/** The parts of an event's line, as `metalog timeline` prints it. @param {import("report/events.js").Told} told */
export function eventParts(told) {
  const outside = told.cause !== null && (told.cause < told.from || told.cause > told.to);
  // The text of a fencing already has its reason.
  const reason = told.reason !== null && !told.text.includes(told.reason) ? told.reason : null;
  return {
    time: timeText(told.time),
    offsets: told.to === told.from ? `${told.from}` : `${told.from}-${told.to}`,
    text: plain(namedText(told) + (outside ? ` (because of offset ${told.cause})` : "")),
    by: plain([told.principal && `by ${told.principal}`, reason && `(${reason})`, askersText(told)].filter(Boolean).join(" ")),
  };
}

/** The lines of one object's changes; one line if the object was created or removed.
 * @param {string} name @param {import("report/data.js").Change[]} changes */
export function changeLines(name, changes) {
  const { fate } = changes[0];
  if (fate !== "changed") {
    const side = fate === "new" ? "after" : "before";
    return [`${fate}: ${changes.map((c) => `${c.field}=${fieldText(name, c.field, c[side])}`).join(" ")}`].map(plain);
  }
  return changes.map((c) => plain(`${c.field}: ${fieldText(name, c.field, c.before)} -> ${fieldText(name, c.field, c.after)}`));
}

/** The origin of a record as text: principal, command and reason. @param {{principal?: string|null, command?: string|null, reason?: string|null}} origin */
export function byText({ principal, command, reason }) {
  return [principal, command, reason && `(${reason})`].filter(Boolean).join(" ") || "-";
}

// Violations: the invariants that the history breaks, as a row below the axis and in words.

import { ROW_PX } from "report/bars.js";
import { LEADERLESS } from "report/data.js";
import { countText } from "report/words.js";

/** What `metalog check` found. `offset` is null if it was so before the range, `until` if it lasts.
 * @typedef {{offset: number|null, time: number|null, invariant: string, object: string|null, text: string, until: number|null, type: string|null, principal: string|null}} Violation */

/** @param {Violation[]} violations @param {(offset: number) => number} timeAt @param {number} end After this time nothing was asked. @returns {import("asked/strips.js").Strip} */
export function violationStrip(violations, timeAt, end) {
  const pieces = violations.map((each) => ({
    begin: each.offset === null ? -Infinity : timeAt(each.offset), until: each.until === null ? end : timeAt(each.until), text: violationText(each),
  }));
  return {
    label: "invariants",
    title: countText(violations.length, "violation"),
    end,
    draw(context, paint, axis, y) {
      context.fillStyle = paint.healthy;
      context.fillRect(0, y + 9, axis.x(end), 4);
      context.fillStyle = paint.fills.get(LEADERLESS) ?? "";
      for (const { begin, until } of pieces) if (until >= axis.begin && begin <= axis.end) context.fillRect(axis.x(begin), y + 5, Math.max(1, axis.x(until) - axis.x(begin)), ROW_PX - 10);
    },
    textsAt: (time) => pieces.filter(({ begin, until }) => time >= begin && time <= until).map(({ text }) => text),
  };
}

/** A violation in words. @param {Violation} violation */
export function violationText({ invariant, object, text, offset, until }) {
  const lasts = until === null ? "it lasts" : until === offset ? "a step" : `until ${until}`;
  return `${invariant}:${object === null ? "" : ` ${object}:`} ${text}; ${lasts}`;
}

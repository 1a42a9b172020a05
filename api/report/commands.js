// Commands: the command lines that print what the page shows.

/** How the command line names the log or service. */
let where = "LOG";

/** @param {string} place */
export function setPlace(place) { where = place; }

/** @param {number} from @param {number} to @param {string[]} [kinds] @param {string[]} [objects] */
export function timelineCommand(from, to, kinds = [], objects = []) {
  const only = [...kinds.map((kind) => ` --type ${kind}`), ...objects.map((object) => ` --object ${quoted(object)}`)];
  return `metalog timeline ${where} --from ${from} --to ${to}${only.join("")}`;
}

/** @param {number} from @param {number} to @param {string|null} object */
export function diffCommand(from, to, object) {
  const only = object === null ? "" : ` --object ${quoted(object)}`;
  return `metalog diff ${where} ${from > 0 ? from - 1 : "start"} ${to}${only}`;
}

/** @param {string} name @param {number} at */
export const whyCommand = (name, at) => `metalog why ${where} ${quoted(name)} --at ${at}`;

/** @param {string} object @param {number} from @param {number} to */
export const historyCommand = (object, from, to) =>
  `metalog history ${where} ${quoted(object)} --from ${from} --to ${to}`;

/** @param {string} object @param {number} to @param {number} count */
export const newestCommand = (object, to, count) =>
  `metalog history ${where} ${quoted(object)} --to ${to} --last ${count}`;

/** @param {string} object @param {number} at */
export const blameCommand = (object, at) => `metalog blame ${where} ${quoted(object)} --at ${at}`;

/** @param {number} from @param {number} to @param {string|null} object */
export function outagesCommand(from, to, object) {
  const only = object === null ? "" : ` --object ${quoted(object)}`;
  return `metalog outages ${where} --from ${from} --to ${to}${only}`;
}

/** @param {string} expression @param {number} from @param {number} to */
export const bisectCommand = (expression, from, to) => `metalog bisect ${where} ${quoted(expression)} --from ${from} --to ${to}`;

/** @param {number} from @param {number} to */
export const checkCommand = (from, to) => `metalog check ${where} --from ${from} --to ${to}`;

/** @param {string} without An offset, or an object. @param {number|null} after The point after which decisions are made anew. @param {number} to */
export function whatIfCommand(without, after, to) {
  const what = /^\d+$/.test(without) ? `--drop ${without}` : `--without ${quoted(without)}`;
  return `metalog what-if ${where}${after === null ? "" : ` --at ${after}`} --to ${to} ${what}`;
}

const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Quote a word for a shell, if necessary. A terminal may obey control characters that are pasted into
 * it, so they are escaped as bash and zsh read it: `$'a\u001b'`. @param {string} word */
export function quoted(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (!UNPRINTABLE.test(word)) return `'${word.replaceAll("'", `'"'"'`)}'`;
  const escaped = Array.from(word, (char) => {
    if (char === "'" || char === "\\") return `\\${char}`;
    if (!UNPRINTABLE.test(char)) return char;
    const code = /** @type {number} */ (char.codePointAt(0)).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
  return `$'${escaped.join("")}'`;
}

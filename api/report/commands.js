// Commands: the command lines that print what the page shows. `where` is how they name the log or service.

/** @param {string} where @param {number|string} from @param {number} to @param {string[]} [kinds] @param {string[]} [objects] */
export function timelineCommand(where, from, to, kinds = [], objects = []) {
  const only = [...kinds.map((kind) => ` --type ${kind}`), ...objects.map((object) => ` --object ${quoted(object)}`)];
  return `metalog timeline ${where} --from ${from} --to ${to}${only.join("")}`;
}

/** @param {string} where @param {number} from @param {number} to */
export const byPeopleCommand = (where, from, to) => `${timelineCommand(where, from, to)} --by-people`;

/** @param {string} where @param {number} from @param {number} to @param {string|null} object */
export function diffCommand(where, from, to, object) {
  const only = object === null ? "" : ` --object ${quoted(object)}`;
  return `metalog diff ${where} ${from > 0 ? from - 1 : "start"} ${to}${only}`;
}

/** @param {string} where @param {number} at @param {string} other Where another log is. @param {number} otherAt @param {string|null} [object] */
export function logsDiffCommand(where, at, other, otherAt, object = null) {
  const only = object === null ? "" : ` --object ${quoted(object)}`;
  return `metalog diff ${where}@${at} ${other}@${otherAt}${only}`;
}

/** @param {string} where @param {string} name @param {number} at */
export const whyCommand = (where, name, at) => `metalog why ${where} ${quoted(name)} --at ${at}`;

/** @param {string} where @param {string} object @param {number} from @param {number} to */
export const historyCommand = (where, object, from, to) =>
  `metalog history ${where} ${quoted(object)} --from ${from} --to ${to}`;

/** @param {string} where @param {string} object @param {number} to @param {number} count */
export const newestCommand = (where, object, to, count) =>
  `metalog history ${where} ${quoted(object)} --to ${to} --last ${count}`;

/** @param {string} where @param {string} object @param {number} at */
export const blameCommand = (where, object, at) => `metalog blame ${where} ${quoted(object)} --at ${at}`;

/** @param {string} where @param {number|string} from @param {number} to @param {string|null} object */
export function outagesCommand(where, from, to, object) {
  const only = object === null ? "" : ` --object ${quoted(object)}`;
  return `metalog outages ${where} --from ${from} --to ${to}${only}`;
}

/** @param {string} where @param {number} from @param {number} to @param {number} broker */
export const outagesOfBrokerCommand = (where, from, to, broker) => `metalog outages ${where} --from ${from} --to ${to} --broker ${broker}`;

/** @param {string} where @param {number|string} from @param {number} to */
export const controllersCommand = (where, from, to) => timelineCommand(where, from, to, ["controllers"]);

/** Where a log or service is, for commands that take no log as an argument. @param {string} where */
const option = (where) => (where.startsWith("--") ? where : `--log ${where}`);

/** @param {string} where @param {number} at */
export const reassignmentsCommand = (where, at) => `metalog reassignments list ${option(where)} --at ${at}`;

/** @param {string} where */
export const infoCommand = (where) => `metalog info ${where}`;

/** @param {string} where @param {number} at */
export const topicsCommand = (where, at) => `metalog topics list ${option(where)} --at ${at}`;

/** @param {string} where @param {number} at */
export const brokersCommand = (where, at) => `metalog brokers list ${option(where)} --at ${at}`;

/** @param {string} where @param {string} topic @param {number} at */
export const topicCommand = (where, topic, at) => `metalog topics describe ${quoted(topic)} ${option(where)} --at ${at}`;

/** @param {string} where @param {number} at @param {string} topic */
export const recreateCommand = (where, at, topic) => `metalog export commands ${where} --at ${at} --only ${quoted(`topic:${topic}`)}`;

/** @param {string} where @param {string} expression @param {number} from @param {number} to */
export const bisectCommand = (where, expression, from, to) => `metalog bisect ${where} ${quoted(expression)} --from ${from} --to ${to}`;

/** @param {string} where @param {number} from @param {number} to */
export const checkCommand = (where, from, to) => `metalog check ${where} --from ${from} --to ${to}`;

/** @param {string} where @param {string} without An offset, or an object. @param {number|null} after The point after which decisions are made anew. @param {number} to */
export function whatIfCommand(where, without, after, to) {
  const what = /^\d+$/.test(without) ? `--drop ${without}` : `--without ${quoted(without)}`;
  return `metalog what-if ${where}${after === null ? "" : ` --at ${after}`} --to ${to} ${what}`;
}

/** @param {string} where @param {number} from @param {number} to @param {import("report/notes.js").Note[]} notes */
export function reportCommand(where, from, to, notes) {
  const pinned = notes.map(({ offset, text }) => ` --note ${quoted(`${offset}:${text}`)}`);
  return `metalog report ${where} report.html --from ${from} --to ${to}${pinned.join("")}`;
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

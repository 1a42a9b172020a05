// Completion of expressions: what may come at the cursor.

import { COLLECTIONS, FUNCTIONS, MACROS, METHODS } from "asked/vocabulary.js";

const WORDS_MAX = 10;

/** A word that may come, and what is inserted for it: a name, a quoted key, a field, the beginning of a call.
 * @typedef {{text: string, hint: string}} Word */

/** What may come at a cursor: `text.slice(begin, cursor)` is replaced by one of the words.
 * @typedef {{begin: number, words: Word[]}} Completion */

/**
 * @param {string} text @param {number} cursor
 * @param {(collection: string, begun: string) => string[]} namesOf The names of objects that begin with a text, a few.
 * @returns {Completion}
 */
export function completionAt(text, cursor, namesOf) {
  const before = text.slice(0, cursor);
  const key = /(^|[^.\w])([a-z_]+)\[(["']?)([^"'\]]*)$/.exec(before);
  if (key && COLLECTIONS[key[2]]) {
    const [, , collection, quote, begun] = key, quoted = NUMBERED.has(collection) ? String : JSON.stringify;
    const words = namesOf(collection, begun).slice(0, WORDS_MAX).map((name) => ({ text: `${quoted(name)}]`, hint: collection }));
    return { begin: cursor - quote.length - begun.length, words };
  }
  const begun = /[A-Za-z_]*$/.exec(before)?.[0] ?? "", begin = cursor - begun.length;
  // Nothing follows a number, or what is complete.
  if (isInText(before) || /[\d\])"']$/.test(before.slice(0, begin))) return { begin, words: [] };
  const words = before[begin - 1] === "." ? membersOf(before.slice(0, begin - 1), text) : startsOf(before);
  return { begin, words: words.filter(({ text: word }) => word.startsWith(begun) && word !== begun).slice(0, WORDS_MAX) };
}

/** The collections whose objects are looked up by number. */
const NUMBERED = new Set(["brokers", "controllers", "voters"]);

/** What may come after a dot. @returns {Word[]} */
function membersOf(/** @type {string} */ owner, /** @type {string} */ text) {
  const calls = MACROS.map((name) => ({ text: `${name}(`, hint: "of a collection" }));
  const collection = collectionOf(owner, text);
  if (collection === null) return [...METHODS.map((name) => ({ text: `${name}(`, hint: "of a text" })), ...calls];
  const fields = COLLECTIONS[collection.name].map((name) => ({ text: name, hint: `of ${collection.name}` }));
  return collection.isWhole ? calls : fields;
}

/** The collection that an expression is, or whose object it is; null if that is not known.
 * @returns {{name: string, isWhole: boolean}|null} */
function collectionOf(/** @type {string} */ owner, /** @type {string} */ text) {
  const found = /([A-Za-z_]+)(\[[^\]]*\])?$/.exec(owner);
  if (!found) return null;
  const [, name, key] = found;
  if (COLLECTIONS[name]) return { name, isWhole: key === undefined && name !== "cluster" };
  // A variable of a macro: its collection is before the macro.
  for (const [, of, variables] of text.matchAll(/([a-z_]+)(?:\[[^\]]*\])?\.(?:exists_one|exists|all|filter|map)\(\s*([A-Za-z_]+(?:\s*,\s*[A-Za-z_]+)?)\s*,/g)) {
    if (COLLECTIONS[of] && variables.split(/\s*,\s*/).at(-1) === name) return { name: of, isWhole: false };
  }
  return null;
}

/** What an expression may begin with, with the variables of the macros before. @returns {Word[]} */
function startsOf(/** @type {string} */ before) {
  const variables = [...before.matchAll(/\.(?:exists_one|exists|all|filter|map)\(\s*([A-Za-z_]+)\s*,/g)].map(([, name]) => name);
  return [
    ...[...new Set(variables)].map((name) => ({ text: name, hint: "one of them" })),
    ...Object.keys(COLLECTIONS).map((name) => ({ text: name, hint: "collection" })),
    ...FUNCTIONS.map((name) => ({ text: `${name}(`, hint: "function" })),
  ];
}

/** True if a quotation mark is open at the end of a text. */
function isInText(/** @type {string} */ before) {
  let open = "";
  for (const char of before) {
    if (open) open = char === open ? "" : open;
    else if (char === '"' || char === "'") open = char;
  }
  return open !== "";
}

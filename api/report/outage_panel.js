// The panel of an outage: when it began and ended, by which record, what came before, what may be lost.

import { ChangesAround, changesAround } from "report/changes_around.js";
import { brokersDown, lasted, newController, restarts } from "report/circumstances.js";
import { outagesCommand, whyCommand } from "report/commands.js";
import { LEADERLESS, UNDER_REPLICATED } from "report/data.js";
import { commandLine, fill, make } from "report/dom.js";
import { endsOf } from "report/ends.js";
import { isFound } from "report/gaps.js";
import { mayBeLost, notKnown, whyNobodyElse } from "report/losses.js";
import { nextSteps } from "report/next_steps.js";
import { byCause, objectsIn, ofKind, outagesAround, outagesOf, STATES, stateOf } from "report/outages.js";
import { worst } from "report/states.js";
import { ASKERS_MAX, countText, durationText, plain, timeText } from "report/words.js";
import { whyOf } from "report/why.js";

const OBJECTS_AT_FIRST = 20;
const TOPICS_AT_FIRST = 3;

/** The panel of what has more changes is shown only when it is asked for: it takes seconds. */
const OPENED_ROWS_MAX = 2_000;

/** @typedef {import("report/outages.js").Outage} Outage */
/** @typedef {{outages: Outage[], chain: import("report/why.js").Link[]}} Found */

export class OutagePanel {
  /** @param {import("report/data.js").Data} data @param {import("report/selection.js").Selection} selection @param {import("report/answers.js").Answers} answers */
  constructor(data, selection, answers) {
    this.data = data;
    this.selection = selection;
    this.answers = answers;
  }

  /** Show what is worst among all partitions or brokers at the end of the selection.
   * @param {"partition"|"broker"} kind */
  show(kind) {
    const row = this.data.rowAt(this.selection.to), all = ofKind(this.data, kind);
    this.open(all, worstOf(this.data, all, row), row, null);
  }

  /** Show the incident on which the page opens, if it is still selected. */
  showOpening() {
    const { data: { header, rows }, selection: { from, to } } = this;
    if (header.opens === null || from !== header.opens[0] || to !== header.opens[1]) return;
    if (header.opens_on !== "under_replicated") this.showFirst(true);
    else if (rows - this.data.rowAt(from) <= OPENED_ROWS_MAX) this.open(ofKind(this.data, "partition"), UNDER_REPLICATED, rows - 1, null, true);
  }

  /** Show the first time in the selection without a leader, if there is one. @param {boolean} quietly As for `open`. */
  showFirst(quietly) {
    const { data, selection } = this, partitions = ofKind(data, "partition"), before = data.rowAt(selection.from - 1);
    const rows = data.touchedIn(before, data.rowAt(selection.to)).filter((object) => data.objectKind[object] === data.kinds.indexOf("partition"))
      .flatMap((object) => outagesOf(data, object, [LEADERLESS])).filter((each) => each.row > before);
    if (rows.length) this.open(partitions, LEADERLESS, rows.reduce((a, b) => (b.fromRow < a.fromRow ? b : a)).fromRow, null, quietly);
  }

  /** Show the outage that an unclean election ended; without one, why the elected broker leads. @param {number} offset Of the election. */
  showUnclean(offset) {
    const { data } = this, row = data.rowOfRecord(offset);
    const elected = row < 1 ? [] : data.touchedIn(row - 1, row).filter((object) => data.kinds[data.objectKind[object]] === "partition" && data.isThere(object, row));
    if (!elected.length) return;
    if (elected.some((object) => data.outagesAt(object, row - 1) & LEADERLESS)) this.open(ofKind(data, "partition"), LEADERLESS, row - 1, null);
    else this.answers.why(data.nameAt(elected[0], row), "leader", offset);
  }

  /** Show the time around a row in which any of some objects is in a state, and select that time.
   * @param {number[]} objects @param {number} bit The state. @param {number} row @param {string|null} name The object to select.
   * @param {boolean} [quietly] The selection and the focus stay. */
  open(objects, bit, row, name, quietly = false) {
    const { data, answers } = this, outages = outagesAround(data, objects, bit, row);
    if (!outages.length) return;
    if (!quietly) this._select(outages, name);
    // Why is asked of what began first, and by the key w of what was clicked.
    const first = earliest(outages), { field } = /** @type {any} */ (STATES.get(bit)), clicked = objectsIn(data, objects, bit, row)[0] ?? first.object;
    const begun = first.fromRow > 0 ? first.fromRow : row, asked = `${data.nameAt(first.object, begun)}#${field}`;
    // A fencing comes later in the batch than what it causes.
    const at = Math.max(data.effect[begun], first.cause?.offset ?? 0);
    const own = () => ({ outages, chain: whyOf(data, first.object, field, data.rowAt(at))?.chain ?? [] });
    answers.show("outage", () => this._asked(outages, asked, at, row), (found) => this._shown(found, objects, row, asked, at), own, undefined, quietly);
    answers.seen = { name: data.nameAt(clicked, row), field, at: data.effect[row] };
  }

  /** Select the whole outage, with what caused it. */
  _select(/** @type {Outage[]} */ outages, /** @type {string|null} */ name) {
    const { data, selection } = this;
    let from = Infinity, to = -Infinity;
    for (const each of outages) {
      from = Math.min(from, each.from ?? data.first, each.cause?.offset ?? Infinity);
      to = Math.max(to, each.to === null ? data.last : data.effect[each.row + 1]);
    }
    selection.set({ from, to, object: name });
  }

  /** The service's answer: it has the whole log, so it knows what began before the page's records.
   * @returns {Promise<Found>|undefined} */
  _asked(/** @type {Outage[]} */ outages, /** @type {string} */ asked, /** @type {number} */ at, /** @type {number} */ row) {
    const { questions } = this.answers;
    if (questions === null) return undefined;
    return (async () => {
      const { chain } = await questions.why(asked, at);
      if (outages.every((each) => each.cause !== null)) return { outages, chain };
      const name = outages.length === 1 ? this.data.nameAt(outages[0].object, row) : null;
      const known = new Map((await questions.outages(at, this.data.effect[latest(outages).row], name)).map((each) => [`${each.object} ${each.kind}`, each]));
      return { chain, outages: outages.map((each) => this._completed(each, known.get(`${this.data.nameAt(each.object, row)} ${STATES.get(each.bit)?.kind}`))) };
    })();
  }

  /** @param {Outage} outage @param {import("report/answers.js").Outage|undefined} known @returns {Outage} */
  _completed(outage, known) {
    if (outage.cause !== null || !known || known.from === null) return outage;
    const end = outage.toTime ?? this.data.header.times[1];
    return { ...outage, from: known.from, fromTime: known.fromTime, cause: known.record, duration: Math.max(0, end - (known.fromTime ?? end)) };
  }

  /** @returns {import("report/answers.js").Shown} */
  _shown(/** @type {Found} */ { outages, chain }, /** @type {number[]} */ objects, /** @type {number} */ row, /** @type {string} */ asked, /** @type {number} */ at) {
    const { data, answers } = this, began = earliest(outages), ended = latest(outages);
    const causes = new Set(outages.map((each) => each.cause?.offset));
    const before = chain.filter((link) => (began.from === null || link.offset < began.from) && !causes.has(link.offset));
    const terms = [
      ...this._topics(outages, row),
      ...this._ends(outages, began, ended),
      term("cause", ...byCause(outages).map((of) => this._cause(of, outages.length)), ...whyNobodyElse(data, outages).map((text) => make("div", {}, text))),
      term("in whose name", ...this._who(outages, chain)),
      ...this._meanwhile(outages, began, ended),
      ...this._endedBy(outages),
      term("may be lost", sentences(mayBeLost(data, outages))),
      term("not known", sentences(notKnown(data, outages))),
      term("before", ...(outages.length > 1 && before.length ? [make("div", {}, plain(`of ${data.nameAt(began.object, row)}:`))] : []), before.length ? answers.list(before, (link) => answers.link(link)) : "no earlier record led to it"),
    ];
    const changes = new ChangesAround(data, this.selection, changesAround(data, began, ended), new Set(outages.map(({ object }) => data.nameAt(object, row))));
    terms.push(term("people changed", ...changes.nodes));
    const name = outages.length === 1 ? data.nameAt(outages[0].object, row) : null;
    const [from, to] = [began.from ?? data.first, ended.to ?? data.last];
    return {
      nodes: [make("h3", {}, this._heading(outages, objects, row)), make("dl", { class: "outage" }, ...terms), ...this._nextSteps(outages)],
      command: whyCommand(this.selection.where, asked, at),
      more: [commandLine(outagesCommand(this.selection.where, from, to, name)), commandLine(changes.command), ...(outages.length > 1 ? [this._each(outages, row)] : [])],
    };
  }

  _heading(/** @type {Outage[]} */ outages, /** @type {number[]} */ objects, /** @type {number} */ row) {
    const { data } = this, [first] = outages, words = /** @type {any} */ (STATES.get(first.bit));
    const isOver = outages.every(({ to }) => to !== null), [one, more] = isOver ? [words.was, words.were] : [words.one, words.more];
    if (outages.length === 1) return plain(`${data.nameAt(first.object, row)} ${one}`);
    const kind = data.kinds[data.objectKind[first.object]], count = new Set(outages.map(({ object }) => object)).size;
    const there = Math.max(count, objects.filter((object) => data.isThere(object, row)).length);
    return `${count} of ${countText(there, kind)} ${count === 1 ? one : more}`;
  }

  /** The topics of several partitions. */
  _topics(/** @type {Outage[]} */ outages, /** @type {number} */ row) {
    const { data } = this, isOfPartitions = data.kinds[data.objectKind[outages[0].object]] === "partition";
    if (!isOfPartitions || outages.length === 1) return [];
    const topics = [...new Set(outages.map(({ object }) => data.nameAt(object, row).replace(/^partition:(.*)\/\d+$/, "$1")))];
    const more = topics.length > TOPICS_AT_FIRST ? `, and ${topics.length - TOPICS_AT_FIRST} more` : "";
    return [term("topics", plain(topics.slice(0, TOPICS_AT_FIRST).join(", ") + more))];
  }

  _ends(/** @type {Outage[]} */ outages, /** @type {Outage} */ began, /** @type {Outage} */ ended) {
    const { data } = this;
    const start = began.from === null ? [`before offset ${data.header.history_from}`] : this._record(began.from, /** @type {number} */ (began.fromTime));
    const time = ended.toTime ?? data.header.times[1] ?? data.time[data.rows - 1], since = began.fromTime ?? data.time[0];
    // What comes after the last record is not known: a log is often copied when its node was stopped.
    const end = ended.to === null ? [make("time", { datetime: timeText(time) }, timeText(time)), ", where the records end: it is not over by then"] : this._record(ended.to, time);
    return [term("from", ...start), term("to", ...end), term("lasted", lasted(data, outages, since, time))];
  }

  _record(/** @type {number} */ offset, /** @type {number} */ time) {
    return [make("time", { datetime: timeText(time) }, timeText(time)), " ", this._offset(offset)];
  }

  _offset(/** @type {number} */ offset) {
    const onclick = () => this.selection.set({ from: offset, to: offset });
    return make("button", { type: "button", class: "link offset", title: "select this record", onclick }, `record ${offset}`);
  }

  _cause(/** @type {Outage[]} */ of, /** @type {number} */ all) {
    const [{ cause }] = of, count = of.length < all ? `${countText(of.length, this.data.kinds[this.data.objectKind[of[0].object]])}: ` : "";
    const why = isFound(this.data, of[0].fromRow) ? "it was found after a gap" : "it is older than these records";
    if (cause === null) return make("div", {}, `${count}not known: ${why}`);
    const offsets = of.map((each) => each.cause?.offset ?? cause.offset), first = Math.min(...offsets), last = Math.max(...offsets);
    return make("div", {}, plain(`${count}${cause.text} `), ...this._offsets(first, last), ...(first > (of[0].from ?? Infinity) ? [", in the same batch"] : []));
  }

  /** What else was so when it began. */
  _meanwhile(/** @type {Outage[]} */ outages, /** @type {Outage} */ began, /** @type {Outage} */ ended) {
    const down = [...brokersDown(this.data, outages), ...restarts(this.data, began, ended)].map((text) => make("div", {}, plain(text))), controller = newController(this.data, began);
    if (controller !== null) down.push(make("div", {}, `${controller.text}, `, this._offset(controller.offset)));
    return down.length ? [term("around that time", ...down)] : [];
  }

  /** What ended it, by whom and why; nothing if all of it lasts. */
  _endedBy(/** @type {Outage[]} */ outages) {
    const { data } = this, kind = data.kinds[data.objectKind[outages[0].object]], lines = endsOf(data, outages).map((end) => {
      const count = end.count < outages.length ? `${countText(end.count, kind)}: ` : "";
      const who = end.who === null ? "" : ` by ${end.who}`, how = [end.command, end.reason].filter(Boolean).join(": ");
      return make("div", {}, plain(`${count}${end.text}${end.text && ", "}`), ...this._offsets(end.first, end.last), plain(`${who}${how && ` (${how})`}`));
    });
    return lines.length ? [term("ended by", ...lines)] : [];
  }

  /** @returns {(Node|string)[]} */
  _offsets(/** @type {number} */ first, /** @type {number} */ last) {
    return [this._offset(first), ...(last > first ? [" to ", this._offset(last)] : [])];
  }

  /** Who made the causes, and who asked for them, as far as it is known. */
  _who(/** @type {Outage[]} */ outages, /** @type {import("report/why.js").Link[]} */ chain) {
    const { data } = this;
    if (data.header.is_mirror) return ["not known: Kafka's log does not say who asked for a change"];
    /** @type {Map<string, (Node|string)[]>} */
    const found = new Map();
    for (const { cause, object, fromRow } of outages) {
      if (cause === null) {
        found.set("", ["not known"]);
        continue;
      }
      const { who, how } = this._origin(cause.offset, chain);
      const asked = askersOf(data, cause.offset, data.nameAt(object, fromRow)).filter(([, by]) => by !== who);
      const askers = asked.slice(0, ASKERS_MAX).flatMap(([offset, by]) => [`, asked ${by ? `by ${by}` : "for"} at `, this._offset(offset), this._origin(offset, []).how]);
      const more = asked.length > ASKERS_MAX ? `, and ${asked.length - ASKERS_MAX} more` : "";
      found.set([who, how, asked].join(), [`${who ?? "the record does not say who"}${how}`, ...askers, more]);
    }
    return [...found.values()].map((nodes) => make("div", {}, ...nodes.map((node) => (typeof node === "string" ? plain(node) : node))));
  }

  /** The principal of a record, and by which command and why; of a chain if the page lacks the record. */
  _origin(/** @type {number} */ offset, /** @type {import("report/why.js").Link[]} */ chain) {
    const row = this.data.rowOfRecord(offset), link = chain.find((each) => each.offset === offset);
    const { principal, command, reason } = row > 0 ? this.data.recordOf(row) : { principal: link?.principal ?? null, command: null, reason: null };
    const how = [command, reason].filter(Boolean).join(": ");
    return { who: principal, how: how && ` (${how})` };
  }

  /** What to do, each with its command. */
  _nextSteps(/** @type {Outage[]} */ outages) {
    const items = nextSteps(this.data, this.selection.where, outages).map(({ text, command }) => make("li", {}, plain(text), " This shows more:", commandLine(command)));
    return items.length ? [make("h4", {}, "Next steps"), make("ol", { class: "steps" }, ...items), make("h4", {}, "The facts above, by command")] : [];
  }

  /** Each object with its own outage; opened on demand. */
  _each(/** @type {Outage[]} */ outages, /** @type {number} */ row) {
    const { data } = this, list = make("ol", { class: "chain" });
    const item = (/** @type {Outage} */ each) => {
      const name = data.nameAt(each.object, row);
      return make("li", {}, make("button", { type: "button", class: "link", onclick: () => this.open([each.object], each.bit, Math.max(each.fromRow, 0), name) }, plain(name)),
        make("span", {}, durationText(each.duration)), make("span", { class: "by" }, `from ${each.from ?? "before"} to ${each.to ?? "the end"}`));
    };
    const folded = make("details", { class: "each" }, make("summary", {}, `each ${data.kinds[data.objectKind[outages[0].object]]} by itself`), list);
    folded.addEventListener("toggle", () => fill(list, outages.map(item).values(), OBJECTS_AT_FIRST), { once: true });
    return folded;
  }
}

/** Who asked for what a record did to an object, if its event says so. @param {import("report/data.js").Data} data @param {number} offset @param {string} name */
function askersOf(data, offset, name) {
  const around = [...data.events.toldBefore(offset, offset), ...data.events.told(offset, offset)];
  return around.find(({ asked, objects }) => asked.length > 0 && objects.includes(name))?.asked ?? [];
}

/** The worst state that any of some objects is in. @param {import("report/data.js").Data} data @param {number[]} objects @param {number} row */
function worstOf(data, objects, row) {
  let bits = 0;
  for (const object of objects) bits |= stateOf(data, object, row);
  return worst(bits & 127);
}

/** The outage that began first. @param {Outage[]} outages */
const earliest = (outages) => outages.reduce((a, b) => (b.fromRow < a.fromRow || (b.from === null && a.from !== null) ? b : a));

/** The outage that ended last. @param {Outage[]} outages */
const latest = (outages) => outages.reduce((a, b) => (b.row > a.row || b.to === null ? b : a));

const term = (/** @type {string} */ name, /** @type {(Node|string)[]} */ ...nodes) => make("div", {}, make("dt", {}, name), make("dd", {}, ...nodes));

const sentences = (/** @type {string[]} */ texts) => make("ul", {}, ...texts.map((text) => make("li", {}, plain(text))));

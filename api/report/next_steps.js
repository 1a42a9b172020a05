// Next steps: what to do about outages, from their own facts, each with a command that shows more.

import { sharedAddresses } from "report/addresses.js";
import { brokersCommand, controllersCommand, historyCommand, outagesOfBrokerCommand, outagesCommand, reassignmentsCommand, recreateCommand, topicCommand, whyCommand } from "report/commands.js";
import { LEADERLESS, UNDER_REPLICATED } from "report/data.js";
import { endedUncleanly } from "report/ends.js";
import { fencedAt, waitsFor } from "report/losses.js";
import { isGoing, NEW } from "report/object_states.js";
import { ofKind } from "report/outages.js";
import { isUp } from "report/why.js";
import { countText, timeText } from "report/words.js";

const STEPS_MAX = 3;
const LOOKED_AT_MAX = 20_000;

/** @typedef {import("report/data.js").Data} Data */
/** @typedef {import("report/outages.js").Outage} Outage */
/** @typedef {{text: string, command: string}} Step */
/** Outages that have brokers in common. @typedef {{brokers: number[], others: number[], of: Outage[]}} Group */

/** What is known of some outages of the same kind. */
class Facts {
  /** @param {Data} data @param {string} where @param {Outage[]} outages */
  constructor(data, where, outages) {
    this.data = data;
    this.where = where;
    this.all = outages.slice(0, LOOKED_AT_MAX);
    this.isOf = (/** @type {number} */ bit) => outages[0].bit === bit;
    this.isOfBroker = data.kinds[data.objectKind[outages[0].object]] === "broker";
    this.brokers = ofKind(data, "broker").filter((broker) => data.isThere(broker, data.rows - 1)).length;
    this.begin = Math.min(...this.all.map((each) => each.from ?? data.first));
    this.lasting = this.all.filter((each) => each.to === null);
    this.end = Math.max(...this.all.map((each) => each.to ?? data.last));
    /** The addresses at the end that the brokers of these partitions share. */
    this.shared = this.isOfBroker ? [] : sharedAddresses(data, data.rows - 1).filter(({ brokers }) => brokers.filter((each) => this.isUp(each)).length > 1);
  }

  /** The name of an outage's object when it began. @param {Outage} outage */
  name({ object, fromRow }) { return this.data.nameAt(object, Math.max(fromRow, 0)); }

  /** The name of the topic of an outage's partition. @param {Outage} outage */
  topic(outage) { return this.name(outage).replace(/^partition:(.*)\/\d+$/, "$1"); }

  /** @param {Outage} outage @param {number} [row] */
  state({ object }, row = this.data.rows - 1) { return this.data.stateAt(object, row); }

  /** The brokers, up or down, that are not in sync with partitions that have a leader again, with these. */
  get behind() {
    const ended = this.all.filter((each) => each.to !== null && this.state(each)?.leader >= 0).map((each) => ({ ...each, bit: UNDER_REPLICATED }));
    return [true, false].flatMap((up) => this.waiting(up, ended));
  }

  /** The brokers that partitions lack at the end. @returns {number[]} */
  get lacking() {
    return [...this.waiting(true), ...this.waiting(false), ...(this.isOf(LEADERLESS) ? this.behind : [])].map(({ broker }) => broker);
  }

  isShared(/** @type {number} */ broker) { return this.shared.some(({ brokers }) => brokers.includes(broker)); }

  isUp(/** @type {number} */ broker) { return isUp(this.data, broker, this.data.rows - 1); }

  isThere(/** @type {number} */ broker) {
    const row = this.data.rows - 1, object = this.data.find(`broker:${broker}`, row);
    return object !== null && this.data.isThere(object, row);
  }

  /** The brokers, down or up, that partitions wait for at the end of the data, with their partitions, most first.
   * @param {boolean} up @param {Outage[]} outages @returns {{broker: number, of: Outage[]}[]} */
  waiting(up, outages = this.lasting) {
    /** @type {Map<number, Outage[]>} */
    const found = new Map();
    for (const each of outages) {
      for (const broker of missing(each.bit, this.state(each))) {
        const of = found.get(broker);
        if (of) of.push(each);
        else found.set(broker, [each]);
      }
    }
    return [...found].filter(([broker]) => this.isThere(broker) && this.isUp(broker) === up).map(([broker, of]) => ({ broker, of })).sort((a, b) => b.of.length - a.of.length || a.broker - b.broker);
  }
}

/** The brokers of which each could lead without loss; none if nobody is in sync. @param {any} state @returns {number[]} */
const inSync = (state) => [state.isr, state.eligible_leader_replicas].find((ids) => ids?.length) ?? [];

/** The brokers that a partition waits for, by kind of outage; none if it waits for none. */
function missing(/** @type {number} */ bit, /** @type {any} */ state) {
  if (state === null || state.replicas === undefined) return [];
  return bit === LEADERLESS ? inSync(state) : state.replicas.filter((/** @type {number} */ id) => !state.isr.includes(id) && !state.adding_replicas.includes(id));
}

const partitions = (/** @type {Outage[]} */ of) => countText(of.length, "partition");
const listed = (/** @type {number[]} */ ids) => `${ids.length === 1 ? "broker" : "brokers"} ${ids.join(", ")}`;
const some = (/** @type {any[]} */ found) => (found.length ? found : null);

/**
 * What to do, most urgent first: the condition returns what it found, or null; the advice says what to do about that.
 * @type {{name: string, condition: (facts: Facts) => any, advice: (found: any, facts: Facts) => Step}[]}
 */
export const ADVICE = [
  {
    name: "one address for several brokers",
    condition: (facts) => some(facts.shared.filter(({ brokers }) => facts.lacking.some((each) => brokers.includes(each)))),
    advice: ([{ address, brokers, row }], { where, data }) => ({
      text: `Give each broker its own advertised address: ${listed(brokers)} advertise ${address}${row > 0 ? `, since ${timeText(data.time[row])}` : ""}, so followers and clients that ask for one of them may reach another.`,
      command: brokersCommand(where, data.last),
    }),
  },
  {
    name: "no controller elects",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(facts.waiting(true)) : null),
    advice: ([{ broker, of }], { where, data }) => ({
      text: `Broker ${broker} is up and could lead ${partitions(of)}: look whether a controller is active.`,
      command: controllersCommand(where, "start", data.last),
    }),
  },
  {
    name: "nobody in sync",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(facts.lasting.filter((each) => inSync(facts.state(each)).length === 0)) : null),
    advice: ([first, ...more], facts) => ({
      text: `Nobody is in sync with ${partitions([first, ...more])}: see who was last, before you allow an unclean election.`,
      command: whyCommand(facts.where, `${facts.name(first)}#leader`, facts.data.last),
    }),
  },
  {
    name: "start the brokers that are waited for",
    condition: (facts) => (facts.isOfBroker ? null : some(facts.waiting(false))),
    advice: ([first, ...more], { where, begin, data }) => ({
      text: `Start broker ${first.broker}${more.length ? " first" : ""}: ${partitions(first.of)} ${first.of.length === 1 ? "waits" : "wait"} for it${more.length ? `; then ${more.map((/** @type {any} */ { broker, of }) => `${broker} (${of.length})`).join(", ")}` : ""}.`,
      command: outagesOfBrokerCommand(where, begin, data.last, first.broker),
    }),
  },
  {
    name: "reassignment goes on",
    condition: (facts) => (facts.isOf(UNDER_REPLICATED) ? some(facts.lasting.filter((each) => facts.state(each)?.adding_replicas?.length > 0)) : null),
    advice: (found, { where, data }) => ({
      text: `${partitions(found)} ${found.length === 1 ? "is" : "are"} being reassigned: see which replica has not joined.`,
      command: reassignmentsCommand(where, data.last),
    }),
  },
  {
    name: "up, but not in sync",
    condition: (facts) => (facts.isOf(UNDER_REPLICATED) ? some(facts.waiting(true).filter(({ broker }) => !facts.isShared(broker))) : null),
    advice: ([{ broker, of }], facts) => ({
      text: `Broker ${broker} is up, but not in the ISR of ${partitions(of)}: see since when, and look at its disks, its network and its fetchers.`,
      command: historyCommand(facts.where, facts.name(of[0]), facts.begin, facts.data.last),
    }),
  },
  {
    name: "start or unregister the broker",
    condition: (facts) => (facts.isOfBroker ? some(facts.lasting) : null),
    advice: ([first, ...more], facts) => {
      const brokers = [first, ...more].map((each) => Number(facts.name(each).slice("broker:".length)));
      return {
        text: `Start ${listed(brokers)}, or unregister what will not come back: see which partitions wait.`,
        command: outagesOfBrokerCommand(facts.where, facts.begin, facts.data.last, brokers[0]),
      };
    },
  },
  {
    name: "elected uncleanly",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(uncleanly(facts)) : null),
    advice: ([{ brokers, others, of }], facts) => ({
      text: others.length
        ? `Compare the log of ${listed(brokers)}, elected uncleanly, with ${others.length === 1 ? "that" : "those"} of ${listed(others)}, in sync before: ${partitions(of)}.`
        : `Compare what producers had acknowledged with the end of ${partitions(of)}, and see what broker ${brokers[0]} found in its log as it started: no other replica exists, so what was not on its disk may be lost.`,
      command: whyCommand(facts.where, `${facts.name(of[0])}#leader`, /** @type {number} */ (of[0].to)),
    }),
  },
  {
    name: "left under-replicated",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(leftBehind(facts)) : null),
    advice: ([{ broker, of }], facts) => ({
      text: `The ISR of ${partitions(of)} still lacks broker ${broker}, which is ${facts.isUp(broker) ? "up" : "down"}: see since when.`,
      command: outagesOfBrokerCommand(facts.where, facts.end, facts.data.last, broker),
    }),
  },
  {
    name: "stalled",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(stalled(facts)) : null),
    advice: (brokers, facts) => ({
      text: `See what held ${listed(brokers)} up: the host (processor, memory, a paused virtual machine), its garbage collection, its disks. It was fenced, and came back without a restart.`,
      command: outagesOfBrokerCommand(facts.where, facts.begin, facts.data.last, brokers[0]),
    }),
  },
  {
    name: "one replica",
    // A second broker on a host that stalls would stall, too.
    condition: (facts) => (facts.isOf(LEADERLESS) && !(facts.brokers === 1 && stalled(facts).length) ? some(facts.all.filter((each) => facts.state(each)?.replicas.length === 1)) : null),
    advice: ([first, ...more], facts) => ({
      text: facts.brokers === 1 ? "Add a broker, then replicas: with one broker, each of its restarts takes all down."
        : `Give ${topicsOf(facts, [first, ...more])} more replicas: with one, a partition is down whenever its broker is.`,
      command: topicCommand(facts.where, facts.topic(first), facts.data.last),
    }),
  },
  {
    name: "one in sync before",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(facts.all.filter((each) => wasAlone(facts, each))) : null),
    advice: ([first, ...more], facts) => ({
      text: `Only one replica of ${partitions([first, ...more])} was in sync before: see what took the others out.`,
      command: outagesCommand(facts.where, "start", /** @type {number} */ (first.from), facts.name(first)),
    }),
  },
  {
    name: "deleted",
    condition: (facts) => (facts.isOf(LEADERLESS) ? some(facts.all.filter((each) => each.to !== null && isDeleted(facts, each))) : null),
    advice: ([first], facts) => ({
      text: `If topic ${facts.topic(first)} was not to be deleted: this prints the commands that make it anew as it was, without its records.`,
      command: recreateCommand(facts.where, Math.max(0, (first.from ?? facts.begin) - 1), facts.topic(first)),
    }),
  },
  {
    name: "down repeatedly",
    condition: (facts) => (facts.isOfBroker ? some(facts.all.filter((each) => timesDown(facts, each) > 1)) : null),
    advice: ([first], facts) => ({
      text: `${facts.name(first).replace("broker:", "Broker ")} was down ${timesDown(facts, first)} times: compare when, and how long each time.`,
      command: outagesCommand(facts.where, "start", facts.data.last, facts.name(first)),
    }),
  },
];

/** The brokers whose fencing caused outages that ended when the same processes were unfenced. @returns {number[]} */
function stalled(/** @type {Facts} */ { data, all }) {
  const ends = new Map(all.flatMap(({ to, row, cause }) => (to === null || cause === null ? [] : [[cause.offset, row + 1]])));
  const brokers = [...ends].flatMap(([offset, end]) => fencedAt(data, offset).filter((object) => isSameRun(data, object, data.rowAt(offset), end)));
  return [...new Set(brokers.map((object) => Number(data.labelAt(object, data.rows - 1))))].sort((a, b) => a - b);
}

function isSameRun(/** @type {Data} */ data, /** @type {number} */ broker, /** @type {number} */ fenced, /** @type {number} */ end) {
  const [before, after] = [data.stateAt(broker, fenced), data.stateAt(broker, end)];
  return after !== null && !after.fenced && after.incarnation_id === before?.incarnation_id;
}

/** The topics of some outages: the first, and how many more. */
function topicsOf(/** @type {Facts} */ facts, /** @type {Outage[]} */ outages) {
  const [first, ...more] = new Set(outages.map((each) => facts.topic(each)));
  return more.length ? `topic ${first} and ${countText(more.length, "other")}` : `topic ${first}`;
}

/** Outages that ended by an unclean election, by who was elected and who had been in sync, most first. @returns {Group[]} */
function uncleanly(/** @type {Facts} */ facts) {
  /** @type {Map<string, Group>} */
  const found = new Map();
  for (const each of facts.all) {
    if (each.to === null || !endedUncleanly(facts.data, each)) continue;
    const brokers = [facts.state(each, each.row + 1)?.leader], others = waitsFor(facts.state(each, each.row)).filter((/** @type {number} */ id) => !brokers.includes(id));
    const group = found.get(`${brokers} ${others}`);
    if (group) group.of.push(each);
    else found.set(`${brokers} ${others}`, { brokers, others, of: [each] });
  }
  return [...found.values()].sort((a, b) => b.of.length - a.of.length);
}

/** The brokers that are not in sync with partitions that have a leader again. */
function leftBehind(/** @type {Facts} */ facts) {
  return facts.lasting.length ? [] : facts.behind.filter(({ broker }) => !facts.isShared(broker));
}

/** True if the outage ended because the partition's topic was deleted. */
function isDeleted(/** @type {Facts} */ { data }, /** @type {Outage} */ { object, row }) {
  const topic = data.objectTopic[object] - 1;
  return topic >= 0 && !data.isThere(object, row + 1) && !data.isThere(topic, row + 1);
}

function wasAlone(/** @type {Facts} */ facts, /** @type {Outage} */ outage) {
  const before = outage.from === null || outage.fromRow < 1 ? null : facts.state(outage, outage.fromRow - 1);
  const after = facts.state(outage, outage.fromRow);
  return before !== null && before.replicas.length > 1 && before.isr.length === 1 && !isGoing(after);
}

/** How often a broker went down; its first registration, which is fenced, does not count. */
function timesDown(/** @type {Facts} */ { data }, /** @type {Outage} */ { object, bit }) {
  let count = 0, was = false;
  for (const touch of data.touchesOf(object)) {
    const is = (data.outages[touch] & bit) !== 0;
    const isNew = data.fateOf(touch) === NEW && data.rowOf[touch] > 0;
    if (is && !was && !isNew) count++;
    was = is;
  }
  return count;
}

/** The most urgent next steps after outages of the same kind. @param {Data} data @param {string} where @param {Outage[]} outages @returns {Step[]} */
export function nextSteps(data, where, outages) {
  const facts = new Facts(data, where, outages), steps = [];
  for (const { condition, advice } of ADVICE) {
    const found = condition(facts);
    if (found !== null && steps.push(advice(found, facts)) === STEPS_MAX) break;
  }
  return steps;
}

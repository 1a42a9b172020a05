// kafkajs does what it promises: node tests/clients/kafkajs_promises.js HOST:PORT TOPIC.
const { Kafka, logLevel } = require("../../requirements/node_modules/kafkajs");
const { produce } = require("./kafkajs_producer");

const [server, topic] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING, retry: { retries: 3 } });
const admin = kafka.admin();
const found = {};

async function step(name, action) {
  try {
    found[name] = `${(await action()) ?? "yes"}`;
  } catch (error) {
    found[name] = error.type ?? error.name;
  }
}

const isThere = async (name) => ((await admin.listTopics()).includes(name) ? "there" : "not there");
// Brokers learn of a change after the controller has answered.
const inTime = async (ask, expected) => {
  const end = Date.now() + 20000;
  let answer;
  do {
    answer = await ask();
  } while (answer !== expected && Date.now() < end);
  return answer;
};
const lowAndHigh = async () => {
  const [partition] = await admin.fetchTopicOffsets(topic);
  return `${partition.low} to ${partition.high}`;
};
const partitions = async (name) => {
  const described = await admin.fetchTopicMetadata({ topics: [name] });
  return described.topics[0].partitions;
};

async function main() {
  await admin.connect();
  await step("createTopics", () => admin.createTopics({ topics: [{ topic }] }));
  await step("createTopics, again", () => admin.createTopics({ topics: [{ topic }] }));
  await step("createTopics, validateOnly", async () => {
    await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics: [{ topic: `${topic}-dry` }] });
    return isThere(`${topic}-dry`);
  });
  await step("fetchTopicMetadata", async () => {
    const described = await partitions(topic);
    return `${described.length} partition, ${described[0].leader > 0 ? "led" : "not led"}`;
  });
  await step("fetchTopicMetadata, unknown", () => partitions(`${topic}-no`));
  await step("describeCluster", async () => {
    const cluster = await admin.describeCluster();
    const ids = cluster.brokers.map((broker) => broker.nodeId).sort();
    return `${ids.join(", ")}; controller ${ids.includes(cluster.controller) ? "among them" : "elsewhere"}`;
  });
  const producer = kafka.producer();
  await producer.connect();
  for (const number of [0, 1, 2]) {
    const message = { value: `${number}`, timestamp: `${1000 * (number + 1)}` };
    await producer.send({ topic, messages: [message] });
  }
  await producer.disconnect();
  await step("fetchTopicOffsets", lowAndHigh);
  await step("fetchTopicOffsetsByTimestamp", async () => {
    const [partition] = await admin.fetchTopicOffsetsByTimestamp(topic, 1001);
    return partition.offset;
  });
  const remove = async (offset) => {
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] });
    return lowAndHigh();
  };
  await step("deleteTopicRecords", () => remove("2"));
  await step("deleteTopicRecords, -1", () => remove("-1"));
  await step("describeConfigs, configNames", async () => {
    const resources = [{ type: 2, name: topic, configNames: ["retention.ms"] }];
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    return described.resources[0].configEntries.map((entry) => entry.configName).join(", ");
  });
  await step("createPartitions", async () => {
    await admin.createPartitions({ topicPartitions: [{ topic, count: 2 }] });
    return inTime(async () => `${(await partitions(topic)).length} partitions`, "2 partitions");
  });
  await produce(kafka, admin, `${topic}-written`, step);
  await step("listPartitionReassignments", async () => {
    return (await admin.listPartitionReassignments({})).topics.length;
  });
  await step("deleteTopics", async () => {
    await admin.deleteTopics({ topics: [topic] });
    return (await inTime(() => isThere(topic), "not there")) === "there" ? "there" : "gone";
  });
  process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
}

main();

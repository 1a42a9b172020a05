// kafkajs with defaults: node tests/clients/kafkajs_client.js HOST:PORT TOPIC.
const { Kafka, logLevel } = require("../../requirements/node_modules/kafkajs");

const [server, topic] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING });
const found = {};

async function step(name, action) {
  try {
    found[name] = (await action()) ?? "yes";
  } catch (error) {
    found[name] = error.type ?? error.name;
  }
}

const WAIT_MS = 4000;
const waited = () => new Promise((done) => setTimeout(() => done("waits"), WAIT_MS).unref());

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  await step("create", async () => {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1 }] });
  });
  await step("list", async () => ((await admin.listTopics()).includes(topic) ? "yes" : "no"));
  const producer = kafka.producer();
  await producer.connect();
  await step("write", async () => {
    const [sent] = await producer.send({ topic, messages: [{ value: "0" }, { value: "1" }] });
    if (sent.baseOffset !== "0") throw new Error(sent.baseOffset);
  });
  await producer.disconnect();
  await step("offsets", async () => {
    const [partition] = await admin.fetchTopicOffsets(topic);
    return partition.high === "2" ? "yes" : partition.high;
  });
  await step("configs", async () => {
    const resources = [{ type: 2, name: topic }];
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    return described.resources[0].configEntries.length > 0 ? "yes" : "no";
  });
  found.read = "-";
  await step("groups", async () => `${(await admin.listGroups()).groups.length}`);
  const consumer = kafka.consumer({ groupId: "g" });
  await step("subscribe", async () => {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const read = new Promise((done) => {
      consumer.on("consumer.crash", ({ payload }) => done(payload.error.type));
      consumer.run({ eachMessage: async () => done("yes") });
    });
    return Promise.race([read, waited()]);
  });
  await step("transact", async () => {
    const producer = kafka.producer({ transactionalId: "t", maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    await producer.transaction();
  });
  await step("delete", async () => {
    await admin.deleteTopics({ topics: [topic] });
  });
  process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
}

main();

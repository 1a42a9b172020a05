// @platformatic/kafka does what it promises: node tests/clients/platformatic_promises.mjs H:P TOPIC.
import * as kafka from "../../requirements/node_modules/@platformatic/kafka/dist/index.js";

const [server, topic] = process.argv.slice(2);
const options = { clientId: "promised", bootstrapBrokers: [server] };
const admin = new kafka.Admin(options);
const found = {};

async function step(name, action) {
  try {
    found[name] = `${(await action()) ?? "yes"}`;
  } catch (error) {
    const causes = [error, ...(error.errors ?? [])];
    found[name] = causes.map((each) => each.apiId ?? each.code ?? each.message).at(-1);
  }
}

await step("createTopics", async () => {
  const [made] = await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 });
  const policy = made.configuration["cleanup.policy"];
  const value = policy?.value ?? policy;
  const id = made.id ? "an id" : "no id";
  return `${id}, ${made.partitions} partition, ${made.replicas} replica, cleanup.policy=${value}`;
});
// Brokers learn of a change after the controller has answered.
const listed = async (expected) => {
  const end = Date.now() + 20000;
  let found;
  do {
    found = (await admin.listTopics()).includes(topic);
  } while (found !== expected && Date.now() < end);
  return found;
};
await step("listTopics", async () => ((await listed(true)) ? "yes" : "no"));
await step("createPartitions", async () => {
  await admin.createPartitions({ topics: [{ name: topic, count: 2 }] });
  return "resolved";
});
const producer = new kafka.Producer(options);
const messages = ["0", "1", "2"].map((value) => ({ topic, partition: 0, value: Buffer.from(value) }));
await producer.send({ messages });
await step("listOffsets", async () => {
  const partitions = [{ partitionIndex: 0, timestamp: -1n }];
  const [listed] = await admin.listOffsets({ topics: [{ name: topic, partitions }] });
  return listed.partitions[0].offset;
});
await step("deleteRecords", async () => {
  const partitions = [{ partition: 0, offset: 2n }];
  const [deleted] = await admin.deleteRecords({ topics: [{ name: topic, partitions }] });
  return deleted.partitions[0].lowWatermark;
});
await step("describeLogDirs", async () => {
  const topics = [{ name: topic, partitions: [0, 1] }];
  const described = await admin.describeLogDirs({ topics });
  return described.map((each) => each.broker).sort().join(", ");
});
const entities = [{ entityType: "client-id", entityName: "promised" }];
const quota = { key: "producer_byte_rate", value: 1000 };
const alter = (remove) =>
  admin.alterClientQuotas({ entries: [{ entities, ops: [{ ...quota, remove }] }] });
await step("alterClientQuotas", async () => (await alter(false)).length);
await step("describeClientQuotas", async () => {
  const components = [{ entityType: "client-id", matchType: 0, match: "promised" }];
  const [described] = await admin.describeClientQuotas({ components });
  return described.values.map((each) => `${each.key}=${each.value}`).join(", ");
});
await alter(true);
const both = [{ entityType: "user", entityName: "promised" }, ...entities];
const keys = ["producer_byte_rate", "consumer_byte_rate", "request_percentage"];
const alterAll = (remove) =>
  Promise.all(
    [both.slice(0, 1), both].map((entities) =>
      admin.alterClientQuotas({ entries: [{ entities, ops: keys.map((key) => ({ key, value: 1, remove })) }] })
    )
  );
const types = (each) => each.entity.map((part) => part.entityType).join("+");
await step("alterClientQuotas, order", async () => (await alterAll(false)).map(([each]) => types(each)).join(", "));
await step("describeClientQuotas, order", async () => {
  const components = [{ entityType: "user", matchType: 0, match: "promised" }];
  const described = await admin.describeClientQuotas({ components });
  const values = described[1].values.map((each) => each.key).join(", ");
  return `${described.map(types).join(", ")}: ${values}`;
});
await alterAll(true);
await step("listGroups", async () => (await admin.listGroups()).size);
await step("deleteTopics", async () => {
  await admin.deleteTopics({ topics: [topic] });
  return (await listed(false)) ? "there" : "gone";
});
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));

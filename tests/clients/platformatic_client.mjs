// @platformatic/kafka with defaults: node tests/clients/platformatic_client.mjs HOST:PORT TOPIC.
import * as kafka from "../../requirements/node_modules/@platformatic/kafka/dist/index.js";

const [server, topic] = process.argv.slice(2);
const options = { clientId: "c", bootstrapBrokers: [server] };
const found = {};

async function step(name, action) {
  try {
    found[name] = (await action()) ?? "yes";
  } catch (error) {
    const causes = [error, ...(error.errors ?? [])];
    found[name] = causes.map((each) => each.apiId ?? each.code).at(-1);
  }
}

const WAIT_MS = 4000;
const waited = () => new Promise((done) => setTimeout(() => done("waits"), WAIT_MS));

const admin = new kafka.Admin(options);
await step("create", async () => {
  await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 });
});
// Brokers learn of a topic after the controller has answered.
await step("list", async () => {
  for (const end = Date.now() + 20000; Date.now() < end; ) {
    if ((await admin.listTopics()).includes(topic)) return "yes";
  }
  return "no";
});
const producer = new kafka.Producer(options);
await step("write", async () => {
  const messages = [{ topic, value: Buffer.from("0") }, { topic, value: Buffer.from("1") }];
  const sent = await producer.send({ messages });
  if (`${sent.offsets[0].offset}` !== "0") throw new Error("offset");
});
const consumer = new kafka.Consumer({ ...options, groupId: "g" });
await step("offsets", async () => {
  const offsets = await consumer.listOffsets({ topics: [topic] });
  return `${offsets.get(topic)[0]}` === "2" ? "yes" : `${offsets.get(topic)[0]}`;
});
await step("configs", async () => {
  const resources = [{ resourceType: 2, resourceName: topic }];
  const [described] = await admin.describeConfigs({ resources });
  return described.configs.length > 0 ? "yes" : "no";
});
found.read = "-";
await step("groups", async () => `${(await admin.listGroups()).size}`);
await step("subscribe", async () => {
  const stream = consumer.consume({ topics: [topic], mode: "earliest" }).then(() => "yes");
  return Promise.race([stream, waited()]);
});
await step("transact", async () => {
  const producer = new kafka.Producer({ ...options, idempotent: true, transactionalId: "t" });
  await producer.beginTransaction();
});
await step("delete", async () => {
  await admin.deleteTopics({ topics: [topic] });
});
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));

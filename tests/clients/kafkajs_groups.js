// kafkajs's consumer with a group: node tests/clients/kafkajs_groups.js HOST:PORT TOPIC.
const { Kafka, logLevel } = require("../../requirements/node_modules/kafkajs");

const [server, topic] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING });
const WAIT_MS = 4000;

async function main() {
  const consumer = kafka.consumer({ groupId: "g" });
  const outcome = new Promise((done) => {
    consumer.on("consumer.crash", ({ payload }) => done(payload.restart ? "restarts" : payload.error.type));
    setTimeout(() => done("waits"), WAIT_MS).unref();
  });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachMessage: async () => {} });
  const found = { subscribe: await outcome, assign: "-", commit: "-", committed: "-", close: "-" };
  process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));
}

main();

// Write to topics with record configs with kafkajs: HOST:PORT, and the writes as JSON.
const { Kafka, logLevel } = require("../../requirements/node_modules/kafkajs");

const [server, writes] = process.argv.slice(2);

async function main() {
  const producer = new Kafka({ brokers: [server], logLevel: logLevel.NOTHING }).producer();
  await producer.connect();
  const outcomes = [];
  let last;
  for (const [topic, key, size, shift] of JSON.parse(writes)) {
    const message = { key, value: "v".repeat(size), timestamp: `${Date.now() + shift}` };
    try {
      const [sent] = await producer.send({ topic, messages: [message] });
      last = sent.logAppendTime;
      outcomes.push("written");
    } catch (error) {
      outcomes.push((error.cause ?? error).type ?? error.name);
    }
  }
  process.stdout.write(JSON.stringify({ outcomes: outcomes.join(" "), last_ms: last }) + "\n");
  await producer.disconnect();
}

main();

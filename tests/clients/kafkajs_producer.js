// kafkajs's producer does what its guide promises; used by kafkajs_promises.js.
const { CompressionTypes } = require("../../requirements/node_modules/kafkajs");

// Later than the other records, within the hour that brokers accept.
const LATER = Date.now() + 600000;

// Writes to a new topic; to its partition 1, but for what chooses a partition.
exports.produce = async (kafka, admin, topic, step) => {
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] });
  const quick = { allowAutoTopicCreation: false };
  const producer = kafka.producer(quick);
  await producer.connect();

  const send = (message, options = {}) =>
    producer.send({ topic, messages: [{ value: "x", partition: 1, ...message }], ...options });
  const offset = async (message, options) => (await send(message, options))[0].baseOffset;
  const alter = (configEntries) =>
    admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries }] });
  const ended = async () => {
    const offsets = await admin.fetchTopicOffsets(topic);
    return offsets.find((each) => each.partition === 1).high;
  };

  await step("send", async () => {
    const [sent] = await send({ headers: { text: "h", bytes: Buffer.from([0, 255]), list: ["a", "b"] } });
    return `${sent.topicName === topic}, ${sent.partition}, ${sent.errorCode}, ${sent.baseOffset}, ${sent.logAppendTime}`;
  });
  await step("send, acks 1", () => offset({}, { acks: 1 }));
  await step("send, acks 0", async () => {
    await send({}, { acks: 0 });
    // Nothing is answered; the next record has the offset after it.
    return offset({});
  });
  await step("send, GZIP", () => offset({ value: "x".repeat(1000) }, { compression: CompressionTypes.GZIP }));
  await step("send, null value", () => offset({ key: "gone", value: null }));
  await step("send, timestamp", async () => {
    await send({ timestamp: `${LATER}` });
    const found = await admin.fetchTopicOffsetsByTimestamp(topic, LATER);
    return found.find((each) => each.partition === 1).offset;
  });
  await step("send, several messages", async () => {
    const messages = [1, 2, 3].map((number) => ({ value: `${number}`, partition: 1 }));
    const [sent] = await producer.send({ topic, messages });
    return `${sent.baseOffset}, then ${await offset({})}`;
  });
  await step("send, key", async () => {
    const partitions = new Set();
    for (const value of ["1", "2", "3"]) {
      const [sent] = await producer.send({ topic, messages: [{ key: "the key", value }] });
      partitions.add(sent.partition);
    }
    return `${partitions.size} partition`;
  });
  await step("sendBatch", async () => {
    const topicMessages = [0, 1].map((partition) => ({ topic, messages: [{ value: "b", partition }] }));
    const sent = await producer.sendBatch({ topicMessages });
    return sent.map((each) => each.partition).sort().join(", ");
  });
  await step("createPartitioner", async () => {
    const own = kafka.producer({ ...quick, createPartitioner: () => () => 1 });
    await own.connect();
    const [sent] = await own.send({ topic, messages: [{ value: "x" }] });
    await own.disconnect();
    return sent.partition;
  });
  await step("idempotent", async () => {
    const own = kafka.producer({ ...quick, idempotent: true, maxInFlightRequests: 1 });
    await own.connect();
    const before = Number(await ended());
    await Promise.all([1, 2, 3].map((number) => own.send({ topic, messages: [{ value: `${number}`, partition: 1 }] })));
    await own.disconnect();
    return Number(await ended()) - before;
  });
  await step("send, unknown topic", () => producer.send({ topic: `${topic}-no`, messages: [{ value: "x" }] }));
  await step("send, too large", async () => {
    await alter([{ name: "max.message.bytes", value: "200" }]);
    return send({ value: "x".repeat(1000) });
  });
  await step("send, LogAppendTime", async () => {
    await alter([{ name: "message.timestamp.type", value: "LogAppendTime" }]);
    const before = Date.now() - 60000;
    // Brokers learn of a change after the controller has answered.
    for (;;) {
      const [sent] = await send({ timestamp: "1" });
      if (Number(sent.logAppendTime) > before) return "the broker's time";
    }
  });
  await producer.disconnect();
};

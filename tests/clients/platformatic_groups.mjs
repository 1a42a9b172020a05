// @platformatic/kafka's consumer with a group: node tests/clients/platformatic_groups.mjs HOST:PORT TOPIC.
import * as kafka from "../../requirements/node_modules/@platformatic/kafka/dist/index.js";

const [server, topic] = process.argv.slice(2);
const WAIT_MS = 4000;
const waited = new Promise((done) => setTimeout(() => done("waits"), WAIT_MS));

// The error of the protocol that lies within those of the client.
const innermost = (error) => (error.errors?.length ? innermost(error.errors.at(-1)) : (error.apiId ?? error.code));

const consumer = new kafka.Consumer({ clientId: "c", bootstrapBrokers: [server], groupId: "g" });
const stream = consumer.consume({ topics: [topic], mode: "earliest" }).then(() => "yes", innermost);
const subscribe = await Promise.race([stream, waited]);
const found = { subscribe, assign: "-", commit: "-", committed: "-", close: "-" };
process.stdout.write(JSON.stringify(found) + "\n", () => process.exit(0));

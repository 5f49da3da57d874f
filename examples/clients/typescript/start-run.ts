// Starts a run of a Switchyard agent and prints its answer: node start-run.ts AGENT INPUT
//
// npm install @nats-io/transport-node @nats-io/jetstream
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { AckPolicy, jetstream, JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import { connect, nanos, nkeyAuthenticator } from "@nats-io/transport-node";

const { NATS_URL = "nats://127.0.0.1:4222", YARD_USER = "me", YARD_NATS_NKEY_FILE } = process.env;
const ENDS = new Set(["finished", "failed", "cancelled", "dead", "rejected"]);

const [agent, input] = process.argv.slice(2);
if (agent === undefined || input === undefined) {
  process.stderr.write("usage: node start-run.ts AGENT INPUT\n");
  process.exit(2);
}
const nc = await connect({
  servers: NATS_URL,
  // A user with a key reads replies at an inbox of its own and nowhere else.
  ...(YARD_NATS_NKEY_FILE && {
    authenticator: nkeyAuthenticator(
      new TextEncoder().encode(readFileSync(YARD_NATS_NKEY_FILE, "utf8").trim()),
    ),
    inboxPrefix: `_INBOX_${YARD_USER}`,
  }),
});
const manager = await jetstreamManager(nc);

const runId = `ts-${randomUUID()}`; // publishing it again is the same run, not another one
const command = JSON.stringify({ input, runId });
await jetstream(nc).publish(`yard.cmd.${YARD_USER}.run.start.${agent}`, command);

// Events are read from the stream: a plain subscription also receives what other users have the server deliver to it.
const reader = await makeConsumer(`yard.evt.run.${YARD_USER}.${runId}.*`);
for await (const message of await reader.consume()) {
  const name = message.subject.split(".").at(-1) ?? "";
  process.stderr.write(`${name}\n`);
  if (!ENDS.has(name)) continue;
  const event = message.json<{ output?: string }>();
  process.stdout.write(`${name === "finished" ? event.output : JSON.stringify(event)}\n`);
  process.exitCode = name === "finished" ? 0 : 1;
  break;
}
await reader.delete();
await nc.close();

/** A user's consumers are named {user}-1 to {user}-32: this takes the first name that no other program uses. */
async function makeConsumer(filter_subject: string) {
  const config = { filter_subject, ack_policy: AckPolicy.None, inactive_threshold: nanos(30_000) };
  for (let number = 1; ; number += 1) {
    const name = `${YARD_USER}-${number}`;
    try {
      await manager.consumers.add("YARD_EVENTS", { ...config, name });
      return await jetstream(nc).consumers.get("YARD_EVENTS", name);
    } catch (error) {
      const isTaken = error instanceof JetStreamApiError && error.code === 10_148;
      if (!isTaken || number === 32) throw error;
    }
  }
}

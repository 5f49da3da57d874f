// Starts a run of a Switchyard agent and prints its answer: node start-run.ts AGENT INPUT
//
// npm install @nats-io/transport-node @nats-io/jetstream
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { jetstream } from "@nats-io/jetstream";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";

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

const runId = `ts-${randomUUID()}`; // publishing it again is the same run, not another one
const events = nc.subscribe(`yard.evt.run.${YARD_USER}.${runId}.*`);
const command = JSON.stringify({ input, runId });
await jetstream(nc).publish(`yard.cmd.${YARD_USER}.run.start.${agent}`, command);

for await (const message of events) {
  const name = message.subject.split(".").at(-1) ?? "";
  process.stderr.write(`${name}\n`);
  if (!ENDS.has(name)) continue;
  const event = message.json<{ output?: string }>();
  process.stdout.write(`${name === "finished" ? event.output : JSON.stringify(event)}\n`);
  process.exitCode = name === "finished" ? 0 : 1;
  break;
}
await nc.close();

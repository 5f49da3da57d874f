import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startYardDev } from "../lib/yard-dev.ts";
import { plainClient, type PlainEvent } from "./plain-client.ts";

const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const callsFile = join(directory, "calls");
const dev = await startYardDev({
  project: "test/e2e/project",
  stateDir: join(directory, "state"),
  env: { CALLS_FILE: callsFile },
});
const client = await plainClient(dev.natsUrl);
after(async () => {
  await client.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

const names = (events: PlainEvent[]) => events.map((event) => event.name);

test("a plain NATS client starts a run and reads its result from the events", async () => {
  client.publish("yard.cmd.me.run.start.counter", { runId: "plain-1", input: { first: "one" } });
  const events = await client.eventsOfRun("plain-1");

  assert.equal(events[0]?.name, "started");
  assert.equal(events.at(-1)?.name, "finished");
  assert.equal(events.at(-1)?.payload["output"], "appended one, appended five");
  assert.equal(events.at(-1)?.payload["model"], "scripted/plan");
  const sequence = events.map((event) => event.payload["seq"]);
  assert.deepEqual(
    sequence,
    events.map((_, index) => index + 1),
  );
  assert.equal(await readFile(callsFile, "utf8"), "one\ntwo\nthree\nfour\nfive\n");
});

test("a repeated run id is the same run, and nothing happens twice", async () => {
  const before = await readFile(callsFile, "utf8");
  client.publish("yard.cmd.me.run.start.counter", { runId: "plain-1", input: { first: "one" } });
  // The queue is in order, so when a later command of this client is answered, the repeated one was processed.
  client.publish("yard.cmd.me.run.start.nobody", { runId: "plain-2", input: "x" });
  await client.eventsOfRun("plain-2");
  assert.equal(await readFile(callsFile, "utf8"), before);
});

test("the run continues with an error that the model sees, whatever a tool does", async () => {
  client.publish("yard.cmd.me.run.start.troubled", { runId: "troubled-1", input: "go" });
  const events = await client.eventsOfRun("troubled-1");

  assert.equal(events.at(-1)?.name, "finished");
  const answer = String(events.at(-1)?.payload["output"]);
  const lines = Object.fromEntries(
    answer.split("\n").map((line) => [line.split(":")[0], line] as const),
  );
  assert.match(lines["missing"] ?? "", /command not found: no-such-program-anywhere/);
  assert.match(lines["exits"] ?? "", /out of order/);
  assert.match(lines["hang"] ?? "", /500|within|time/i);
  assert.match(lines["big"] ?? "", /bytes|large/i);
  assert.match(lines["denied"] ?? "", /no-secrets/);
  assert.ok(names(events).includes("tool-denied"));
  assert.doesNotMatch(await readFile(callsFile, "utf8"), /secret/);
});

test("a result that is too large for one message arrives whole, and the model sees its beginning", async () => {
  client.publish("yard.cmd.me.run.start.large", { runId: "large-1", input: "go" });
  const events = await client.eventsOfRun("large-1");
  assert.equal(events.at(-1)?.name, "finished");
  const completed = events.find((event) => event.name === "tool-completed");
  assert.equal(completed?.payload["textBytes"], 2_000_000);
});

const rejected: [string, string, string, string, RegExp][] = [
  ["malformed JSON", "yard.cmd.me.run.start.counter", "{not json", "malformed_json", /JSON/],
  [
    "an unknown agent",
    "yard.cmd.me.run.start.nobody",
    '{"runId":"R","input":"x"}',
    "unknown_agent",
    /nobody/,
  ],
  ["a missing input", "yard.cmd.me.run.start.counter", '{"runId":"R"}', "invalid_command", /input/],
  [
    "an unknown field",
    "yard.cmd.me.run.start.counter",
    '{"runId":"R","input":"x","modle":"a/b"}',
    "invalid_command",
    /modle/,
  ],
  [
    "an unknown model provider",
    "yard.cmd.me.run.start.counter",
    '{"runId":"R","input":"x","model":"nobody/x"}',
    "unknown_model",
    /nobody/,
  ],
  [
    "an unknown skill",
    "yard.cmd.me.run.start.counter",
    '{"runId":"R","input":"x","skill":"nothing"}',
    "unknown_skill",
    /nothing/,
  ],
];

for (const [index, [what, subject, body, code, text]] of rejected.entries()) {
  test(`${what} is answered by one rejected event that states the reason`, async () => {
    const runId = `rejected-${index}`;
    client.publishText(subject, body.replace('"R"', JSON.stringify(runId)));
    // A body that is not JSON has no run id to look for.
    const event = await client.waitForEvent("yard.evt.run.*.*.rejected", ({ payload }) =>
      body.includes('"R"') ? payload["runId"] === `me~${runId}` : payload["code"] === code,
    );
    assert.equal(event.payload["code"], code);
    assert.equal(event.payload["caller"], "me");
    const { message, problems } = event.payload;
    assert.match(JSON.stringify({ message, problems }), text);
  });
}

test("nothing stays in the queue after all this", async () => {
  const admin = await client.connection.jetstreamManager({ checkAPI: false });
  const events = await admin.streams.info("YARD_EVENTS");
  assert.ok(events.state.messages > 0);
  assert.match(await dev.metricsOf("runner"), /^yard_runner_slots_busy\{[^}]*\} 0$/m);
});

test("a client cannot publish under another client's name", async () => {
  const refused = client.nextError();
  client.publish("yard.cmd.team-a.run.start.counter", { input: { first: "forged" } });
  await client.connection.flush();
  assert.match(await refused, /PERMISSIONS_VIOLATION/i);
  assert.doesNotMatch(await readFile(callsFile, "utf8"), /forged/);
});

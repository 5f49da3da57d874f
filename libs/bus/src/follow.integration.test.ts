import assert from "node:assert/strict";
import { test } from "node:test";
import { askOwner, serverHint } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { runCancelled, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { testNats } from "@switchyard/testing/test-servers";
import { call } from "./call.ts";
import { follow } from "./follow.ts";
import { publishEvent, publishLive } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { signalled } from "@switchyard/testing/test-bus";
import { testUsers } from "@switchyard/testing/test-users";

// The server has the permissions that it gets in production.
const users = testUsers();
const nats = await testNats({ authorization: users.authorization });
const [admin, broker, runner, cli] = await Promise.all([
  users.connect(nats, "admin"),
  users.connect(nats, "broker"),
  users.connect(nats, "runner"),
  users.connect(nats, "cli"),
]);
await ensureStreams(admin);

const cancelled = {
  runId: "run-1",
  seq: 1,
  at: new Date(0).toISOString(),
  by: "cli",
  reason: null,
  steps: 0,
};

const rejected = {
  runId: "run-1",
  subject: "yard.cmd.cli.run.start.a",
  caller: "cli",
  code: "unknown_agent",
  message: "there is no agent a",
  problems: [],
  streamSequence: 1,
  messageId: null,
  at: new Date(0).toISOString(),
};

test("receives every message of a contract with its tokens, until it is stopped", async () => {
  const received: string[] = [];
  const second = signalled();
  const following = follow(broker, serverHint, ({ about }, { server }) => {
    received.push(`${server} ${about}`);
    if (received.length === 2) second.resolve();
  });
  await broker.flush();
  publishLive(broker, serverHint, { server: "one" }, { about: "lease" });
  publishLive(broker, serverHint, { server: "two" }, { about: "registry" });
  await second.promise;
  following.stop();
  publishLive(broker, serverHint, { server: "three" }, { about: "lease" });
  await broker.flush();
  assert.deepEqual(received, ["one lease", "two registry"]);
});

test("the broker receives the ends of runs and no other events", async () => {
  const received = signalled();
  const others: string[] = [];
  follow(broker, runCancelled, ({ runId }) => {
    if (runId === "run-1") received.resolve();
  });
  follow(broker, runRejected, ({ runId }) => others.push(runId));
  await broker.flush();
  await publishEvent(runner, runRejected, { owner: "cli", runId: "run-1" }, rejected);
  await publishEvent(runner, runCancelled, { owner: "cli", runId: "run-1" }, cancelled);
  await received.promise;
  assert.deepEqual(others, []);
});

test("no client may ask an owner in the place of a broker", async () => {
  const asking = call(cli, askOwner, { do: "logs" }, { tokens: { server: "files" } });
  await assert.rejects(asking, { code: "forbidden" });
});

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { subscribeLive } from "@switchyard/bus/events";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { addServer, updateServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  callProgress,
  cancelCall as cancelCallContract,
  cancelCallAt,
  type CallProgress,
} from "@switchyard/contracts/mcp-broker/mcp-calls";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createCallStore } from "@switchyard/tool-provider/call-store";
import { cancelCall } from "@switchyard/tool-provider/cancel-call";
import { createPolicyGate } from "@switchyard/tool-provider/policy-gate";
import { runToken, servePeer } from "../../test-fixtures/policy-peer.ts";
import { fixtureServer, packageFile, testWorld } from "../../test-fixtures/test-broker.ts";
import { createCancelPasser } from "./call-path.ts";

const world = await testWorld({ withPolicy: false });
const policyBus = await connectBus({ servers: world.natsUrl, user: "policy" });
const runner = await connectBus({ servers: world.natsUrl, user: "runner" });
after(async () => {
  await Promise.all([policyBus.close(), runner.close()]);
});
const rules = servePeer(policyBus);
await policyBus.flush();
afterEach(() => {
  rules.hold = null;
  rules.denied.clear();
  rules.cacheable = undefined;
});

const FIVE_MIB = 5 * 1024 * 1024;
const everything = [packageFile("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"];
const main = await world.startBroker({
  servers: [
    fixtureServer("main", ["fixture-server.ts"]),
    fixtureServer("weak", ["fixture-server.ts"], { callTimeoutMs: 1_000 }),
    fixtureServer("single", ["fixture-server.ts"], { maxConcurrency: 1 }),
    fixtureServer("large", ["fixture-server.ts"], { maxResultBytes: 8 * 1024 * 1024 }),
    fixtureServer("kept", ["fixture-server.ts"], { allowedAgentRoles: ["writer", "admin"] }),
    fixtureServer("tagged", ["fixture-server.ts"], {
      tags: ["internet", "customer-data", "internet"],
      allowedAgentRoles: ["writer"],
      enabledTools: ["e*"],
    }),
    fixtureServer("cut", ["fixture-server.ts"], {
      enabledTools: ["echo", "count", "tool_*"],
      disabledTools: ["count"],
    }),
    { id: "everything", command: process.execPath, args: everything },
  ],
});

const failsWith =
  (code: keyof typeof callTool.errors) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };

async function trace(): Promise<{ file: string; lines: () => Promise<string[]> }> {
  const file = join(await testDirectory(), "trace");
  const lines = async (): Promise<string[]> => {
    const text = await readFile(file, "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  };
  return { file, lines };
}

/** Starts a call that hangs, and returns when its server has begun it. */
async function hang(callId: string, request: { token?: string; server?: string } = {}) {
  const { file, lines } = await trace();
  const { server = "main", token } = request;
  const result = main.call(server, {
    tool: "hang",
    args: { file },
    callId,
    ...(token && { token }),
  });
  result.catch(() => undefined); // the test that started it awaits it later
  await until(lines, ({ length }) => length > 0);
  return { result, lines };
}

const cancel = (callId: string, more: { token?: string } = {}, bus = world.cli) =>
  call(bus, cancelCallContract, { callId, ...more }, { tokens: { server: "main" } });

test("a cancelled call ends at once, and its server is notified to stop [A22, AR9]", async () => {
  const { result, lines } = await hang("cancel-1");
  assert.deepEqual(await cancel("cancel-1"), { cancelled: true });
  await assert.rejects(result, (error) => {
    assert.ok(isError(error, callTool, "cancelled"), String(error));
    assert.deepEqual(error.data, { callId: "cancel-1", sent: true });
    return true;
  });
  assert.deepEqual(await until(lines, ({ length }) => length > 1), ["begun", "cancelled"]);
  assert.deepEqual(await cancel("cancel-1"), { cancelled: false });
  // Its outcome is unknown, so it is not executed again.
  const again = main.call("main", { tool: "hang", args: { file: "x" }, callId: "cancel-1" });
  await assert.rejects(again, failsWith("call_id_conflict"));
});

test("a call whose id is for one use is cancelled by it", async () => {
  const { result, lines } = await hang("once:cancel-1");
  assert.deepEqual(await cancel("once:cancel-1"), { cancelled: true });
  await assert.rejects(result, failsWith("cancelled"));
  assert.deepEqual(await until(lines, ({ length }) => length > 1), ["begun", "cancelled"]);
});

test("a call that waits for its turn is cancelled without being sent", async () => {
  const first = await hang("cancel-2", { server: "single" });
  const { file, lines } = await trace();
  const waiting = main.call("single", { tool: "count", args: { file }, callId: "cancel-3" });
  waiting.catch(() => undefined);
  const member = main.broker.pool.find("single");
  await until(
    () => member?.queue.queued,
    (queued) => queued === 1,
  );
  const tokens = { server: "single" };
  await call(world.cli, cancelCallContract, { callId: "cancel-3" }, { tokens });
  await assert.rejects(waiting, (error) => {
    assert.ok(isError(error, callTool, "cancelled"), String(error));
    assert.equal(error.data.sent, false);
    return true;
  });
  await call(world.cli, cancelCallContract, { callId: "cancel-2" }, { tokens });
  await assert.rejects(first.result, failsWith("cancelled"));
  assert.deepEqual(await lines(), []);
  // A call that was not sent may be executed under its id.
  const made = await main.call("single", { tool: "count", args: { file }, callId: "cancel-3" });
  assert.equal(made.replayed, false);
  assert.deepEqual(await lines(), ["called"]);
});

test("a call that waits for its decision is cancelled without being sent, by its own run alone", async () => {
  const { file, lines } = await trace();
  const decided = Promise.withResolvers<void>();
  rules.hold = decided.promise;
  const before = rules.questions.length;
  const token = runToken("run-1");
  const request = { tool: "count", args: { file }, callId: "cancel-7", token };
  const waiting = main.call("main", request);
  waiting.catch(() => undefined);
  await until(
    () => rules.questions.length,
    (count) => count > before,
  );
  rules.hold = null;
  assert.deepEqual(await cancel("cancel-7", { token: runToken("run-2") }), { cancelled: false });
  assert.deepEqual(await cancel("cancel-7"), { cancelled: false });
  const renewed = runToken("run-1", [], 2);
  assert.deepEqual(await cancel("cancel-7", { token: renewed }), { cancelled: true });
  decided.resolve();
  await assert.rejects(waiting, (error) => {
    assert.ok(isError(error, callTool, "cancelled"), String(error));
    assert.deepEqual(error.data, { callId: "cancel-7", sent: false });
    return true;
  });
  assert.deepEqual(await lines(), []);
  assert.equal((await main.call("main", request)).replayed, false);
});

test("only its own caller and run can cancel a call or learn that it exists", async () => {
  const token = runToken("run-1");
  const { result } = await hang("cancel-4", { token });
  const nothing = { cancelled: false };
  assert.deepEqual(await cancel("cancel-4", { token }, runner), nothing);
  assert.deepEqual(await cancel("cancel-4"), nothing);
  assert.deepEqual(await cancel("cancel-4", { token: runToken("run-2") }), nothing);
  assert.deepEqual(await cancel("never-made", { token }), nothing);
  const checks = rules.questions.length;
  await assert.rejects(cancel("cancel-4", { token: "forged" }), (error) =>
    isError(error, cancelCallContract, "invalid_token"),
  );
  // A run's later token is as good as the one that the call was made with.
  const renewed = runToken("run-1", [], 2);
  assert.deepEqual(await cancel("cancel-4", { token: renewed }), { cancelled: true });
  await assert.rejects(result, failsWith("cancelled"));
  assert.equal(rules.questions.length, checks, "a cancellation counts as no call of the tool");
});

test("a cancellation that reaches another broker is passed on to the one that has the call", async () => {
  const bus = await connectBus({ servers: world.natsUrl, user: "broker" });
  const { result } = await hang("cancel-5");
  const record = await createCallStore(world.redis, "other").read("cli/cancel-5");
  assert.ok(record?.state === "claimed" && record.holder !== undefined);
  const asks = { callId: "cancel-5", server: "main", onBehalfOf: "cli" };
  const tokens = { broker: record.holder };
  // No client is trusted with these fields; permissions keep clients from publishing them at all.
  assert.deepEqual(await call(world.cli, cancelCallAt, asks, { tokens }), { cancelled: false });
  const requester = {
    onBehalfOf: "cli",
    token: undefined,
    deadline: Date.now() + 10_000,
    signal: new AbortController().signal,
    correlationId: "c",
    traceparent: `00-${"1".repeat(32)}-${"1".repeat(16)}-01`,
  };
  const other = {
    calls: { find: () => [] },
    gate: createPolicyGate(bus, { cache: null, rolesOf: () => null, onChecked: () => undefined }),
    store: createCallStore(world.redis, "other"),
    holder: "other",
    passOn: createCancelPasser(bus),
  };
  const ask = (callId: string, onBehalfOf = "cli") =>
    cancelCall(other, { callId, server: "main" }, { ...requester, onBehalfOf });
  assert.deepEqual(await ask("never-made"), { cancelled: false });
  assert.deepEqual(await ask("cancel-5", "me"), { cancelled: false });
  assert.deepEqual(await ask("cancel-5"), { cancelled: true });
  await assert.rejects(result, failsWith("cancelled"));

  const { file, lines } = await trace();
  const decided = Promise.withResolvers<void>();
  const before = rules.questions.length;
  rules.hold = decided.promise;
  const waiting = main.call("main", { tool: "count", args: { file }, callId: "cancel-8" });
  waiting.catch(() => undefined);
  await until(
    () => rules.questions.length,
    (count) => count > before,
  );
  await ask("cancel-8", "me");
  assert.deepEqual(await ask("cancel-8"), { cancelled: false }, "it waits for its decision");
  decided.resolve();
  await assert.rejects(waiting, failsWith("cancelled"));
  assert.deepEqual(await lines(), []);
  await bus.close();
});

test("the progress of a real server is published on the live subject of the caller", async () => {
  const received: CallProgress[] = [];
  const to = { owner: "cli", progressId: "p1" };
  const live = subscribeLive(world.cli, callProgress, to, (progress) => received.push(progress));
  await world.cli.flush();
  const request = {
    tool: "trigger-long-running-operation",
    args: { duration: 1, steps: 4 },
    progress: "p1",
  };
  const reply = await main.call("everything", request);
  assert.equal(reply.isError, false);
  await until(
    () => received.at(-1)?.progress,
    (progress) => progress === 4,
  );
  live.stop();
  assert.ok(received.every(({ total, server }) => total === 4 && server === "everything"));
});

test("a runner that has lost its run makes no more calls: a lower epoch is refused", async () => {
  const { file, lines } = await trace();
  const count = (epoch: number, callId: string, token = runToken("run-z")) =>
    main.call("main", { tool: "count", args: { file }, epoch, token, callId });
  await count(2, "z1");
  await count(2, "z2");
  await assert.rejects(count(1, "z3"), (error) => {
    assert.ok(isError(error, callTool, "stale_epoch"), String(error));
    assert.deepEqual(error.data, { runId: "run-z", epoch: 1 });
    return true;
  });
  await count(3, "z4");
  await assert.rejects(count(2, "z5"), failsWith("stale_epoch"));
  assert.equal((await lines()).length, 3);
  // An epoch is accepted for the token's own run only, and never without a token.
  await count(1, "z6", runToken("another-run"));
  await main.call("main", { tool: "count", args: { file }, epoch: 1, callId: "z7" });
});

test("a second broker knows the epochs that the first one saw", async () => {
  const other = await world.startBroker({
    servers: [fixtureServer("elsewhere", ["fixture-server.ts"])],
    ownership: { instance: "other" },
  });
  const token = runToken("run-y");
  await main.call("main", { tool: "echo", args: { message: "" }, token, epoch: 5 });
  const zombie = other.call("elsewhere", { tool: "echo", args: { message: "" }, token, epoch: 4 });
  await assert.rejects(zombie, failsWith("stale_epoch"));
  await other.stop();
});

test("a server that fails again and again gets no calls for a while, and then one that tries [A22]", async () => {
  const { file } = await trace();
  const fail = () => main.call("weak", { tool: "hang", args: { file } });
  // A tool's own error is an answer, and a cancellation by the caller is no evidence about the server.
  for (let n = 0; n < 8; n += 1)
    assert.equal((await main.call("weak", { tool: "tool_error", args: {} })).isError, true);
  for (let n = 0; n < 6; n += 1)
    await assert.rejects(main.call("main", { tool: "hang", args: { file } }, { timeoutMs: 150 }));
  assert.equal(main.info("main").circuit, "closed");
  for (let n = 0; n < 5; n += 1) await assert.rejects(fail(), failsWith("tool_timeout"));
  assert.equal(main.info("weak").circuit, "open");
  const { file: counted, lines } = await trace();
  await assert.rejects(main.call("weak", { tool: "count", args: { file: counted } }), (error) => {
    assert.ok(isError(error, callTool, "circuit_open"), String(error));
    assert.ok(error.retryable && error.data.retryAfterMs > 0);
    return true;
  });
  assert.deepEqual(await lines(), []);
  assert.match(await main.metrics.metrics(), /yard_mcp_circuit\{server="weak",state="open"\} 1/);
  const echo = { tool: "echo", args: { message: "back" } };
  const first = await until(
    () => main.call("weak", echo).catch((error: unknown) => error),
    (answer) => !isError(answer, callTool, "circuit_open"),
  );
  assert.ok(!(first instanceof Error), String(first));
  assert.equal(main.info("weak").circuit, "closed");
});

test("a server that is kept for some roles is used by runs with one of them, and no token can be left away for that [A7, AR3]", async () => {
  const echo = (token?: string) =>
    main.call("kept", { tool: "echo", args: { message: "" }, ...(token && { token }) });
  const listed = async (token: string) => {
    const { tools } = await main.tools({ server: "kept", token });
    return tools.length;
  };
  await echo(runToken("run-1", ["reader", "writer"]));
  assert.ok((await listed(runToken("run-1", ["admin"]))) > 0);
  for (const roles of [[], ["reader"]]) {
    const token = runToken("run-1", roles);
    assert.equal(await listed(token), 0);
    await assert.rejects(echo(token), (error) => {
      assert.ok(isError(error, callTool, "denied"), String(error));
      assert.match(error.data.reason, /kept for agents with one of the roles writer, admin/);
      return true;
    });
  }
  // A person is not an agent: the policy alone decides.
  await echo();
});

test("the policy receives the definition's digest and the declared facts about the server, and nothing that the server claims [A6, A7]", async () => {
  const facts = { labels: ["customer-data", "internet"], roles: ["writer"], enabledTools: ["e*"] };
  const { tools } = await main.tools({ server: "tagged" });
  assert.deepEqual(rules.lists.at(-1)?.servers, { tagged: facts });
  const echo = tools.find(({ tool }) => tool === "echo");
  await main.call("tagged", { tool: "echo", args: { message: "" } });
  const { pin, server } = rules.questions.at(-1) ?? {};
  assert.match(pin ?? "", /^sha256:[0-9a-f]{64}$/);
  assert.equal(pin, echo?.pin);
  assert.deepEqual(server, facts);
  await main.call("main", { tool: "echo", args: { message: "" } });
  assert.equal(rules.questions.at(-1)?.server, undefined);
});

test("a decision about a server with other labels is not kept for it", async () => {
  rules.cacheable = { revision: "r3", forMs: 60_000 };
  const echo = () => main.call("relabelled", { tool: "echo", args: { message: "" } });
  const server = fixtureServer("relabelled", ["fixture-server.ts"], { tags: ["internal"] });
  await call(world.cli, addServer, { server: { ...server } });
  await main.until("relabelled", ({ status }) => status === "connected");
  await echo();
  await echo();
  const labels = () => rules.questions.flatMap(({ server: of }) => [of?.labels?.join() ?? ""]);
  assert.equal(labels().filter((label) => label === "internal").length, 1);
  await call(world.cli, updateServer, { server: "relabelled", changes: { tags: ["internet"] } });
  await main.until("relabelled", ({ status }) => status === "connected");
  await echo();
  assert.equal(labels().at(-1), "internet");
});

test("tools that are switched off are not there [CR1]", async () => {
  const { tools } = await main.tools({ server: "cut" });
  assert.deepEqual(
    tools.map(({ tool }) => tool),
    ["echo", "tool_error"],
  );
  await assert.rejects(
    main.call("cut", { tool: "count", args: { file: "x" } }),
    failsWith("unknown_tool"),
  );
});

test("a caller without permission for a tool cannot find out whether it exists", async () => {
  const answer = (tool: string) =>
    main.call("main", { tool, args: {} }).then(
      () => assert.fail("it was made"),
      (error: unknown) => {
        assert.ok(error instanceof ServiceError);
        const text = error.message.replaceAll(tool, "TOOL");
        return { code: error.code, text, data: error.data };
      },
    );
  rules.denied.add("echo").add("no_such_tool");
  assert.deepEqual(await answer("no_such_tool"), await answer("echo"));
  assert.deepEqual(await answer("mcp__main__no_such_tool"), await answer("mcp__main__echo"));
  assert.equal((await answer("also_not_there")).code, "unknown_tool");
});

test("a result of 5 MB arrives whole", async () => {
  const reply = await main.call("large", { tool: "big", args: { bytes: FIVE_MIB } });
  assert.equal(reply.text.length, FIVE_MIB);
  const [block] = reply.content;
  assert.equal(String(block?.["text"]).length, FIVE_MIB);
  const small = main.call("main", { tool: "big", args: { bytes: FIVE_MIB } });
  await assert.rejects(small, failsWith("result_too_large"));
});

test("a decision is cached for as long as the policy promised, and only for the same request", async () => {
  const echo = (token?: string) =>
    main.call("main", { tool: "echo", args: { message: "x" }, ...(token && { token }) });
  rules.cacheable = { revision: "r1", forMs: 60_000 };
  rules.checked.length = 0;
  await echo();
  await echo();
  await echo();
  assert.equal(rules.checked.length, 1);
  await echo(runToken("run-1"));
  await main.call("main", { tool: "tool_error", args: {} });
  assert.equal(rules.checked.length, 3);
  await assert.rejects(echo("forged"), failsWith("invalid_token"));
  assert.match(await main.metrics.metrics(), /yard_mcp_decisions_total\{from="cache"\} [1-9]/);
  // Another revision, seen with another request, ends all cached decisions.
  rules.cacheable = { revision: "r2", forMs: 60_000 };
  rules.denied.add("echo");
  await main.call("main", { tool: "environment", args: {} });
  await assert.rejects(echo(), failsWith("denied"));
});

test("calls that come together are one question when its answer may be kept, and else one each", async () => {
  const together = (token: string) =>
    Promise.all(
      Array.from({ length: 5 }, () =>
        main.call("main", { tool: "echo", args: { message: "x" }, token }),
      ),
    );
  rules.cacheable = { revision: "r4", forMs: 60_000 };
  await main.call("main", { tool: "echo", args: { message: "x" }, token: runToken("run-a") });
  rules.checked.length = 0;
  await together(runToken("run-b"));
  assert.equal(rules.checked.length, 1);
  rules.cacheable = undefined;
  await main.call("main", { tool: "echo", args: { message: "x" }, token: runToken("run-c") });
  rules.checked.length = 0;
  await together(runToken("run-d"));
  assert.equal(rules.checked.length, 5);
});

test("a filtered list is cached for as long as the policy promised, and only for the same request", async () => {
  const names = async (token?: string) => {
    const { tools } = await main.tools({ server: "main", ...(token && { token }) });
    return tools.map(({ tool }) => tool);
  };
  const before = await names();
  assert.ok(before.includes("echo"));
  rules.cacheable = { revision: "list-1", forMs: 60_000 };
  rules.lists.length = 0;
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await names(), before);
  assert.equal(rules.lists.length, 1);
  assert.deepEqual(await names(runToken("run-1")), before);
  assert.deepEqual(await names(runToken("run-2")), before);
  assert.equal(rules.lists.length, 3);
  // Another revision, seen with another request, ends all cached decisions.
  rules.cacheable = { revision: "list-2", forMs: 60_000 };
  rules.denied.add("echo");
  await names(runToken("run-3"));
  assert.deepEqual(
    await names(),
    before.filter((tool) => tool !== "echo"),
  );
  // Without a promise each list is requested from the policy.
  rules.cacheable = undefined;
  rules.denied.clear();
  assert.deepEqual(await names(runToken("run-4")), before);
  rules.denied.add("echo");
  assert.equal((await names(runToken("run-4"))).includes("echo"), false);
});

test("the memory of stdio servers is measured at every scrape", async () => {
  const text = await main.metrics.metrics();
  const bytes = /^yard_mcp_child_memory_bytes\{server="main"\} (\d+)$/m.exec(text)?.[1];
  assert.ok(Number(bytes) > 1024 * 1024, `${bytes} bytes`);
});

test("with the cache off every call is decided by the policy service", async () => {
  const uncached = await world.startBroker({
    servers: [fixtureServer("uncached", ["fixture-server.ts"])],
    ownership: { instance: "uncached" },
    decisionCache: false,
  });
  rules.cacheable = { revision: "r1", forMs: 60_000 };
  rules.checked.length = 0;
  for (let n = 0; n < 3; n += 1)
    await uncached.call("uncached", { tool: "echo", args: { message: "" } });
  assert.equal(rules.checked.length, 3);
  await uncached.stop();
});

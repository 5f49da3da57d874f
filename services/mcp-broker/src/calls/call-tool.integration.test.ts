import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import type { ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { fixtureServer, packageFile, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const { policy } = world;
afterEach(() => {
  policy.answer = () => "allow";
});

const main = await world.startBroker({
  servers: [
    fixtureServer("main", ["fixture-server.ts"]),
    fixtureServer("quick", ["fixture-server.ts"], { callTimeoutMs: 2_000 }),
    fixtureServer("small", ["fixture-server.ts"], { maxResultBytes: 10_000 }),
    fixtureServer("narrow", ["fixture-server.ts"], { maxConcurrency: 1, queueLimit: 1 }),
    fixtureServer("flood", ["hostile-server.ts", "flood"]),
    fixtureServer("refuses", ["hostile-server.ts", "refuses"]),
    {
      id: "everything",
      command: process.execPath,
      args: [packageFile("@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
    },
  ],
});

type Code = keyof typeof callTool.errors;
const failsWith =
  (code: Code) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    return true;
  };

/** A file that a tool writes to, with what it holds so far. */
async function trace(): Promise<{ file: string; lines: () => Promise<string[]> }> {
  const file = join(await testDirectory(), "trace");
  const lines = async (): Promise<string[]> => {
    const text = await readFile(file, "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  };
  return { file, lines };
}

/** Starts a call that stays in work until its deadline; returns when it has begun. */
async function startHanging(
  server: string,
  timeoutMs: number,
): Promise<{ result: Promise<unknown> }> {
  const { file, lines } = await trace();
  const result = main.call(server, { tool: "hang", args: { file } }, { timeoutMs });
  result.catch(() => undefined); // the test that started it awaits it later
  await until(lines, ({ length }) => length > 0);
  return { result };
}

test("calls a tool by its canonical name and by the server's own name, and passes the whole result on [A16, A17]", async () => {
  for (const tool of ["get-structured-content", "mcp__everything__get-structured-content"]) {
    const reply = await main.call("everything", { tool, args: { location: "Chicago" } });
    assert.equal(reply.isError, false);
    assert.equal(reply.replayed, false);
    assert.equal(reply.content.length, 1);
    assert.deepEqual(JSON.parse(reply.text), reply.structuredContent);
    assert.equal(reply.decision.effect, "allow");
    assert.ok(reply.durationMs > 0);
  }
});

test("shows an image as its placeholder and passes its bytes on [A17, CR10]", async () => {
  const { text, content } = await main.call("everything", { tool: "get-tiny-image", args: {} });
  assert.match(text, /\[Image: image\/png, \d+ bytes base64\]/);
  assert.ok(content.some((block) => block.type === "image" && String(block["data"]).length > 100));
});

test("an error of the tool stays an error [X13, AR10]", async () => {
  const reply = await main.call("main", { tool: "tool_error", args: {} });
  assert.equal(reply.isError, true);
  assert.equal(reply.text, "Error: the disk is full");
});

test("an error of the server is tool_failed with the server's words [A16, C19]", async () => {
  await assert.rejects(main.call("refuses", { tool: "alpha", args: {} }), (error) => {
    assert.ok(isError(error, callTool, "tool_failed"));
    assert.equal(error.message, "MCP tool error: no such table, token undefined");
    return true;
  });
});

test("an unknown tool is named to callers that may call a tool of that name", async () => {
  await assert.rejects(main.call("main", { tool: "nope", args: {} }), failsWith("unknown_tool"));
  assert.equal(policy.checked.at(-1)?.tool, "mcp__main__nope");
});

test("a tool is found when its server comes back while the stored call is looked up", async () => {
  const slow = Object.create(world.redis) as Redis;
  const looking = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  Object.assign(slow, {
    async get(key: string) {
      if (!key.startsWith("yard:call:")) return world.redis.get(key);
      looking.resolve();
      await goOn.promise;
      return world.redis.get(key);
    },
  });
  const other = await world.startBroker({
    servers: [fixtureServer("returning", ["fixture-server.ts"])],
    redis: slow,
    ownership: { instance: "slow" },
  });
  const isUp = ({ status }: ServerInfo) => status === "connected";
  await other.until("returning", isUp);
  await assert.rejects(other.call("returning", { tool: "die", args: {} }));
  await other.until("returning", ({ status }) => status === "disconnected");
  await assert.rejects(
    other.call("returning", { tool: "echo", args: { message: "" } }),
    (error) => {
      assert.ok(isError(error, callTool, "server_down"), String(error));
      assert.equal(error.data.isReturning, true);
      return true;
    },
  );
  const request = { tool: "echo", args: { message: "back" }, callId: "during-reconnect" };
  const called = other.call("returning", request);
  await looking.promise;
  await other.until("returning", isUp);
  goOn.resolve();
  assert.equal((await called).text, "back");
  await other.stop();
});

test("requests the policy's decision for the caller and the token of the request", async () => {
  await main.call("main", { tool: "echo", args: { message: "" }, token: "token-1" });
  assert.deepEqual(policy.checked.at(-1), {
    tool: "mcp__main__echo",
    onBehalfOf: "cli",
    token: "token-1",
  });
});

test("a denied call has no effect, and the decision contains the reason", async () => {
  const { file, lines } = await trace();
  policy.answer = () => "deny";
  await assert.rejects(main.call("main", { tool: "count", args: { file } }), (error) => {
    assert.ok(isError(error, callTool, "denied"));
    assert.equal(error.data.effect, "deny");
    return true;
  });
  assert.deepEqual(await lines(), []);
});

for (const answer of ["fault", "silence"] as const) {
  test(`a policy that answers with ${answer} stops the call [fail closed]`, async () => {
    const { file, lines } = await trace();
    policy.answer = () => answer;
    const call = main.call("main", { tool: "count", args: { file } });
    await assert.rejects(
      call,
      (error) =>
        failsWith("policy_unavailable")(error) &&
        isError(error, callTool, "policy_unavailable") &&
        error.retryable,
    );
    assert.deepEqual(await lines(), []);
  });
}

test("without a policy service nothing is called and nothing is listed", async () => {
  const lonely = await testWorld({ withPolicy: false });
  const broker = await lonely.startBroker({
    servers: [fixtureServer("main", ["fixture-server.ts"])],
  });
  const { file, lines } = await trace();
  await assert.rejects(broker.call("main", { tool: "count", args: { file } }), (error) => {
    assert.ok(isError(error, callTool, "policy_unavailable"));
    assert.equal(error.data.cause, "no_responders");
    return true;
  });
  await assert.rejects(broker.tools(), (error) => isError(error, listTools, "policy_unavailable"));
  assert.deepEqual(await lines(), []);
});

test("a token that the policy refuses is the caller's error", async () => {
  policy.answer = () => "invalid_token";
  await assert.rejects(
    main.call("main", { tool: "echo", args: {}, token: "old" }),
    (error) => isError(error, callTool, "invalid_token") && error.data.reason === "expired",
  );
  await assert.rejects(main.tools({ token: "old" }), (error) =>
    isError(error, listTools, "invalid_token"),
  );
});

test("lists the tools of all servers that the policy allows, and no others [A47]", async () => {
  policy.answer = (tool) => (tool.endsWith("__echo") ? "allow" : "deny");
  const { tools } = await main.tools();
  assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
    "mcp__everything__echo",
    "mcp__main__echo",
    "mcp__narrow__echo",
    "mcp__quick__echo",
    "mcp__small__echo",
  ]);
});

test("a tool that takes too long is notified to stop, and the server continues [A22, AR9, AR13, CR11]", async () => {
  const { file, lines } = await trace();
  await assert.rejects(main.call("quick", { tool: "hang", args: { file } }), (error) => {
    assert.ok(isError(error, callTool, "tool_timeout"));
    assert.equal(error.message, "MCP tool call timed out after 2000ms");
    return true;
  });
  await until(lines, (seen) => seen.join() === "begun,cancelled");
  assert.equal(
    (await main.call("quick", { tool: "echo", args: { message: "still here" } })).text,
    "still here",
  );
});

test("the caller's own deadline stops the tool in time for the reply", async () => {
  const { file, lines } = await trace();
  await assert.rejects(
    main.call("main", { tool: "hang", args: { file } }, { timeoutMs: 3_000 }),
    failsWith("tool_timeout"),
  );
  await until(lines, (seen) => seen.join() === "begun,cancelled");
});

test("a result above the limit is refused, and the error describes it", async () => {
  await assert.rejects(main.call("small", { tool: "big", args: { bytes: 20_000 } }), (error) => {
    assert.ok(isError(error, callTool, "result_too_large"));
    assert.ok(error.data.bytes > 20_000 && error.data.limitBytes === 10_000);
    return true;
  });
  assert.equal(
    (await main.call("small", { tool: "big", args: { bytes: 5_000 } })).text.length,
    5_000,
  );
});

test("a large result arrives whole", async () => {
  assert.equal(
    (await main.call("main", { tool: "big", args: { bytes: 2_000_000 } })).text.length,
    2_000_000,
  );
});

test("a message without end costs the connection, not the broker", async () => {
  await assert.rejects(
    main.call("flood", { tool: "alpha", args: {} }),
    failsWith("outcome_unknown"),
  );
  const { lastError } = await main.until("flood", ({ status }) => status !== "connected");
  assert.match(lastError ?? "", /a message exceeds the limit of 10485760 bytes/);
  await main.until("flood", ({ status }) => status === "connected");
});

test("a server takes its calls one by one, queues a few and refuses the rest at once", async () => {
  const hanging = await startHanging("narrow", 2_500);
  const queued = main.call(
    "narrow",
    { tool: "echo", args: { message: "second" } },
    { timeoutMs: 1_000 },
  );
  queued.catch(() => undefined);
  await until(
    () =>
      main.broker.pool.members.find(({ connection }) => connection.entry.id === "narrow")?.queue
        .queued,
    (count) => count === 1,
  );
  await assert.rejects(
    main.call("narrow", { tool: "echo", args: { message: "third" } }),
    (error) => {
      assert.ok(isError(error, callTool, "server_overloaded"));
      assert.deepEqual(error.data, { server: "narrow", inFlight: 1, queued: 1 });
      return true;
    },
  );
  // Other servers do not notice.
  assert.equal((await main.call("main", { tool: "echo", args: { message: "free" } })).text, "free");
  await assert.rejects(queued, failsWith("server_overloaded"));
  // Its own deadline ends the first call; the server is notified and its slot is free again.
  await assert.rejects(hanging.result, failsWith("tool_timeout"));
  assert.equal(
    (await main.call("narrow", { tool: "echo", args: { message: "fourth" } })).text,
    "fourth",
  );
});

test("a callId is called once, and a repeat gets the stored result", async () => {
  const { file, lines } = await trace();
  const request = { tool: "count", args: { file, and: { a: 1, b: 2 } }, callId: "once-1" };
  const first = await main.call("main", request);
  const second = await main.call("main", {
    ...request,
    tool: "mcp__main__count",
    args: { and: { b: 2, a: 1 }, file },
  });
  assert.deepEqual(second, { ...first, replayed: true });
  assert.deepEqual(await lines(), ["called"]);
});

test("of a call whose id is for one use nothing is kept", async () => {
  const keysOf = (callId: string) => world.redis.keys(`yard:call:*${callId}*`);
  for (const [callId, kept] of [
    ["once:kept-1", 0],
    ["kept-2", 1],
  ] as const) {
    await main.call("main", { tool: "echo", args: { message: "x" }, callId });
    assert.equal((await keysOf(callId)).length, kept, callId);
  }
});

test("repeats at the same time join the running call", async () => {
  const { file, lines } = await trace();
  const request = { tool: "count", args: { file }, callId: "joined-1" };
  const replies = await Promise.all(Array.from({ length: 20 }, () => main.call("main", request)));
  assert.equal(replies.filter(({ replayed }) => !replayed).length, 1);
  assert.deepEqual(await lines(), ["called"]);
});

test("a callId belongs to its tool and arguments", async () => {
  const request = { tool: "echo", args: { message: "a" }, callId: "conflict-1" };
  await main.call("main", request);
  for (const other of [{ args: { message: "b" } }, { tool: "tool_error" }]) {
    await assert.rejects(
      main.call("main", { ...request, ...other }),
      failsWith("call_id_conflict"),
    );
  }
  await assert.rejects(main.call("quick", request), failsWith("call_id_conflict"));
});

test("a failure that the server answered is what a repeat gets too", async () => {
  const request = { tool: "alpha", args: {}, callId: "failed-1" };
  await assert.rejects(main.call("refuses", request), failsWith("tool_failed"));
  await assert.rejects(main.call("refuses", request), failsWith("tool_failed"));
});

test("the policy decides before a stored result is returned", async () => {
  const request = { tool: "echo", args: { message: "secret" }, callId: "denied-later-1" };
  await main.call("main", request);
  policy.answer = () => "deny";
  await assert.rejects(main.call("main", request), failsWith("denied"));
});

test("a denied call leaves its callId free", async () => {
  const request = { tool: "echo", args: { message: "a" }, callId: "denied-first-1" };
  policy.answer = () => "deny";
  await assert.rejects(main.call("main", request), failsWith("denied"));
  policy.answer = () => "allow";
  assert.equal((await main.call("main", request)).replayed, false);
});

test("a call whose server dies is unknown, stays unknown and is not made again [A21]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("mortal", ["fixture-server.ts"])],
  });
  const request = { tool: "die", args: {}, callId: "mortal-1" };
  await assert.rejects(broker.call("mortal", request), failsWith("outcome_unknown"));
  // While the server is down its name is known from the record alone.
  await assert.rejects(broker.call("mortal", request), failsWith("outcome_unknown"));
  await broker.until("mortal", ({ status }) => status === "connected");
  await assert.rejects(broker.call("mortal", request), failsWith("outcome_unknown"));
  assert.equal(broker.info("mortal").status, "connected");
});

test("a call that timed out is unknown to a repeat", async () => {
  const { file } = await trace();
  const request = { tool: "hang", args: { file }, callId: "timeout-1" };
  await assert.rejects(main.call("quick", request), failsWith("tool_timeout"));
  await assert.rejects(main.call("quick", request), failsWith("outcome_unknown"));
});

test("a stored result is given while its server is down, also by another broker", async () => {
  const servers = [fixtureServer("gone", ["fixture-server.ts"])];
  const request = { tool: "echo", args: { message: "kept" }, callId: "gone-1" };
  const first = await world.startBroker({ servers });
  await first.call("gone", request);
  await first.stop();
  const second = await world.startBroker({
    servers: [{ id: "gone", command: "no-such-program-anywhere" }],
  });
  assert.equal(second.info("gone").status, "error");
  assert.deepEqual((await second.call("gone", request)).text, "kept");
  await assert.rejects(
    second.call("gone", { ...request, callId: "gone-2" }),
    failsWith("server_down"),
  );
});

test("a call that was refused for want of a place leaves its callId free", async () => {
  const broker = await world.startBroker({
    servers: [
      fixtureServer("one", ["fixture-server.ts"], {
        maxConcurrency: 1,
        queueLimit: 0,
        callTimeoutMs: 5_000,
      }),
    ],
  });
  const { file, lines } = await trace();
  const blocking = broker.call("one", { tool: "hang", args: { file } });
  blocking.catch(() => undefined);
  await until(lines, ({ length }) => length > 0);
  const request = { tool: "echo", args: { message: "later" }, callId: "one-1" };
  await assert.rejects(broker.call("one", request), failsWith("server_overloaded"));
  await assert.rejects(blocking, failsWith("tool_timeout"));
  assert.equal((await broker.call("one", request)).replayed, false);
});

test("without Redis a call with a callId is not made, and one without continues", async () => {
  const redisServer = await testRedis();
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: redisServer.url, name: "test", log });
  const broker = await world.startBroker({
    servers: [fixtureServer("storeless", ["fixture-server.ts"])],
    redis,
  });
  await redisServer.stop();
  const { file, lines } = await trace();
  await assert.rejects(
    broker.call("storeless", { tool: "count", args: { file }, callId: "s-1" }),
    (error) => {
      assert.ok(isError(error, callTool, "call_store_unavailable") && error.retryable);
      return true;
    },
  );
  assert.deepEqual(await lines(), []);
  await broker.call("storeless", { tool: "count", args: { file } });
  assert.deepEqual(await lines(), ["called"]);
  redis.disconnect();
});

test("counts calls by outcome, and logs none at info", async () => {
  await main.call("main", { tool: "echo", args: { message: "one more" } });
  const text = await main.metrics.metrics();
  assert.match(text, /yard_mcp_calls_total\{server="main",outcome="ok"\} \d+/);
  assert.match(text, /yard_mcp_calls_total\{server="main",outcome="denied"\} \d+/);
  assert.match(text, /yard_mcp_call_seconds_count\{server="main"\} \d+/);
  assert.match(text, /yard_mcp_servers\{status="connected"\} [67]/);
  assert.ok(!main.logText().includes("one more"));
  assert.ok(!/mcp__main__echo/.test(main.logText()));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { isError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { until } from "@switchyard/local-servers/until";
import { cuttingServer } from "../../test-fixtures/cutting-server.ts";
import { sessionWorld, type TestSession } from "../../test-fixtures/session-world.ts";
import { testWorld } from "../../test-fixtures/test-broker.ts";

const [sessions, world, server] = await Promise.all([sessionWorld(), testWorld(), cuttingServer()]);

/** Longer than a test may take: a call that ends with it has waited. */
const FOR_EVER_MS = 600_000;

async function connected(): Promise<TestSession> {
  const session = await sessions.open({ id: "cutting", url: server.url });
  assert.equal(session.protocolVersion, "2025-11-25");
  return session;
}

function callOf(session: TestSession, tool: string, signal = new AbortController().signal) {
  const received: number[] = [];
  const result = session.callTool({
    tool,
    args: {},
    timeoutMs: FOR_EVER_MS,
    signal,
    onProgress: ({ progress }) => received.push(progress),
  });
  return { result, heard: received };
}

/** The text of an answer. */
async function wordsOf(session: TestSession, tool: string): Promise<string> {
  const [first] = (await callOf(session, tool).result).content;
  return first?.type === "text" ? String(first["text"]) : "";
}

const isLost = (error: unknown): boolean =>
  error instanceof SdkError &&
  error.code === SdkErrorCode.ConnectionClosed &&
  /the stream of the answer ended before the answer/.test(error.message);

for (const tool of ["cut", "end"])
  test(`an answer whose stream breaks off without an event id (${tool}) is lost at once, and the connection stays`, async () => {
    const session = await connected();
    const { result, heard: received } = callOf(session, tool);
    await assert.rejects(result, isLost);
    assert.deepEqual(received, [1]);
    assert.equal(await wordsOf(session, "echo"), "echoed");
    assert.deepEqual(server.resumedFrom, []);
    await session.close();
  });

test("a broken stream with event ids is resumed behind the last one, and the call is not sent again", async () => {
  const session = await connected();
  assert.equal(await wordsOf(session, "resume"), "resumed");
  assert.deepEqual(server.resumedFrom, ["resume"]);
  assert.equal(server.calls["resume"], 1);
  await session.close();
});

test("a broken stream that the server does not resume is lost", async () => {
  const session = await connected();
  await assert.rejects(callOf(session, "gone").result, isLost);
  assert.deepEqual(server.resumedFrom.slice(-1), ["gone"]);
  await session.close();
});

for (const [tool, status] of [
  ["accepted", 202],
  ["stray", 200],
] as const)
  test(`a request that is answered without its answer (${tool}) is lost at once, and the connection stays`, async () => {
    const session = await connected();
    await assert.rejects(
      callOf(session, tool).result,
      (error) =>
        error instanceof SdkError &&
        error.code === SdkErrorCode.ConnectionClosed &&
        error.message === `the server answered HTTP ${status} without an answer to the request`,
    );
    assert.equal(await wordsOf(session, "echo"), "echoed");
    assert.equal(server.calls[tool], 1);
    await session.close();
  });

test("an answer above the limit is lost at once, and the error has the reason", async () => {
  const session = await connected();
  await assert.rejects(
    callOf(session, "flood").result,
    (error) => isLost(error) && /a message exceeds the limit/.test(String(error)),
  );
  await session.close();
});

test("a call that was given up leaves no stream open, neither its own nor a resumed one", async () => {
  const session = await connected();
  const isOpen = {
    hold: () => (server.calls["hold"] ?? 0) > 0,
    poll: () => server.resumedFrom.includes("poll"),
  };
  for (const [tool, opened] of Object.entries(isOpen)) {
    const giveUp = new AbortController();
    const { result } = callOf(session, tool, giveUp.signal);
    const rejected = assert.rejects(result, /nobody waits/);
    await until(opened, (isTrue) => isTrue);
    giveUp.abort(new SdkError(SdkErrorCode.RequestTimeout, "nobody waits"));
    await Promise.all([rejected, server.ended(tool)]);
  }
  assert.equal(await wordsOf(session, "echo"), "echoed");
  await session.close();
});

test("a broken answer is outcome_unknown for the caller, again for the same callId, and is sent once", async () => {
  const before = server.calls["cut"] ?? 0;
  const broker = await world.startBroker({
    servers: [{ id: "cutting", url: server.url, callTimeoutMs: 60_000 }],
  });
  await broker.until("cutting", ({ status }) => status === "connected");
  for (let n = 0; n < 2; n += 1)
    await assert.rejects(
      broker.call("cutting", { tool: "cut", args: {}, callId: "cut-once" }),
      (error) => isError(error, callTool, "outcome_unknown"),
    );
  assert.equal(server.calls["cut"], before + 1);
  assert.equal(broker.info("cutting").status, "connected");
  const echoed = await broker.call("cutting", { tool: "echo", args: {} });
  assert.equal(echoed.text, "echoed");
  await broker.stop();
});

test("answers that are lost again and again open the circuit of a server whose connection stays, and one that tries closes it [A22]", async () => {
  const broker = await world.startBroker({ servers: [{ id: "torn", url: server.url }] });
  await broker.until("torn", ({ status }) => status === "connected");
  const before = server.calls["cut"] ?? 0;
  for (let n = 0; n < 5; n += 1)
    await assert.rejects(broker.call("torn", { tool: "cut", args: {} }), (error) =>
      isError(error, callTool, "outcome_unknown"),
    );
  assert.deepEqual(
    [broker.info("torn").status, broker.info("torn").circuit],
    ["connected", "open"],
  );
  await assert.rejects(broker.call("torn", { tool: "cut", args: {} }), (error) =>
    isError(error, callTool, "circuit_open"),
  );
  assert.equal(server.calls["cut"], before + 5);
  const tried = await until(
    () => broker.call("torn", { tool: "echo", args: {} }).catch((error: unknown) => error),
    (answer) => !isError(answer, callTool, "circuit_open"),
  );
  assert.ok(!(tried instanceof Error), String(tried));
  assert.equal(broker.info("torn").circuit, "closed");
  await broker.stop();
});

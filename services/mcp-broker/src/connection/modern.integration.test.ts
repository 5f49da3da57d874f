import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { listeningServer } from "../../test-fixtures/listening-server.ts";
import { sessionWorld, type TestSession } from "../../test-fixtures/session-world.ts";
import { fixture } from "../../test-fixtures/test-broker.ts";
import { ConnectError } from "./mcp-session.ts";

const [world, directory] = await Promise.all([sessionWorld(), testDirectory()]);

function modernStdio(id: string) {
  const file = join(directory, id);
  const args = [fixture("modern-stdio-server.ts"), file];
  const read = async (): Promise<string[]> => (await readFile(file, "utf8")).trim().split("\n");
  return { declaration: { id, command: process.execPath, args }, read };
}

async function call(session: TestSession, tool: string, args: Record<string, unknown> = {}) {
  const received: number[] = [];
  const result = await session.callTool({
    tool,
    args,
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    onProgress: ({ progress }) => received.push(progress),
  });
  const [first] = result.content;
  return { heard: received, text: first?.type === "text" ? first.text : "" };
}

test("a stdio server that refuses initialize is probed for 2026-07-28 in a second process, once [A5]", async () => {
  const { declaration, read } = modernStdio("refusing");
  const first = await world.open(declaration);
  assert.equal(first.protocolVersion, "2026-07-28");
  assert.equal(first.serverVersion, "modern-stdio 1");
  const asked = await read();
  assert.deepEqual(asked.slice(0, 4), ["started", "initialize", "started", "server/discover"]);
  await first.close();

  // The verdict is cached: the next connection is one process, without a handshake or a probe.
  const second = await world.open(declaration);
  assert.equal(second.protocolVersion, "2026-07-28");
  const again = (await read()).slice(asked.length);
  assert.equal(again.filter((line) => line === "started").length, 1);
  assert.ok(!again.includes("initialize") && !again.includes("server/discover"));
  assert.equal((await call(second, "echo", { message: "again" })).text, "again");
  await second.close();
});

test("2026-07-28 over stdio: calls, progress, changes of the list, cancellation [A5]", async () => {
  const { declaration, read } = modernStdio("working");
  const session = await world.open(declaration);
  assert.deepEqual(session.tools.map(({ name }) => name).toSorted(), [
    "count_to",
    "echo",
    "grow",
    "hang",
  ]);
  assert.equal((await call(session, "echo", { message: "hi" })).text, "hi");
  assert.deepEqual((await call(session, "count_to", { steps: 3 })).heard, [1, 2, 3]);

  assert.ok((await read()).includes("subscriptions/listen"));
  await call(session, "grow");
  await until(session.changes, (count) => count === 1);

  const giveUp = new AbortController();
  const hanging = session.callTool({
    tool: "hang",
    args: {},
    timeoutMs: 60_000,
    signal: giveUp.signal,
  });
  const rejected = assert.rejects(hanging);
  await until(read, (lines) => lines.includes("hanging"));
  giveUp.abort();
  await rejected;
  await until(read, (lines) => lines.includes("stopped"));
  assert.equal((await call(session, "echo", { message: "still here" })).text, "still here");
  await session.close();
});

test("a stdio server that refuses both handshakes is named with both answers", async () => {
  const args = [fixture("hostile-server.ts"), "refuses-all"];
  await assert.rejects(
    world.open({ id: "refuses-all", command: process.execPath, args }),
    (error) => error instanceof ConnectError && /no initialize here; then .*/.test(error.message),
  );
});

test("a list that changed during a gap in the subscription is read again, and the subscription continues [A5]", async () => {
  const server = await listeningServer();
  const session = await world.open({ id: "listening", url: server.url });
  assert.equal(session.protocolVersion, "2026-07-28");
  assert.equal(server.listening(), 1);
  server.tools.push("second");
  server.changed();
  await until(session.changes, (count) => count === 1);

  server.cut();
  assert.equal(server.listening(), 0);
  // No notification reports this one.
  server.tools.push("third");
  server.changed();
  await until(server.listening, (count) => count === 1);
  await until(session.changes, (count) => count === 2);
  const { asked } = server;
  assert.ok(asked.lastIndexOf("tools/list") > asked.lastIndexOf("subscriptions/listen"));

  server.tools.push("fourth");
  server.changed();
  await until(session.changes, (count) => count === 3);
  await session.close();
  await until(server.listening, (count) => count === 0);
});

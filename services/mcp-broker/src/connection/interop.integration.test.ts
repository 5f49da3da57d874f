import assert from "node:assert/strict";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sessionWorld, startProgram, type TestSession } from "../../test-fixtures/session-world.ts";
import { fixture, packageFile } from "../../test-fixtures/test-broker.ts";

const world = await sessionWorld();
const directory = await testDirectory();
const everything = packageFile("@modelcontextprotocol/server-everything/dist/index.js");

async function textOf(
  session: TestSession,
  tool: string,
  args: Record<string, unknown>,
): Promise<string> {
  const signal = new AbortController().signal;
  const { content } = await session.callTool({ tool, args, timeoutMs: 10_000, signal });
  const [first] = content;
  assert.equal(first?.type, "text");
  return first?.type === "text" ? String(first["text"]) : "";
}

/** Lists, calls, and receives the progress of a call. */
async function checkEverything(session: TestSession): Promise<void> {
  assert.ok(session.tools.some(({ name }) => name === "echo"));
  assert.equal(await textOf(session, "echo", { message: "hi" }), "Echo: hi");
  const steps: number[] = [];
  await session.callTool({
    tool: "trigger-long-running-operation",
    args: { duration: 0.2, steps: 2 },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    onProgress: ({ progress }) => steps.push(progress),
  });
  assert.deepEqual(steps, [1, 2]);
  const { resources } = await session.request({ method: "resources/list", timeoutMs: 10_000 });
  assert.ok(Array.isArray(resources) && resources.length > 0);
}

function node(id: string, args: readonly string[], more: object = {}) {
  return { id, command: process.execPath, args, env: { HOME: directory }, ...more };
}

test("the reference server over stdio: tools, progress, resources [A5, A58, C20]", async () => {
  const session = await world.open(node("ev-stdio", [everything, "stdio"]));
  assert.equal(session.protocolVersion, "2025-11-25");
  await checkEverything(session);
});

test("the reference server over Streamable HTTP: tools, progress, resources [A5, C3]", async () => {
  const server = await startProgram([everything, "streamableHttp"]);
  const session = await world.open({ id: "ev-http", url: server.url("/mcp") });
  assert.equal(session.protocolVersion, "2025-11-25");
  await checkEverything(session);
});

test("the reference server over SSE: tools, progress, resources [A5, C3, C20, E6]", async () => {
  const server = await startProgram([everything, "sse"]);
  const session = await world.open({ id: "ev-sse", transport: "sse", url: server.url("/sse") });
  assert.equal(session.protocolVersion, "2025-11-25");
  await checkEverything(session);
});

test("the reference filesystem, memory and sequential-thinking servers answer calls [A58]", async () => {
  await writeFile(join(directory, "note.txt"), "written");
  const files = await world.open(
    node("files", [
      packageFile("@modelcontextprotocol/server-filesystem/dist/index.js"),
      directory,
    ]),
  );
  assert.equal(
    await textOf(files, "read_text_file", { path: join(directory, "note.txt") }),
    "written",
  );
  const memory = await world.open(
    node("memory", [packageFile("@modelcontextprotocol/server-memory/dist/index.js")], {
      env: { MEMORY_FILE_PATH: join(directory, "memory.jsonl") },
    }),
  );
  await textOf(memory, "create_entities", {
    entities: [{ name: "yard", entityType: "place", observations: ["has switches"] }],
  });
  assert.match(await textOf(memory, "read_graph", {}), /has switches/);
  const thinking = await world.open(
    node("thinking", [
      packageFile("@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
    ]),
  );
  const thought = {
    thought: "first",
    nextThoughtNeeded: false,
    thoughtNumber: 1,
    totalThoughts: 1,
  };
  assert.match(await textOf(thinking, "sequentialthinking", thought), /"thoughtNumber": 1/);
});

for (const mode of ["stdio", "http", "sse"] as const)
  test(`a server built on SDK v1 over ${mode} [A2, A5]`, async () => {
    const args = [fixture("v1-server.ts"), mode];
    const server = mode === "stdio" ? null : await startProgram(args);
    const session = await world.open(
      server === null
        ? node("v1-stdio", args)
        : { id: `v1-${mode}`, transport: mode, url: server.url(mode === "sse" ? "/sse" : "/mcp") },
    );
    assert.equal(session.serverVersion, "v1 1.32.2");
    assert.equal(session.protocolVersion, "2025-11-25");
    assert.equal(await textOf(session, "echo", { message: "v1" }), "v1");
    const received: number[] = [];
    await session.callTool({
      tool: "count_to",
      args: { steps: 3 },
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      onProgress: ({ progress }) => received.push(progress),
    });
    assert.deepEqual(received, [1, 2, 3]);
  });

test("a 2026-07-28 server built on SDK v2 over HTTP [A2, A5]", async () => {
  const server = await startProgram([fixture("http-server.ts")]);
  const session = await world.open({ id: "v2-http", url: server.url("/mcp") });
  assert.equal(session.protocolVersion, "2026-07-28");
  assert.equal(await textOf(session, "echo", { message: "v2" }), "v2");
});

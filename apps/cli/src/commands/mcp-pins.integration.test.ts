import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import * as pins from "@switchyard/contracts/mcp-broker/mcp-pins";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };

const digest = `sha256:${"a".repeat(64)}`;
const finding: pins.ToolFinding = {
  code: "hidden_characters",
  severity: "hard",
  where: "/description",
  evidence: "Reads\\u{200b}",
};
const pin = (tool: string): pins.ToolPin => ({
  server: "files",
  tool,
  name: `mcp__files__${tool}`,
  state: "changed",
  digest,
  approvedDigest: null,
  findings: [finding],
  firstSeenAt: "2026-01-01T00:00:00.000Z",
  seenAt: "2026-01-02T00:00:00.000Z",
  approvedBy: null,
  approvedAt: null,
  blockedBy: null,
});
const asked: unknown[] = [];

const service = serve(await testBus(nats, "broker"), {
  name: "broker",
  version: "0.0.0",
  description: "Pins that remember what they were asked",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(pins.listPins, ({ after, states }) => {
  asked.push({ after, states });
  return after === undefined ? { pins: [pin("a")], more: true } : { pins: [pin("b")], more: false };
});
service.handle(pins.diffPin, ({ tool }) => ({
  pin: pin(tool),
  identityChanged: true,
  differences: [{ where: "/description", before: '"Reads"', after: '"Reads\\u{200b}"' }],
  omitted: 2,
}));
service.handle(pins.approvePins, (request) => {
  asked.push(request);
  return { approved: 1 };
});
service.handle(pins.blockPins, (request) => {
  asked.push(request);
  return { blocked: 2 };
});
service.handle(pins.refreshTools, () => ({ toolCount: 7 }), { server: "files" });
service.handle(ensureServer, ({ server }, { fail }) => {
  throw fail.unknown_server(`MCP server not found: ${server}`, { server });
});
service.handle(listTools, ({ findings }) => ({
  tools: [
    {
      name: "mcp__files__a",
      server: "files",
      tool: "a",
      description: "Reads",
      inputSchema: { type: "object" as const },
      ...(findings === true ? { findings: [finding] } : {}),
    },
  ],
  failures: [],
}));

test("lists all pages of pins with their findings, or those of one state", async () => {
  const { stdout } = await yard(["mcp", "pins", "list", "files", "--state", "changed"], env);
  assert.match(stdout, /^a\s+changed .* hidden_characters!$/m);
  assert.match(stdout, /^b\s+changed /m);
  assert.deepEqual(asked.splice(0), [
    { after: undefined, states: ["changed"] },
    { after: "a", states: ["changed"] },
  ]);
});

test("shows the differences of a definition and the digest to approve", async () => {
  const { stdout, stderr } = await yard(["mcp", "pins", "diff", "files", "a"], env);
  assert.ok(stdout.includes(digest));
  assert.match(stdout, /^\/description\n- "Reads"\n\+ "Reads\\u\{200b\}"$/m);
  assert.match(stdout, /another command or address/);
  assert.match(stderr, /2 more differences/);
});

test("approves what is named and accepts the findings that are named, and blocks", async () => {
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, stderr } = await yard(["mcp", "pins", ...args], env);
    assert.equal(code, 0, stderr);
    return asked.pop();
  };
  assert.deepEqual(await run("approve", "files"), { server: "files" });
  assert.deepEqual(
    await run("approve", "files", "a", "--digest", digest, "--override", "hidden_characters"),
    { server: "files", tools: [{ tool: "a", digest }], override: ["hidden_characters"] },
  );
  assert.deepEqual(await run("block", "files", "a", "b"), { server: "files", tools: ["a", "b"] });
});

test("lists the codes that exist when one is unknown, and refuses one digest for two tools", async () => {
  const code = await yard(["mcp", "pins", "approve", "files", "a", "--override", "nonsense"], env);
  assert.equal(code.code, 2);
  assert.match(code.stderr, /the codes are: hidden_characters/);
  const two = await yard(["mcp", "pins", "approve", "files", "a", "b", "--digest", digest], env);
  assert.equal(two.code, 2);
});

test("reads the tools again, and shows findings when asked", async () => {
  const refreshed = await yard(["mcp", "refresh", "files"], env);
  assert.match(refreshed.stderr, /7 can be called/);
  const unknown = await yard(["mcp", "refresh", "nobody", "--json"], env);
  assert.equal(JSON.parse(unknown.stderr).error.code, "unknown_server");
  const plain = await yard(["mcp", "tools"], env);
  assert.ok(!plain.stdout.includes("hidden_characters"));
  const { stdout } = await yard(["mcp", "tools", "--findings"], env);
  assert.match(stdout, /^mcp__files__a\s+hard\s+hidden_characters\s+\/description\s+Reads/m);
});

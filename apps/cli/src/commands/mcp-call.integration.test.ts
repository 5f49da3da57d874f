import assert from "node:assert/strict";
import { test } from "node:test";
import { publishLive } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { callProgress, cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };
const bus = await testBus(nats, "broker");
const service = serve(bus, {
  name: "broker",
  version: "0.0.0",
  description: "Tells how far it is",
  onFault: ({ error }) => assert.fail(String(error)),
});
const asked: { callId?: string | undefined; progress?: string | undefined }[] = [];
const approvalId = `apr-${"a".repeat(32)}`;
service.handle(
  callTool,
  async ({ tool, callId, progress, approvalId: given }, { caller, fail }) => {
    asked.push({ callId, progress });
    if (tool === "guarded" && given !== approvalId)
      throw fail.approval_required("A person has to approve it.", {
        approvalId,
        expiresAt: "2026-01-01T00:00:00.000Z",
        tier: "always",
      });
    if (progress !== undefined) {
      const at = new Date().toISOString();
      const how = { server: "good", tool: "work", callId: null, total: 4, at };
      const to = { owner: caller, progressId: progress };
      publishLive(bus, callProgress, to, { ...how, progress: 1, message: "a\u001b[31mb" });
      await bus.flush(); // before the reply, so that it arrives first
    }
    return {
      content: [],
      isError: false,
      text: "done",
      decision: {
        effect: "allow" as const,
        rule: null,
        reason: "test",
        policyDigest: `sha256:${"0".repeat(64)}`,
      },
      durationMs: 1,
      replayed: false,
    };
  },
  { server: "good" },
);
service.handle(cancelCall, ({ callId }) => ({ cancelled: callId === "mine" }), { server: "good" });
await bus.flush();

test("--progress shows how far a call is, and the result stays alone on stdout", async () => {
  const { code, stdout, stderr } = await yard(["mcp", "call", "good", "work", "--progress"], env);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "done\n");
  assert.match(stderr, /^progress 25% of 4: a/m);
  assert.ok(!stderr.includes("\u001b"));
});

test("without it the server is not asked for progress, and --call-id names the call", async () => {
  const { code, stderr } = await yard(["mcp", "call", "good", "work", "--call-id", "mine"], env);
  assert.equal(code, 0, stderr);
  assert.deepEqual(asked.at(-1), { callId: "mine", progress: undefined });
});

test("a call that needs a person's approval explains how, and is made with that approval", async () => {
  const guarded = ["mcp", "call", "good", "guarded"];
  const refused = await yard(guarded, env);
  assert.equal(refused.code, 5);
  assert.ok(
    refused.stderr.includes(
      `./yard approvals approve ${approvalId}; then call again with --approval ${approvalId}`,
    ),
  );
  const made = await yard([...guarded, "--approval", approvalId], env);
  assert.deepEqual([made.code, made.stdout], [0, "done\n"], made.stderr);
  assert.equal((await yard([...guarded, "--approval", "nope"], env)).code, 2);
});

test("cancel reports whether there was such a call of ours", async () => {
  const done = await yard(["mcp", "cancel", "good", "mine"], env);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stderr, /call mine is cancelled/);
  const none = await yard(["mcp", "cancel", "good", "other", "--json"], env);
  assert.equal(none.code, 1);
  assert.deepEqual(JSON.parse(none.stdout).data, { cancelled: false });
});

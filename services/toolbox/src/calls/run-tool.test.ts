import assert from "node:assert/strict";
import { test } from "node:test";
import type { BuiltinName } from "@switchyard/contracts/toolbox/toolbox";
import { z } from "zod";
import { defineTool } from "../tool.ts";
import { runTool } from "./run-tool.ts";

const HOUR_MS = 3_600_000;

/** Returns the time that a tool gets from a caller that waits for the given time. */
async function timeGiven(name: BuiltinName, args: object, waitsMs: number): Promise<unknown> {
  const now = 1_000_000;
  const tool = defineTool({
    name,
    description: "tells its time",
    input: z.looseObject({}),
    run: async (_args, { timeLeftMs }) => ({ text: "", structured: { timeLeftMs } }),
  });
  const { signal } = new AbortController();
  const requester = {
    onBehalfOf: "cli",
    token: undefined,
    deadline: now + waitsMs,
    signal,
    correlationId: "test",
    traceparent: "",
  };
  const outcome = await runTool(
    {
      workspaces: {
        of: async () => ({ root: "/nowhere", mode: "limited-control", hidden: [] }),
        ofNewRun: async () => null,
        sweep: async () => 0,
      },
      gate: { check: () => Promise.reject(new Error("nothing else is called")) },
      stopping: new AbortController().signal,
      now: () => now,
    },
    {
      tool,
      args: { ...args },
      principal: { user: "cli", agent: null, runId: null },
      call: { callId: undefined, signal, isCancelled: false, requester },
      deadline: now + waitsMs,
    },
  );
  assert.ok(outcome.kind === "result");
  return outcome.result.structuredContent;
}

test("a tool gets the time of its caller, but no more than the tool's own limit", async () => {
  assert.deepEqual(await timeGiven("read_file", {}, 10_000), { timeLeftMs: 9_900 });
  assert.deepEqual(await timeGiven("read_file", {}, HOUR_MS), { timeLeftMs: 34_900 });
  assert.deepEqual(await timeGiven("execute_command", { timeout: 100_000 }, HOUR_MS), {
    timeLeftMs: 104_900,
  });
});

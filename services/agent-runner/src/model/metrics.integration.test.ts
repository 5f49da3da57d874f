import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const runner = await lab.runner();
const { healthUrl } = await runner.logged("service ready");

test("counts lag, work, steps, tokens, cost, tool calls, parked runs, retries and ends", async () => {
  const { agents, tools } = lab.services;
  tools.set("count", () => "counted");
  const calls = [{ tool: labTool("count"), with: {} }];
  agents.set("worker", agent("worker", { plan: { steps: [{ calls }], answer: "done" } }));
  agents.set(
    "narrow",
    agent("narrow", { maxSteps: 1, plan: { steps: [{ calls }], answer: "done" } }),
  );
  const wait = { tool: "wait", with: { seconds: 1 } };
  agents.set("patient", agent("patient", { plan: { steps: [{ calls: [wait] }], answer: "done" } }));
  agents.set("plain", answering("plain", "ok"));
  await lab.command("worker", { runId: "one", input: "x" });
  await lab.eventsUntil("one", "finished");
  await lab.command("patient", { runId: "two", input: "x" });
  await lab.eventsUntil("two", "finished");
  await lab.command("narrow", { runId: "three", input: "x" });
  await lab.eventsUntil("three", "failed");
  const limits = JSON.stringify({ limits: { maxSteps: 5 } });
  await lab.publish("yard.cmd.cli.run.retry.three", limits);
  await lab.eventsUntil("three", "finished");
  // Its window is so small that its model summarises on the way.
  tools.set("tell", () => "x".repeat(300));
  const reporting = { tool: labTool("tell"), with: {} };
  const repeat = { while: { at: "/last/isError", equals: false }, times: 12 };
  const steps = [{ calls: [reporting], repeat }];
  const few = { contextWindow: 1_500, tools: [labTool("tell")], maxSteps: 20 };
  agents.set("forgetful", agent("forgetful", { ...few, plan: { steps, answer: "done" } }));
  await lab.command("forgetful", { runId: "five", input: "x" });
  await lab.eventsUntil("five", "finished");
  await lab.command("nobody", { runId: "four", input: "x" });
  await lab.eventsUntil("four", "rejected");

  // The last run is counted a moment after its last event.
  const metrics = await until(async () => {
    const found = await readMetrics();
    return (found.get('yard_runs_total{outcome="succeeded"}') ?? 0) >= 4 ? found : null;
  });
  const at = (name: string): number => metrics.get(name) ?? 0;
  assert.equal(at('yard_runs_total{outcome="failed"}'), 1);
  assert.ok(at('yard_runs_total{outcome="parked"}') >= 1);
  // The counter starts at 0, so that Prometheus sees the first one as an increase.
  assert.equal(metrics.get('yard_runs_total{outcome="dead"}'), 0);
  assert.equal(at("yard_run_retries_total"), 1);
  assert.equal(at("yard_run_steps_total"), 6 + 13);
  const runs = await Promise.all(
    ["one", "two", "three", "five"].map((runId) => call(lab.bus, getRun, { runId })),
  );
  const used = (direction: "inputTokens" | "outputTokens") =>
    runs.reduce((sum, { run }) => sum + run.usage[direction], 0);
  assert.equal(at('yard_model_tokens_total{direction="input"}'), used("inputTokens"));
  assert.equal(at('yard_model_tokens_total{direction="output"}'), used("outputTokens"));
  for (const use of ["read", "write"])
    assert.equal(metrics.get(`yard_model_cached_tokens_total{use="${use}"}`), 0);
  assert.equal(at('yard_run_tool_calls_total{outcome="completed"}'), 3 + 12);
  assert.equal(at('yard_run_commands_rejected_total{code="unknown_agent"}'), 1);
  assert.ok(at("yard_run_command_lag_seconds_count") >= 5);
  for (const name of ["yard_runner_slots_busy", "yard_model_cost_usd_total"])
    assert.ok(metrics.has(name), name);
  assert.equal(at("yard_runner_slots"), 16);
});

/** Values by name and labels, without the label that names the service. */
async function readMetrics(): Promise<Map<string, number>> {
  const text = await (await fetch(new URL("/metrics", String(healthUrl)))).text();
  return new Map(
    text.split("\n").flatMap((line): [string, number][] => {
      const [, name, labels = "", value] = /^(\w+)(?:\{([^}]*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) return [];
      const own = labels
        .split(",")
        .filter((label) => /^(?:outcome|direction|code|use)=/.test(label));
      return [[own.length === 0 ? name : `${name}{${own.join()}}`, Number(value)]];
    }),
  );
}

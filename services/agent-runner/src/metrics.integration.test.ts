import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, answering, labTool } from "../test-fixtures/peers.ts";
import { startLab } from "../test-fixtures/runner-lab.ts";
import { waitFor } from "../test-fixtures/wait-for.ts";

const lab = await startLab();
const runner = await lab.runner();
const { healthUrl } = await runner.logged("service ready");

test("counts lag, work, steps, tokens, cost, tool calls, parked runs, retries and ends", async () => {
  const { agents, tools } = lab.peers;
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
  await lab.command("nobody", { runId: "four", input: "x" });
  await lab.eventsUntil("four", "rejected");

  // The last run is counted a moment after its last event.
  const metrics = await waitFor(async () => {
    const found = await readMetrics();
    return (found.get('yard_runs_total{outcome="succeeded"}') ?? 0) >= 3 ? found : null;
  });
  const at = (name: string): number => metrics.get(name) ?? 0;
  assert.equal(at('yard_runs_total{outcome="failed"}'), 1);
  assert.ok(at('yard_runs_total{outcome="parked"}') >= 1);
  assert.equal(at("yard_run_retries_total"), 1);
  assert.equal(at("yard_run_steps_total"), 6);
  assert.ok(at('yard_model_tokens_total{direction="input"}') > 0);
  assert.ok(at('yard_model_tokens_total{direction="output"}') > 0);
  assert.equal(at('yard_run_tool_calls_total{outcome="completed"}'), 3);
  assert.equal(at('yard_run_commands_rejected_total{code="unknown_agent"}'), 1);
  assert.ok(at("yard_run_command_lag_seconds_count") >= 5);
  for (const name of ["yard_runs_active", "yard_model_cost_usd_total"])
    assert.ok(metrics.has(name), name);
});

/** Values by name and labels, without the label that names the service. */
async function readMetrics(): Promise<Map<string, number>> {
  const text = await (await fetch(new URL("/metrics", String(healthUrl)))).text();
  return new Map(
    text.split("\n").flatMap((line): [string, number][] => {
      const [, name, labels = "", value] = /^(\w+)(?:\{([^}]*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) return [];
      const own = labels.split(",").filter((label) => /^(?:outcome|direction|code)=/.test(label));
      return [[own.length === 0 ? name : `${name}{${own.join()}}`, Number(value)]];
    }),
  );
}

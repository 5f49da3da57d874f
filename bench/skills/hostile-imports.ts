import { call } from "@switchyard/bus/call";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { uploadSkills } from "@switchyard/contracts/skill-importer/skill-store";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { hostileInputs, LARGEST } from "../../libs/skills/test/hostile-inputs.ts";
import { connectAsCli } from "../../test/lib/yard-dev.ts";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";
import { loadOf } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { testConstants } from "@switchyard/testing/test-constants";

/** Calls per second; each one calls the policy. */
const RATE = 200;
const GOAL_MS = 50;
/** Accompanies a script, which alone is no skill. */
const SKILL = "---\nname: hostile\ndescription: Is read for long.\n---\nx\n";

/**
 * Measures whether a bad skill delays the policy when both are in one process: 200 tool calls a second, each decided anew, while files of
 * 256 KB that take a scanner long are imported one after the other.
 */
export async function benchHostileImports({ stage, windowMs, rounds }: Bench): Promise<Report> {
  const env = testConstants({ mcpDecisionCache: false });
  const { instance, end } = await startSwitchyard(stage, { runners: 1, apart: false, env });
  const cli = await connectAsCli(instance);
  const durationMs = Math.max(5_000, windowMs * rounds);
  const echo = () =>
    call(cli, callTool, { tool: "echo", args: { message: "m" } }, { tokens: { server: "echo" } });
  const tool = mcpToolRef("echo", "echo");
  const decide = () => call(cli, explainPolicy, { user: "cli", tool, args: { message: "m" } });
  await atRate([echo, decide], 2_000);
  const calm = await atRate([echo, decide], durationMs);
  const importing = importHostile(cli);
  const disturbed = await atRate([echo, decide], durationMs);
  const imported = await importing.stop();
  await cli.close();
  await end();
  const names = ["tool call that asks the policy", "decision of the policy"];
  const figures: Figure[] = [
    { name: "hostile skills imported meanwhile", value: imported, unit: "" },
    ...names.map((name, index): Figure => {
      const value = loadOf(disturbed[index] ?? [], durationMs).p99Us / 1_000;
      const baseline = loadOf(calm[index] ?? [], durationMs).p99Us / 1_000;
      return {
        name: `${name}, p99, while hostile skills are imported`,
        value,
        unit: "ms",
        baseline,
        ratio: value / baseline,
        goal: `≤ ${GOAL_MS} ms`,
        met: value <= GOAL_MS,
      };
    }),
  ];
  return { name: "hostile-imports", figures };
}

/** Latencies in microseconds of each operation, started in turn at the given rate whether or not earlier ones have ended. */
async function atRate(
  operations: readonly (() => Promise<unknown>)[],
  durationMs: number,
): Promise<number[][]> {
  const latencies: number[][] = operations.map(() => []);
  const began = performance.now();
  const inWork: Promise<unknown>[] = [];
  for (let count = 0; count < (durationMs / 1_000) * RATE; count += 1) {
    const dueAt = began + (count * 1_000) / RATE;
    while (performance.now() < dueAt) await new Promise((resolve) => setTimeout(resolve, 1));
    for (const [index, operation] of operations.entries())
      inWork.push(
        operation().then(() => latencies[index]?.push((performance.now() - dueAt) * 1_000)),
      );
  }
  await Promise.all(inWork);
  return latencies;
}

function importHostile(cli: Parameters<typeof call>[0]) {
  const over = new AbortController();
  let imported = 0;
  const largest = [...hostileInputs(LARGEST)].filter(
    ({ content }) => content.length > LARGEST.bodyBytes / 2,
  );
  const work = async (): Promise<number> => {
    while (!over.signal.aborted)
      for (const { path, content } of largest) {
        if (over.signal.aborted) break;
        const file = { path, base64: content.toString("base64") };
        const files = path === "SKILL.md" ? [file] : [{ path: "SKILL.md", text: SKILL }, file];
        const skills = [{ directory: "hostile", files }];
        const outcome = await call(cli, uploadSkills, { label: "bench", dryRun: true, skills })
          .then(() => 1)
          .catch(() => 0);
        imported += outcome;
      }
    return imported;
  };
  const working = work();
  return {
    stop: () => {
      over.abort();
      return working;
    },
  };
}

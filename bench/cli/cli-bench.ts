import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Bench } from "../lib/bench.ts";
import type { Figure, Report } from "../lib/figure.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { startYardDev } from "../../test/lib/yard-dev.ts";

const MAIN = join(import.meta.dirname, "../../apps/cli/src/main.ts");
const TIMES = { whole: 25, quick: 5 };

const COMMANDS: readonly { words: string; goalMs: number }[] = [
  { words: "--version", goalMs: 80 },
  { words: "--help", goalMs: 120 },
  { words: "runs list", goalMs: 250 },
  { words: "agents list", goalMs: 250 },
  { words: "mcp tools", goalMs: 250 },
  { words: "status", goalMs: 300 },
];
const SERVE = { words: "mcp serve", goalMs: 300 };
const DEV = { times: { whole: 9, quick: 2 }, goalMs: 4_000 };

/**
 * Measures a command from its start to its end, and `mcp serve` to its first list of tools: each a process of its own, with a
 * filled compile cache, in turn with an empty one; and `yard dev` until it is ready. Medians.
 */
export async function benchCli({ stage, rounds }: Bench): Promise<Report> {
  const { instance } = await startSwitchyard(stage, { runners: 1, project: "examples" });
  const env = {
    ...process.env,
    YARD_STATE_DIR: instance.stateDir,
    NODE_COMPILE_CACHE: await stage.directory(),
  };
  const times = rounds > 1 ? TIMES.whole : TIMES.quick;
  const figures: Figure[] = [];
  for (const { words, goalMs } of [...COMMANDS, SERVE]) {
    const args = [MAIN, ...words.split(" ")];
    const ours: number[] = [];
    const empty: number[] = [];
    // The first one fills the cache of compiled code.
    for (let turn = 0; turn <= times; turn += 1) {
      const took = words === SERVE.words ? await msToTools(args, env) : await msToEnd(args, env);
      const took0 = await msToEnd(["-e", "0"], env);
      if (turn === 0) continue;
      ours.push(took);
      empty.push(took0);
    }
    const [value, baseline] = [median(ours), median(empty)];
    figures.push({
      name: words === SERVE.words ? `yard ${words}, first tools/list` : `yard ${words}`,
      value,
      unit: "ms",
      baseline,
      ratio: value / baseline,
      goal: `≤ ${goalMs} ms`,
      met: value <= goalMs,
    });
  }
  figures.push(await devFigure(stage, env, rounds > 1 ? DEV.times.whole : DEV.times.quick));
  return { name: "cli", figures };
}

/**
 * `yard dev` on an empty state directory, until everything of it is ready. The compile cache is filled and the servers are
 * installed.
 */
async function devFigure(stage: Stage, env: NodeJS.ProcessEnv, times: number): Promise<Figure> {
  const took: number[] = [];
  for (let turn = 0; turn <= times; turn += 1) {
    const stateDir = await stage.directory();
    const started = performance.now();
    const instance = await startYardDev({
      project: "examples",
      stateDir,
      apart: false,
      env: { NODE_COMPILE_CACHE: env["NODE_COMPILE_CACHE"] ?? "" },
    });
    if (turn > 0) took.push(performance.now() - started);
    await instance.stop();
  }
  const value = median(took);
  const { goalMs } = DEV;
  const goal = `≤ ${goalMs.toLocaleString("en-US")} ms`;
  return { name: "yard dev, until it is ready", value, unit: "ms", goal, met: value <= goalMs };
}

async function msToEnd(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${args.slice(1).join(" ")} ended with ${String(code)}`);
  return performance.now() - started;
}

/** Follows the sequence of a coding agent: initialize, then the list. */
async function msToTools(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const clientInfo = { name: "bench", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  send({ id: 1, method: "initialize", params });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) {
      send({ method: "notifications/initialized" });
      send({ id: 2, method: "tools/list", params: {} });
    }
    if (id !== 2) continue;
    const took = performance.now() - started;
    if (!(result?.tools?.length > 0)) throw new Error(`no tools: ${line}`);
    child.stdin.end();
    await once(child, "exit");
    return took;
  }
  throw new Error("mcp serve ended without a list of tools");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

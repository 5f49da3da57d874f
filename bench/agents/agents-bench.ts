import { join } from "node:path";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import type { Stage } from "../lib/stage.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import { installedGateway } from "../gateway/installed-gateway.ts";
import { freePort } from "@switchyard/local-servers/free-port";
import { post, RESTATE_SDK, startRestate } from "./start-restate.ts";
import { followRuns } from "../runs/run-follower.ts";

const FASTER = { text: "≥ 2×", holds: (ratio: number) => ratio >= 2 };
const SHORTEST_TURN_MS = 10_000;
const SOONER = { text: "≤ 0.6×", holds: (ratio: number) => ratio <= 0.6 };

/**
 * One agent, five answers of a scripted model and five calls of an MCP server over stdio, each step durable: here, as a
 * LangGraph.js graph with a checkpointer, and as a Restate handler with its middleware for the AI SDK.
 */
export async function benchAgents(bench: Bench): Promise<Report> {
  const { stage, warmUpMs } = bench;
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  const { run, stop } = followRuns(bus);
  stage.onEnd(stop);
  const operations = {
    ours: () => run("five-calls"),
    inRedis: await startLangGraph(stage, { LANGGRAPH_REDIS_URL: await stage.redis() }),
    inMemory: await startLangGraph(stage, {}),
    restate: await startRestateAgent(stage),
  };
  await Promise.all(Object.values(operations).map((operation) => operation()));
  await warmUp(operations, warmUpMs);
  // One turn each: 64 runs at once take the slowest some seconds, and would not end in a shorter one.
  const windowMs = Math.max(SHORTEST_TURN_MS, bench.windowMs * bench.rounds);
  const turn = { windowMs, rounds: 1, sliceMs: windowMs };
  const alone = await measureInTurn(operations, { inFlight: 1, ...turn });
  const full = await measureInTurn(operations, { inFlight: 64, ...turn });
  const beside = {
    "LangGraph.js, checkpoints in Redis": "inRedis",
    "LangGraph.js, checkpoints in memory": "inMemory",
    "Restate with the AI SDK": "restate",
  } as const;
  const figures = Object.entries(beside).flatMap(([title, name]): Figure[] => {
    // An in-memory checkpointer is not durable: it bounds what any checkpointer can reach, and is no goal.
    const isGoal = name !== "inMemory";
    const p50 = {
      name: `p50, 1 in flight, beside ${title}`,
      value: alone.ours.p50Us / 1_000,
      unit: "ms",
      baseline: alone[name].p50Us / 1_000,
    };
    const perSecond = {
      name: `runs, 64 in flight, beside ${title}`,
      value: full.ours.perSecond,
      unit: "runs/s",
      baseline: full[name].perSecond,
    };
    return isGoal
      ? [compared(p50, SOONER), compared(perSecond, FASTER)]
      : [compared(p50), compared(perSecond)];
  });
  return { name: "agents", figures };
}

async function startLangGraph(
  stage: Stage,
  env: Record<string, string>,
): Promise<() => Promise<void>> {
  const packageFile = await installedGateway({
    name: "@langchain/langgraph",
    version: "1.7.3",
    beside: ["@langchain/core@1.4.0", "checkpoint-redis@0.3.0", "ioredis@6.0.0"],
    program: "package.json",
  });
  const port = await freePort();
  await stage.process(new URL("langgraph-service.ts", import.meta.url), {
    ...env,
    LANGGRAPH_MODULES: join(packageFile, "../../.."),
    LANGGRAPH_PORT: String(port),
  });
  return () => post(`http://127.0.0.1:${port}`);
}

async function startRestateAgent(stage: Stage): Promise<() => Promise<void>> {
  const packageFile = await installedGateway({
    name: "@restatedev/vercel-ai-middleware",
    version: "0.4.0",
    beside: [
      `@restatedev/restate-sdk@${RESTATE_SDK}`,
      "ai@7.0.173",
      "@ai-sdk/mcp@2.0.99",
      "superjson@2.2.6",
      "zod@4.6.7",
    ],
    program: "package.json",
  });
  return startRestate(stage, {
    file: new URL("restate-service.ts", import.meta.url),
    env: { RESTATE_MODULES: join(packageFile, "../../..") },
    handler: "agents/fiveCalls",
  });
}

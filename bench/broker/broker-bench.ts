import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connect } from "@nats-io/transport-node";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp, type Load } from "../lib/measure.ts";
import { brokeredCall, checkEcho, echoArgs } from "./brokered-call.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const echoServer = fileURLToPath(new URL("echo-server.ts", import.meta.url));

/**
 * A tool call through broker and policy with everything on (NKeys, permissions, validation, rules, catalogue, metrics), with a
 * policy request for every call and with cached decisions, against the floor and against the official SDK calling the same server.
 */
export async function benchBroker(bench: Bench): Promise<Report> {
  const operations = {
    asking: await brokeredCall(bench, testConstants({ mcpDecisionCache: false })),
    keeping: await brokeredCall(bench),
    floor: await floor(bench),
    direct: await direct(bench),
  };
  await warmUp(operations, bench.warmUpMs);
  const figures: Figure[] = [];
  for (const inFlight of [1, 64])
    figures.push(...figuresOf(await measureInTurn(operations, { ...bench, inFlight }), inFlight));
  return { name: "broker", figures };
}

type Loads = Record<"asking" | "keeping" | "floor" | "direct", Load>;

function figuresOf({ asking, keeping, floor: least, direct: sdk }: Loads, inFlight: number) {
  const at = `${inFlight} in flight`;
  const p50 = inFlight === 1 ? { text: "≤ 1.25×", holds: (r: number) => r <= 1.25 } : undefined;
  const rate = inFlight === 1 ? undefined : { text: "≥ 0.8×", holds: (r: number) => r >= 0.8 };
  const cached = inFlight === 1 ? undefined : { text: "≥ 1.2×", holds: (r: number) => r >= 1.2 };
  const latency = (name: string, load: Load, baseline: Load, goal?: typeof p50): Figure =>
    compared(
      { name: `${name}, ${at}`, value: load.p50Us, unit: "µs", baseline: baseline.p50Us },
      goal,
    );
  const throughput = (name: string, load: Load, baseline: Load, goal?: typeof rate): Figure =>
    compared(
      { name: `${name}, ${at}`, value: load.perSecond, unit: "/s", baseline: baseline.perSecond },
      goal,
    );
  return [
    latency("tool call p50 against the floor", asking, least, p50),
    throughput("tool call throughput against the floor", asking, least, rate),
    latency("with kept decisions: p50 against the floor", keeping, least),
    throughput("with kept decisions: throughput against the floor", keeping, least, cached),
    latency("tool call p50 against the SDK alone", asking, sdk),
    throughput("tool call throughput against the SDK alone", asking, sdk),
    compared({
      name: `tool call p99, ${at}`,
      value: asking.p99Us,
      unit: "µs",
      baseline: least.p99Us,
    }),
  ];
}

async function floor({ stage }: Bench): Promise<() => Promise<unknown>> {
  const env = { BENCH_NATS_URL: await stage.nats(), BENCH_ECHO_SERVER: echoServer };
  await stage.process(new URL("floor-policy.ts", import.meta.url), env);
  await stage.process(new URL("floor-broker.ts", import.meta.url), env);
  const nc = await connect({ servers: env.BENCH_NATS_URL });
  stage.onEnd(() => nc.close());
  return async () => {
    const body = JSON.stringify({ tool: "echo", args: echoArgs });
    checkEcho((await nc.request("floor.call", body, { timeout: 5_000 })).json());
  };
}

async function direct({ stage }: Bench): Promise<() => Promise<unknown>> {
  const client = new Client({ name: "direct", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [echoServer] }));
  stage.onEnd(() => client.close());
  return async () => checkEcho(await client.callTool({ name: "echo", arguments: echoArgs }));
}

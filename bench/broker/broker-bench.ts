import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connect } from "@nats-io/transport-node";
import { call } from "@switchyard/bus/call";
import { callTool } from "@switchyard/contracts/mcp";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureLoad, type Load } from "../lib/measure.ts";
import { startSwitchyard } from "../lib/switchyard.ts";
import type { Bench } from "../lib/bench.ts";

const args = { message: "hello" };
const echoServer = fileURLToPath(new URL("echo-server.ts", import.meta.url));

/**
 * A tool call through broker and policy with everything on (NKeys, permissions, validation, rules,
 * catalogue, metrics), against the floor and against the official SDK calling the same server.
 */
export async function benchBroker(bench: Bench): Promise<Report> {
  const operations = {
    ours: await brokered(bench),
    floor: await floor(bench),
    direct: await direct(bench),
  };
  const figures: Figure[] = [];
  for (const inFlight of [1, 64]) {
    const loads = await inTurn(bench, operations, inFlight);
    figures.push(...figuresOf(loads, inFlight));
  }
  return { name: "broker", figures };
}

type Operations = Record<"ours" | "floor" | "direct", () => Promise<unknown>>;
type Loads = Record<keyof Operations, Load>;

/** Ours, floor and direct in turn, round by round, and of each the run with the median throughput. */
async function inTurn(
  { windowMs, rounds }: Bench,
  operations: Operations,
  inFlight: number,
): Promise<Loads> {
  const all: Loads[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const measure = (operation: () => Promise<unknown>) =>
      measureLoad({ operation, inFlight, durationMs: windowMs });
    all.push({
      ours: await measure(operations.ours),
      floor: await measure(operations.floor),
      direct: await measure(operations.direct),
    });
  }
  return { ours: median(all, "ours"), floor: median(all, "floor"), direct: median(all, "direct") };
}

function median(all: Loads[], key: keyof Loads): Load {
  const sorted = all.map((loads) => loads[key]).toSorted((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError("nothing was measured");
  return middle;
}

function figuresOf({ ours, floor: least, direct: sdk }: Loads, inFlight: number): Figure[] {
  const at = `${inFlight} in flight`;
  return [
    compared({
      name: `tool call p50 against the floor, ${at}`,
      value: ours.p50Us,
      unit: "µs",
      baseline: least.p50Us,
    }),
    compared({
      name: `tool call throughput against the floor, ${at}`,
      value: ours.perSecond,
      unit: "/s",
      baseline: least.perSecond,
    }),
    compared({
      name: `tool call p50 against the SDK alone, ${at}`,
      value: ours.p50Us,
      unit: "µs",
      baseline: sdk.p50Us,
    }),
    compared({
      name: `tool call throughput against the SDK alone, ${at}`,
      value: ours.perSecond,
      unit: "/s",
      baseline: sdk.perSecond,
    }),
    {
      name: `tool call p99, ${at}`,
      value: ours.p99Us,
      unit: "µs",
      baseline: least.p99Us,
      ratio: ours.p99Us / least.p99Us,
    },
  ];
}

async function brokered({ stage }: Bench): Promise<() => Promise<unknown>> {
  const { bus } = await startSwitchyard(stage, { runners: 1 });
  return async () => {
    const result = await call(
      bus,
      callTool,
      { tool: "echo", args },
      { tokens: { server: "echo" } },
    );
    if (result.text !== args.message) throw new Error(`the echo said ${result.text}`);
  };
}

async function floor({ stage }: Bench): Promise<() => Promise<unknown>> {
  const env = { BENCH_NATS_URL: await stage.nats(), BENCH_ECHO_SERVER: echoServer };
  await stage.process(new URL("floor-policy.ts", import.meta.url), env);
  await stage.process(new URL("floor-broker.ts", import.meta.url), env);
  const nc = await connect({ servers: env.BENCH_NATS_URL });
  stage.onEnd(() => nc.close());
  return async () => {
    const message = await nc.request("floor.call", JSON.stringify({ tool: "echo", args }), {
      timeout: 5_000,
    });
    checkEcho(message.json());
  };
}

async function direct({ stage }: Bench): Promise<() => Promise<unknown>> {
  const client = new Client({ name: "direct", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [echoServer] }));
  stage.onEnd(() => client.close());
  return async () => checkEcho(await client.callTool({ name: "echo", arguments: args }));
}

function checkEcho(result: unknown): void {
  if (!JSON.stringify(result).includes(args.message)) throw new Error("the echo server failed");
}

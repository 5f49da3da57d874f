import { call } from "@switchyard/bus/call";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { checkEcho, echoArgs } from "../broker/brokered-call.ts";
import { connected, mcpHub, mcpProxy, supergateway } from "./published-gateways.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp, type Load } from "../lib/measure.ts";
import { post, type OurGateway } from "./our-gateway.ts";

const MORE_US = 250;

/** One call of the same echo tool: over REST and `/mcp`, beside NATS and beside published gateways. */
export async function callFigures(bench: Bench, ours: OurGateway): Promise<Figure[]> {
  const { bus, url, token } = ours;
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const operations = {
    nats: async () =>
      checkEcho(
        await call(bus, callTool, { tool: "echo", args: echoArgs }, { tokens: { server: "echo" } }),
      ),
    rest: async () => checkEcho(await post(ours, "/tools/mcp/echo/echo/call", { args: echoArgs })),
    bare: async () =>
      checkEcho(await post(ours.bare, "/tools/mcp/echo/echo/call", { args: echoArgs })),
    mcp: await connected(
      bench,
      "echo",
      () => new StreamableHTTPClientTransport(new URL(`${url}/mcp/servers/echo`), { requestInit }),
    ),
    supergateway: await supergateway(bench),
    mcpProxy: await mcpProxy(bench),
    mcpHub: await mcpHub(bench),
  };
  await warmUp(operations, bench.warmUpMs);
  const one = await measureInTurn(operations, { ...bench, inFlight: 1 });
  const many = await measureInTurn(operations, { ...bench, inFlight: 64 });
  const ways = ["rest", "mcp"] as const;
  return [
    ...ways.flatMap((way) => besideOthers(way, one, many)),
    ...ways.flatMap((way) => besideNats(way, one, many)),
    compared({
      name: "p50 over rest against a bare HTTP server, 1 in flight",
      value: one.rest.p50Us,
      unit: "µs",
      baseline: one.bare.p50Us,
    }),
    compared({
      name: "throughput over rest against a bare HTTP server, 64 in flight",
      value: many.rest.perSecond,
      unit: "/s",
      baseline: many.bare.perSecond,
    }),
  ];
}

type Loads = Readonly<
  Record<"nats" | "rest" | "bare" | "mcp" | "supergateway" | "mcpProxy" | "mcpHub", Load>
>;

function besideOthers(way: "rest" | "mcp", one: Loads, many: Loads): Figure[] {
  const others = ({ supergateway: first, mcpProxy: second, mcpHub: third }: Loads) => [
    first,
    second,
    third,
  ];
  return [
    compared(
      {
        name: `p50 over ${way} against the best gateway, 1 in flight`,
        value: one[way].p50Us,
        unit: "µs",
        baseline: Math.min(...others(one).map(({ p50Us }) => p50Us)),
      },
      { text: "≤ 1×", holds: (ratio) => ratio <= 1 },
    ),
    compared(
      {
        name: `throughput over ${way} against the best gateway, 64 in flight`,
        value: many[way].perSecond,
        unit: "/s",
        baseline: Math.max(...others(many).map(({ perSecond }) => perSecond)),
      },
      { text: "≥ 2×", holds: (ratio) => ratio >= 2 },
    ),
  ];
}

function besideNats(way: "rest" | "mcp", one: Loads, many: Loads): Figure[] {
  const [value, baseline] = [one[way].p50Us, one.nats.p50Us];
  return [
    {
      ...compared({
        name: `p50 over ${way} against NATS, 1 in flight`,
        value,
        unit: "µs",
        baseline,
      }),
      goal: `≤ ${MORE_US} µs more`,
      met: value - baseline <= MORE_US,
    },
    compared(
      {
        name: `throughput over ${way} against NATS, 64 in flight`,
        value: many[way].perSecond,
        unit: "/s",
        baseline: many.nats.perSecond,
      },
      { text: "≥ 0.6×", holds: (ratio) => ratio >= 0.6 },
    ),
  ];
}

import { brokeredCall } from "../broker/brokered-call.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp, type Load } from "../lib/measure.ts";
import { mcpHub, mcpProxy, supergateway } from "./published-gateways.ts";

/**
 * A call of the same echo tool through published gateways, over HTTP as they offer it, and through
 * Switchyard over NATS with everything on. Everything is on loopback.
 */
export async function benchGateways(bench: Bench): Promise<Report> {
  const operations = {
    ours: await brokeredCall(bench),
    supergateway: await supergateway(bench),
    "mcp-proxy": await mcpProxy(bench),
    "mcp-hub": await mcpHub(bench),
  };
  await warmUp(operations, bench.warmUpMs);
  const figures: Figure[] = [];
  for (const inFlight of [1, 64]) {
    const { ours, ...theirs } = await measureInTurn(operations, { ...bench, inFlight });
    figures.push(...figuresOf(ours, theirs, inFlight));
  }
  return { name: "gateways", figures };
}

function figuresOf(ours: Load, theirs: Record<string, Load>, inFlight: number): Figure[] {
  const at = `${inFlight} in flight`;
  const each = Object.entries(theirs).flatMap(([name, load]) => [
    compared({
      name: `p50 against ${name}, ${at}`,
      value: ours.p50Us,
      unit: "µs",
      baseline: load.p50Us,
    }),
    compared({
      name: `throughput against ${name}, ${at}`,
      value: ours.perSecond,
      unit: "/s",
      baseline: load.perSecond,
    }),
  ]);
  const loads = Object.values(theirs);
  if (inFlight === 1) {
    const baseline = Math.min(...loads.map(({ p50Us }) => p50Us));
    const figure = { name: `p50 against the best, ${at}`, value: ours.p50Us, unit: "µs", baseline };
    return [...each, compared(figure, { text: "< 1×", holds: (ratio) => ratio < 1 })];
  }
  const baseline = Math.max(...loads.map(({ perSecond }) => perSecond));
  const figure = {
    name: `throughput against the best, ${at}`,
    value: ours.perSecond,
    unit: "/s",
    baseline,
  };
  return [...each, compared(figure, { text: "≥ 5×", holds: (ratio) => ratio >= 5 })];
}

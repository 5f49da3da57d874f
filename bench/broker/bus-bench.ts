import { connect } from "@nats-io/transport-node";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import type { Bench } from "../lib/bench.ts";
import { echo, request } from "./echo-contract.ts";

/** `call()` and `serve()` with validation on both sides, against raw nats.js request-reply with JSON. */
export async function benchBus(bench: Bench): Promise<Report> {
  const { stage, warmUpMs } = bench;
  const url = await stage.nats();
  await stage.process(new URL("raw-responder.ts", import.meta.url), { BENCH_NATS_URL: url });
  await stage.process(new URL("serve-responder.ts", import.meta.url), { BENCH_NATS_URL: url });
  const nc = await connect({ servers: url });
  stage.onEnd(() => nc.close());
  const bus = await connectBus({ servers: url, user: "bench" });
  stage.onEnd(() => bus.close());

  const raw = async () => {
    const answer = await nc.request("raw.echo", JSON.stringify(request), { timeout: 5_000 });
    if (!answer.json<{ ok: boolean }>().ok) throw new Error("the raw responder failed");
  };
  const ours = () => call(bus, echo, request);

  const operations = { ours, raw };
  await warmUp(operations, warmUpMs);
  const figures: Figure[] = [];
  for (const inFlight of [1, 64]) {
    const { ours: mine, raw: baseline } = await measureInTurn(operations, { ...bench, inFlight });
    figures.push(
      compared(
        {
          name: `request-reply p50, ${inFlight} in flight`,
          value: mine.p50Us,
          unit: "µs",
          baseline: baseline.p50Us,
        },
        { text: "≤ 1.3×", holds: (ratio) => ratio <= 1.3 },
      ),
      {
        name: `request-reply p99, ${inFlight} in flight`,
        value: mine.p99Us,
        unit: "µs",
        baseline: baseline.p99Us,
        ratio: mine.p99Us / baseline.p99Us,
      },
      compared({
        name: `request-reply throughput, ${inFlight} in flight`,
        value: mine.perSecond,
        unit: "/s",
        baseline: baseline.perSecond,
      }),
    );
  }
  return { name: "bus", figures };
}

import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { readEvents } from "@switchyard/bus/events";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure } from "../lib/figure.ts";
import { readMetrics } from "../runs/read-metrics.ts";
import { post, type OurGateway } from "./our-gateway.ts";

const GOAL = { p95Ms: 100, kilobytes: 25 };
const PER_RUN = 50;
/** Between the starts of two runs. */
const PAUSE_MS = 200;
const SETTLED_MS = 5_000;
const END_MS = 120_000;

/** Readers of live runs, 50 of each: from the event's own timestamp to its reader, beside one reader over NATS. */
export async function readerFigures({ rounds }: Bench, ours: OurGateway): Promise<Figure[]> {
  const count = rounds > 1 ? 5_000 : 250;
  const runIds = Array.from({ length: count / PER_RUN }, (_, n) => `read-${process.pid}-${n}`);
  const { stop, latencies: overNats } = followOverNats(ours);
  // The first reader makes the gateway subscribe, which is not the price of a reader.
  const first = await openReader(ours, "read-nothing", () => undefined);
  await delay(SETTLED_MS);
  const before = await residentBytes(ours);
  const latencies: number[] = [];
  const open = runIds.flatMap((runId) => Array.from({ length: PER_RUN }, () => runId));
  const readers: Reader[] = [];
  for (let from = 0; from < open.length; from += PER_RUN)
    readers.push(
      ...(await Promise.all(
        open
          .slice(from, from + PER_RUN)
          .map((runId) => openReader(ours, runId, (ms) => latencies.push(ms))),
      )),
    );
  await delay(SETTLED_MS);
  const kilobytes = ((await residentBytes(ours)) - before) / count / 1e3;
  for (const runId of runIds) {
    await post(ours, "/runs", { agent: "thinks", input: "go", runId });
    await delay(PAUSE_MS);
  }
  const late = delay(END_MS, "late", { ref: false });
  const ended = Promise.all(readers.map(({ ended: one }) => one));
  if ((await Promise.race([ended, late])) === "late")
    throw new Error(`runs with ${count} readers were not over after ${END_MS / 1_000} s`);
  first.close();
  await stop();
  const value = p95(latencies);
  return [
    {
      ...compared({
        name: `p95 from event to one of ${count} readers, ${latencies.length} arrivals`,
        value,
        unit: "ms",
        baseline: p95(overNats),
      }),
      goal: `≤ ${GOAL.p95Ms} ms`,
      met: value <= GOAL.p95Ms,
    },
    {
      name: `memory of the gateway for one of ${count} readers`,
      value: kilobytes,
      unit: "kB",
      goal: `≤ ${GOAL.kilobytes} kB`,
      met: kilobytes <= GOAL.kilobytes,
    },
  ];
}

function followOverNats({ bus }: OurGateway) {
  const latencies: number[] = [];
  const ending = new AbortController();
  const filters = ["yard.evt.run.>"];
  const following = (async () => {
    for await (const { payload } of readEvents(bus, {
      filters,
      from: "now",
      signal: ending.signal,
    }))
      latencies.push(Date.now() - Date.parse(String(Object(payload)["at"])));
  })();
  const stop = async (): Promise<void> => {
    ending.abort();
    await following;
  };
  return { stop, latencies };
}

interface Reader {
  /** Settles when the gateway ends the stream, as it does at the end of the run. */
  readonly ended: Promise<unknown>;
  close(): void;
}

/** Resolves when the stream is open. A socket alone, so that thousands of readers cost the load generator little. */
async function openReader(
  { url, token }: OurGateway,
  runId: string,
  onEvent: (latencyMs: number) => void,
): Promise<Reader> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const lines = [
    `GET /api/v1/runs/${runId}/events HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    "Connection: close",
  ];
  socket.setEncoding("utf8").write(`${lines.join("\r\n")}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [string];
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(head);
  socket.on("data", (text: string) => {
    const now = Date.now();
    // Live text has no time of its own.
    for (const [, at = ""] of text.matchAll(/^data: \{.*?"at":"([^"]+)"/gm))
      onEvent(now - Date.parse(at));
  });
  return { ended: once(socket, "close"), close: () => socket.destroy() };
}

async function residentBytes({ instance }: OurGateway): Promise<number> {
  const gateway = instance.processes.find(({ name }) => name === "gateway");
  const metrics = await readMetrics(gateway?.healthUrl ?? "");
  return metrics["process_resident_memory_bytes"] ?? Number.NaN;
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN;
}

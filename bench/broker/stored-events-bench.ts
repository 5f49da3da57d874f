import { setTimeout as delay } from "node:timers/promises";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { streamsFor } from "@switchyard/bus/streams";
import { eventStream } from "@switchyard/topology/streams";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { residentBytes } from "../lib/resident-bytes.ts";

/** The events of a run of four model steps and three calls, with about the bytes that each has. */
const STEP: readonly (readonly [kind: string, bytes: number])[] = [
  ["model-responded", 350],
  ["tool-requested", 400],
  ["tool-completed", 600],
];
const EVENTS: typeof STEP = [
  ["started", 700],
  ...STEP,
  ...STEP,
  ...STEP,
  ["model-responded", 400],
  ["finished", 500],
];

/** An event of a run is stored as YARD_EVENTS has it, below one subject for each run, or with all others below one. */
const LAYOUTS = {
  "a subject for each kind of event of each run": (run: number, kind: string) =>
    `yard.evt.run.team-a.run-${run}.${kind}`,
  "a subject for each run": (run: number) => `yard.evt.run.team-a.run-${run}.event`,
  "one subject": () => "yard.evt.run.team-a.run.event",
} as const;

const SYNC_EVERY = 1_000;
const SETTLED_MS = 5_000;
/** The most time for a thousand events. */
const STORE_MS = 60_000;

/** Memory of nats-server for a million stored events of runs, by the number of subjects that they have. */
export const benchStoredEvents = (bench: Bench): Promise<Report> => benchEvents(bench, 1_000_000);

/** The same for five million. */
export const benchMoreEvents = (bench: Bench): Promise<Report> => benchEvents(bench, 5_000_000);

/** Each layout has a server of its own. A short run stores a tenth. */
async function benchEvents({ stage, rounds }: Bench, most: number): Promise<Report> {
  const count = rounds > 1 ? most : most / 10;
  const figures: Figure[] = [];
  const bytes: number[] = [];
  for (const [name, subjectOf] of Object.entries(LAYOUTS).toReversed()) {
    const { url, pid } = await stage.natsProcess();
    const nc = await connect({ servers: url });
    await makeStream(nc);
    const before = await residentBytes(pid);
    const began = performance.now();
    await store(nc, count, subjectOf);
    const seconds = (performance.now() - began) / 1_000;
    await delay(SETTLED_MS);
    const each = ((await residentBytes(pid)) - before) / count;
    bytes.push(each);
    figures.push(
      compared({
        name: `memory of nats-server for one of ${count} events, ${name}`,
        value: each,
        unit: "bytes",
        baseline: bytes[0] ?? each,
      }),
      { name: "  stored", value: count / seconds, unit: "/s" },
    );
    await nc.close();
  }
  return { name: "stored-events", figures };
}

async function makeStream(nc: NatsConnection): Promise<void> {
  const config = streamsFor({ withPayloads: [], withCommands: [] }).find(
    ({ name }) => name === eventStream.name,
  );
  const { sources: _sources, ...alone } = config ?? {};
  const subject = `$JS.API.STREAM.CREATE.${eventStream.name}`;
  const answer = (
    await nc.request(subject, JSON.stringify({ ...alone, persist_mode: "async" }))
  ).json<{ error?: unknown }>();
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
}

/** One message in a thousand is acknowledged before the next ones are sent, so that the server has room for them. */
async function store(
  nc: NatsConnection,
  count: number,
  subjectOf: (run: number, kind: string) => string,
): Promise<void> {
  let stored = 0;
  for (let run = 0; stored < count; run += 1) {
    for (const [kind, size] of EVENTS) {
      if (stored === count) break;
      const subject = subjectOf(run, kind);
      const body = Buffer.alloc(size, `${run} ${kind} `);
      stored += 1;
      if (stored % SYNC_EVERY === 0 || stored === count) {
        const answer = await nc.request(subject, body, { timeout: STORE_MS });
        const { seq } = answer.json<{ seq?: number }>();
        if (seq !== stored) throw new Error(`event ${stored} was stored as ${String(seq)}`);
      } else nc.publish(subject, body);
    }
  }
}

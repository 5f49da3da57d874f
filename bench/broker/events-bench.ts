import { connect } from "@nats-io/transport-node";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { EventRelay } from "@switchyard/bus/event-relay";
import { publishEvent } from "@switchyard/bus/publish";
import { streamsFor } from "@switchyard/bus/streams";
import { runFailed } from "@switchyard/contracts/agent-runner/run-events";
import { eventStream } from "@switchyard/topology/streams";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";
import { measureInTurn } from "../lib/in-turn.ts";
import { warmUp } from "../lib/measure.ts";
import type { Stage } from "../lib/stage.ts";

/**
 * Events into YARD_EVENTS with `persist_mode: async`, which acknowledges before the write, against the same stream without it, each on
 * a server of its own: one by one, as most services publish them, and behind each other, as the runner does.
 */
export async function benchEvents(bench: Bench): Promise<Report> {
  const asynchronous = await busWith(bench.stage, { persist_mode: "async" });
  const synced = await busWith(bench.stage, {});
  const single = { async: published(asynchronous), sync: published(synced) };
  const relayed = { async: relayedTo(asynchronous), sync: relayedTo(synced) };
  await warmUp(single, bench.warmUpMs / 4);
  await warmUp(relayed, bench.warmUpMs / 4);
  const figures: Figure[] = [];
  for (const [name, operations, inFlight] of [
    ["one by one, 1 in flight", single, 1],
    ["one by one, 64 in flight", single, 64],
    ["behind each other, 64 in flight", relayed, 64],
  ] as const) {
    const { async: one, sync: other } = await measureInTurn(operations, { ...bench, inFlight });
    figures.push(
      compared({
        name: `events, ${name}`,
        value: one.perSecond,
        unit: "/s",
        baseline: other.perSecond,
      }),
      compared({
        name: `p50 until stored, ${name}`,
        value: one.p50Us,
        unit: "µs",
        baseline: other.p50Us,
      }),
    );
  }
  return { name: "events", figures };
}

async function busWith(stage: Stage, more: Readonly<Record<string, string>>): Promise<Bus> {
  const url = await stage.nats();
  const config = streamsFor({ withPayloads: [], withCommands: [] }).find(
    ({ name }) => name === eventStream.name,
  );
  const nc = await connect({ servers: url });
  const answer = await nc.request(
    `$JS.API.STREAM.CREATE.${eventStream.name}`,
    JSON.stringify({ ...config, ...more }),
  );
  await nc.close();
  const { error } = answer.json<{ error?: { description: string } }>();
  if (error !== undefined) throw new Error(error.description);
  const bus = await connectBus({ servers: url, user: "runner" });
  stage.onEnd(() => bus.close());
  return bus;
}

function published(bus: Bus): () => Promise<unknown> {
  let seq = 0;
  return () => {
    const { contract, tokens, payload, options } = eventOf("single", (seq += 1));
    return publishEvent(bus, contract, tokens, payload, options);
  };
}

function fail(error: unknown): never {
  throw error;
}

function relayedTo(bus: Bus): () => Promise<unknown> {
  const relay = new EventRelay(bus, {
    isOutage: () => false,
    onTrouble: fail,
    onRecovered: () => {},
  });
  const { signal } = new AbortController();
  let seq = 0;
  return () =>
    new Promise<void>((resolve, reject) => {
      const source = {
        signal,
        hasFailed: false,
        isStored: () => false,
        stored: () => resolve(),
        failed: reject,
      };
      relay.push(source, [eventOf("relayed", (seq += 1))]);
    });
}

function eventOf(runId: string, seq: number) {
  const failure = { code: "internal", message: "x".repeat(256) } as const;
  return {
    contract: runFailed,
    tokens: { owner: "cli", runId },
    payload: { runId, seq, at: new Date().toISOString(), failure, steps: 0 },
    options: { messageId: `${runId}:${seq}` },
  };
}

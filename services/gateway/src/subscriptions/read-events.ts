import { createHash } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import { placeOf, type EventPlace, hasPassed } from "@switchyard/bus/event-place";
import { readEvents } from "@switchyard/bus/events";
import { seqOf } from "@switchyard/service/read-run-events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { lastEventText } from "@switchyard/bus/last-event";
import { findAgentOfRun } from "@switchyard/contracts/agent-runner/run-history";
import { fullRunId } from "@switchyard/contracts/ids";
import { eventSubjects } from "@switchyard/topology/streams";
import type { Log } from "@switchyard/service/log";
import { matchesGlob } from "@switchyard/contracts/glob";
import { tokensOf } from "@switchyard/contracts/define";
import {
  type SubscriptionStore,
  deliveryIdOf,
  type Subscription,
  type WebhookDelivery,
} from "./subscription-store.ts";

export interface ReaderParts {
  readonly bus: Bus;
  readonly log: Log;
  readonly store: SubscriptionStore;
  readonly holder: string;
  readonly now: () => number;
  /** Called when deliveries may be due. */
  readonly onEnqueued: () => void;
  readonly onRead: OnRead;
}

/** Called with events in their order, by one replica and once for each, after their deliveries were written. */
export type OnRead = (events: readonly StoredEvent[], agentOf: AgentOf) => void;

/** Resolves with the agent of an event's run; null: the event has no run, or the agent is unknown. */
export type AgentOf = (event: StoredEvent) => Promise<string | null>;

export interface EventReader {
  /** Resolves when the reading ends, also when another replica has become the reader. */
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

const BATCH = 200;
const BATCH_MS = 50;
const AGENTS_KEPT = 1_000;

/**
 * Makes deliveries of the events after `cursor`, the position in the stream up to which all deliveries are written.
 * Subscriptions are read after the events that they are compared with, so a subscription whose creation was answered misses no
 * event.
 */
export function readForSubscriptions(parts: ReaderParts, cursor: EventPlace): EventReader {
  const { bus, log, store, holder, now } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  const agentOf = agentsOfRuns(bus);
  let waiting: StoredEvent[] = [];
  let flushing = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const flushNow = async (): Promise<void> => {
    const events = waiting;
    waiting = [];
    const last = events.at(-1);
    if (last === undefined || signal.aborted) return;
    const subscriptions = await store.list();
    const deliveries = [];
    for (const event of events)
      deliveries.push(...(await deliveriesOf(event, subscriptions, { now: now(), agentOf })));
    const at = { holder, place: placeOf(last), now: now() };
    const full = await store.enqueue(deliveries, at);
    if (full === null) return ending.abort();
    parts.onRead(events, agentOf);
    for (const id of new Set(full)) {
      let isNew = false;
      const one = await store.change(id, ({ webhook, ...rest }) => {
        isNew = webhook.status === "enabled";
        return isNew
          ? { ...rest, webhook: { ...webhook, status: "disabled", reason: "backlog" } }
          : null;
      });
      if (isNew) log.warn({ webhook: id, owner: one?.owner }, "webhook disabled, too much waits");
    }
    if (deliveries.length > 0) parts.onEnqueued();
  };
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(flushNow).catch((err: unknown) => {
      // The next reader resumes at the cursor.
      log.warn({ err }, "events for webhooks cannot be written, and are read again");
      ending.abort();
    });
    return flushing;
  };
  const read = async (): Promise<void> => {
    try {
      const filters = eventSubjects;
      for await (const event of readEvents(bus, { filters, from: { after: cursor }, signal })) {
        waiting.push(event);
        if (waiting.length >= BATCH) await flush();
        else timer ??= setTimeout(() => void flush(), BATCH_MS);
      }
    } catch (err) {
      log.warn({ err }, "events for webhooks cannot be read");
    } finally {
      clearTimeout(timer);
      await flushing;
    }
  };
  const done = read();
  return {
    done,
    async stop() {
      ending.abort();
      await done;
    },
  };
}

/** Returns the lookup of an event's agent: it is in a run's first event alone, which the stream has for a week and the journal for longer. */
function agentsOfRuns(bus: Bus): AgentOf {
  const known = new Map<string, string | null>();
  return async (event) => {
    const { subject } = event;
    if (!subject.startsWith("yard.evt.run.")) return null;
    const run = subject.slice(0, subject.lastIndexOf("."));
    const kept = known.get(run);
    if (kept !== undefined) return kept;
    const text = await lastEventText(bus, `${run}.started`);
    // An event without a number is of a command that may become a run later.
    if (text === null && seqOf(event) === null) return null;
    const [, , , owner = "", name = ""] = run.split(".");
    const { agent }: { agent?: unknown } =
      text === null
        ? await call(bus, findAgentOfRun, { runId: fullRunId(owner, name) })
        : Object(parsed(text));
    const found = typeof agent === "string" ? agent : null;
    known.set(run, found);
    const [oldest] = known.keys();
    if (known.size > AGENTS_KEPT && oldest !== undefined) known.delete(oldest);
    return found;
  };
}

/** The payload of a large first event is in the object store; the agent of its run is then unknown. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Larger events are delivered without their data; the receiver can read it. */
const MOST_DATA_BYTES = 64 * 1024;

/**
 * Returns the deliveries of an event. `agentOf` resolves with the agent of the event's run; null: the event has no run, or the
 * agent is unknown.
 */
export async function deliveriesOf(
  event: StoredEvent,
  subscriptions: readonly Subscription[],
  { now, agentOf }: { now: number; agentOf: (event: StoredEvent) => Promise<string | null> },
): Promise<WebhookDelivery[]> {
  const { contract, subject, time, payload } = event;
  if (contract === null) return [];
  const tokens: Readonly<Record<string, string>> | null = tokensOf(contract, subject);
  const owner = tokens?.["owner"];
  if (owner === undefined) return [];
  const place = placeOf(event);
  const wanted = subscriptions.filter(
    (one) =>
      one.owner === owner &&
      one.webhook.status === "enabled" &&
      !hasPassed(beginOf(one), place) &&
      one.webhook.events.some((pattern) => matchesGlob(pattern, contract.name)),
  );
  if (wanted.length === 0) return [];
  const isOfAgents = wanted.some(({ webhook }) => webhook.agent !== null);
  const agent = isOfAgents ? await agentOf(event) : null;
  const data = JSON.stringify(payload);
  // The digest leaves out the position: an event that the stream lost and that is published again has another one, and is the same to the receiver.
  const digest = createHash("sha256").update(`${subject}\n${data}`).digest("hex").slice(0, 24);
  const isLarge = Buffer.byteLength(data) > MOST_DATA_BYTES;
  const body = JSON.stringify({
    type: contract.name,
    timestamp: time.toISOString(),
    data: isLarge ? null : payload,
    ...(isLarge && { truncated: true, ...tokens }),
  });
  return wanted
    .filter(({ webhook }) => webhook.agent === null || webhook.agent === agent)
    .map(({ webhook: { id: webhookId } }) => ({
      id: deliveryIdOf(digest, webhookId),
      webhookId,
      event: contract.name,
      body,
      attempts: 0,
      error: null,
      at: now,
    }));
}

/** The position after which the events of the subscription begin. */
function beginOf({ after, afterMs }: Subscription): EventPlace {
  return { sequence: after, storedAtMs: afterMs };
}

import type { Bus } from "@switchyard/bus/connect";
import { readEvents, type StoredEvent } from "@switchyard/bus/events";
import { follow } from "@switchyard/bus/follow";
import { runLive } from "@switchyard/contracts/run-events";
import { eventStream } from "@switchyard/contracts/streams";
import type { Log } from "@switchyard/service/log";

/** Hears what is stored from now on, in order and without gaps. */
export type EventListener = (event: StoredEvent) => void;

/** One consumer of all events and one subscription to live text for all readers of this replica. */
export interface EventHub {
  /** Events of everybody: the listener picks its own. */
  onEvent(listener: EventListener): () => void;
  /** Live text of a run, by its owner and the rest of its id. */
  onLive(
    run: { readonly owner: string; readonly name: string },
    listener: (delta: unknown) => void,
  ): () => void;
  /** Hears that the gateway stops. */
  onStop(listener: () => void): () => void;
  readonly readers: number;
  isReading(): boolean;
  /** Resolves when all that is stored from then on is heard. */
  readonly opened: Promise<void>;
  stop(): Promise<void>;
}

const AGAIN_MS = 1_000;

export function openEventHub(bus: Bus, log: Log): EventHub {
  const listeners = new Set<EventListener>();
  const live = new Map<string, Set<(delta: unknown) => void>>();
  const stops = new Set<() => void>();
  const stopping = new AbortController();
  const { signal } = stopping;
  let isReading = false;
  const opened = Promise.withResolvers<void>();
  let last: number | null = null;

  const read = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const from = last === null ? ("now" as const) : { sequence: last + 1 };
        const onOpen = (): void => {
          isReading = true;
          opened.resolve();
        };
        for await (const event of readEvents(bus, {
          filters: eventStream.subjects,
          from,
          signal,
          onOpen,
        })) {
          last = event.sequence;
          for (const listener of listeners) tell(listener, event);
        }
      } catch (err) {
        isReading = false;
        log.warn({ err }, "events cannot be read, readers of streams wait");
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  };
  // A fault of one reader is not one of the others.
  const tell = (listener: EventListener, event: StoredEvent): void => {
    try {
      listener(event);
    } catch (err) {
      log.error({ err }, "a reader of events failed");
    }
  };
  const reading = read();
  const deltas = follow(bus, runLive, (delta, { owner, runId }) => {
    for (const listener of live.get(`${owner} ${runId}`) ?? []) listener(delta);
  });

  return {
    onEvent: (listener) => added(listeners, listener),
    onLive({ owner, name }, listener) {
      const key = `${owner} ${name}`;
      const heard = live.get(key) ?? new Set();
      live.set(key, heard.add(listener));
      return () => {
        heard.delete(listener);
        if (heard.size === 0 && live.get(key) === heard) live.delete(key);
      };
    },
    onStop: (listener) => added(stops, listener),
    get readers() {
      return listeners.size;
    },
    isReading: () => isReading,
    opened: opened.promise,
    async stop() {
      stopping.abort();
      opened.resolve();
      deltas.stop();
      for (const stop of stops) stop();
      await reading;
    },
  };
}

function added<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => void set.delete(item);
}

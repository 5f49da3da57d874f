import { within } from "@switchyard/contracts/timeouts";
import type { Bus } from "@switchyard/bus/bus";
import { placeOf, type EventPlace } from "@switchyard/bus/event-place";
import { readEvents } from "@switchyard/bus/events";
import { lastEventPlace } from "@switchyard/bus/last-event";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { follow } from "@switchyard/bus/follow";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { eventSubjects } from "@switchyard/topology/streams";
import type { Log } from "@switchyard/service/log";

/** Receives all events that are stored from now on, in order and without gaps. */
export type EventListener = (event: StoredEvent) => void;

/**
 * One consumer of all events and one subscription to live text for all readers of this replica. While no request needs events
 * the hub reads nothing: otherwise the server would deliver every event without a reader.
 */
export interface EventHub {
  /**
   * Keeps the consumer open while a request is in work, and a minute longer. Resolves when every event stored from then on is
   * received, at the latest after two seconds, so that requests which need no events are answered without them.
   */
  attend(): Promise<() => void>;
  /** Delivers the events of all callers: the listener filters its own. Call it while a request is attended. */
  onEvent(listener: EventListener): () => void;
  /** Delivers live text of a run, by its owner and the rest of its id. */
  onLive(
    run: { readonly owner: string; readonly name: string },
    listener: (delta: unknown) => void,
  ): () => void;
  /** The listener is called when the gateway stops. */
  onStop(listener: () => void): () => void;
  readonly readers: number;
  /** False when events are needed and cannot be read. */
  isWell(): boolean;
  /** Resolves when every event stored from then on is received. */
  opened(): Promise<void>;
  stop(): Promise<void>;
}

const AGAIN_MS = 1_000;
const TIMEOUT_MS = 2_000;
const LINGER_MS = 60_000;

/** One consumer of the stream, with its start. */
interface Reading {
  readonly opened: Promise<void>;
  isOpen(): boolean;
  end(): Promise<void>;
}

/** The reading of a gateway that stops: it is open at once, and the hub ends its readers. */
const OVER: Reading = {
  opened: Promise.resolve(),
  isOpen: () => false,
  end: () => Promise.resolve(),
};

export function openEventHub(bus: Bus, log: Log, lingerMs = LINGER_MS): EventHub {
  const listeners = new Set<EventListener>();
  const live = new Map<string, Set<(delta: unknown) => void>>();
  const stops = new Set<() => void>();
  let requests = 0;
  let reading: Reading | null = null;
  let lingering: NodeJS.Timeout | undefined;
  let isStopped = false;

  const notifyAll = (event: StoredEvent): void => {
    for (const listener of listeners) {
      // An error of one reader must not affect the others.
      try {
        listener(event);
      } catch (err) {
        log.error({ err }, "a reader of events failed");
      }
    }
  };
  const current = (): Reading => {
    if (reading === null && isStopped) return OVER;
    return (reading ??= openReading(bus, log, notifyAll));
  };
  const rest = (): void => {
    if (requests > 0 || listeners.size > 0 || isStopped) return;
    clearTimeout(lingering);
    lingering = setTimeout(() => {
      if (requests > 0 || listeners.size > 0) return;
      const ended = reading;
      reading = null;
      void ended?.end();
    }, lingerMs).unref();
  };
  const deltas = follow(bus, runLive, (delta, { owner, runId }) => {
    for (const listener of live.get(`${owner} ${runId}`) ?? []) listener(delta);
  });

  return {
    async attend() {
      requests += 1;
      const now = current();
      if (!now.isOpen()) await within(now.opened, { ms: TIMEOUT_MS });
      return () => {
        requests -= 1;
        rest();
      };
    },
    onEvent(listener) {
      const remove = added(listeners, listener);
      return () => {
        remove();
        rest();
      };
    },
    onLive({ owner, name }, listener) {
      const key = `${owner} ${name}`;
      const followers = live.get(key) ?? new Set();
      live.set(key, followers.add(listener));
      return () => {
        followers.delete(listener);
        if (followers.size === 0 && live.get(key) === followers) live.delete(key);
      };
    },
    onStop: (listener) => added(stops, listener),
    get readers() {
      return listeners.size;
    },
    isWell: () => reading === null || reading.isOpen(),
    opened: () => current().opened,
    async stop() {
      isStopped = true;
      clearTimeout(lingering);
      deltas.stop();
      for (const stop of stops) stop();
      await reading?.end();
    },
  };
}

/** Reads all events from now on, until it is ended. */
function openReading(bus: Bus, log: Log, notify: EventListener): Reading {
  const opened = Promise.withResolvers<void>();
  const ending = new AbortController();
  const { signal } = ending;
  let isOpen = false;
  let last: EventPlace | null = null;
  const read = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        // The position is fixed before the first event: a reading that fails at that event resumes at it.
        last ??= await lastEventPlace(bus);
        const onOpen = (): void => {
          isOpen = true;
          opened.resolve();
        };
        for await (const event of readEvents(bus, {
          filters: eventSubjects,
          from: { after: last },
          signal,
          onOpen,
        })) {
          last = placeOf(event);
          notify(event);
        }
      } catch (err) {
        isOpen = false;
        log.warn({ err }, "events cannot be read, readers of streams wait");
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
      }
    }
  };
  const done = read();
  return {
    opened: opened.promise,
    isOpen: () => isOpen,
    async end() {
      ending.abort();
      opened.resolve();
      await done;
    },
  };
}

function added<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => void set.delete(item);
}

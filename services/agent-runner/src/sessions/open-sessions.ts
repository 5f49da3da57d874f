import type { Bus } from "@switchyard/bus/bus";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { readColumns } from "../journal/run-columns.ts";
import { stateKey } from "../journal/run-keys.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { RunControls } from "../journal/run-controls.ts";
import { openUnsyncedEvents } from "../journal/unsynced-events.ts";
import { FACTS, factsIn } from "../core/due.ts";
import type { SessionParts } from "./session-parts.ts";
import { openSessionIndex } from "./session-index.ts";
import { openSessionStore } from "./session-store.ts";

/** The limits of sessions. */
export interface SessionSettings {
  readonly idleMs: number;
  readonly maxPerOwner: number;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly maxQueued: number;
  readonly contextBytes: number;
}

/** Assembles the parts that all operations on sessions need. */
export function openSessions(
  kit: {
    readonly bus: Bus;
    readonly log: Log;
    readonly redis: Redis;
    readonly storage: OwnerStorage;
  },
  options: {
    readonly controls: RunControls;
    readonly runs: Pick<RunStore, "load">;
    readonly clients: SessionParts["clients"];
    readonly settings: SessionSettings;
    readonly problemOfModel: SessionParts["problemOfModel"];
    readonly now: () => number;
  },
): SessionParts {
  const { bus, log, redis, storage } = kit;
  const { controls, runs, clients, settings, problemOfModel, now } = options;
  const { maxMessages, maxBytes, maxPerOwner, maxQueued, idleMs, contextBytes } = settings;
  return {
    bus,
    log,
    controls,
    store: openSessionStore(redis, { maxMessages, maxBytes, storage }),
    storage,
    index: openSessionIndex(redis, maxPerOwner),
    runs: {
      load: runs.load,
      facts: async (runId) => factsIn(await readColumns(redis, runId, FACTS)),
      status: (runId) => fromRedis(redis.hget(stateKey(runId), "status")),
      digest: (runId) => fromRedis(redis.hget(stateKey(runId), "digest")),
    },
    clients,
    unwritten: openUnsyncedEvents(redis),
    limits: { maxQueued, maxPerOwner, idleMs },
    contextBytes,
    problemOfModel,
    now,
  };
}

// Runners in the test's process that die at drawn points: before or after any request to Redis or to a service.

import { createAnswerInspector } from "../src/waits/inspect-answer.ts";
import { noFiles } from "./no-files.ts";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import type { Delivery } from "@switchyard/bus/delivery";
import { FairTurns } from "@switchyard/bus/fair-turns";
import { EventRelay } from "@switchyard/bus/event-relay";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { proceedSession } from "@switchyard/contracts/agent-runner/sessions";
import {
  createExecutionAudit,
  type ExecutionAudit,
} from "@switchyard/tool-provider/execution-audit";
import { endlessStorage } from "@switchyard/testing/test-storage";
import { createLog, type Log } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { Registry } from "prom-client";
import { openDeferredCommands } from "../src/journal/deferred-commands.ts";
import { openDeadLetters } from "../src/commands/dead-letters.ts";
import { createRunWorker, type RunWorker } from "../src/queue/run-worker.ts";
import type { RunEventRelay } from "../src/journal/event-publisher.ts";
import { openRunIndex } from "../src/journal/run-index.ts";
import { openRunStore } from "../src/journal/run-store.ts";
import { openProviderLimiter } from "../src/model/provider-limiter.ts";
import { openTeamLedger, NO_TEAM_LIMITS } from "../src/model/team-ledger.ts";
import { createRunnerMetrics } from "../src/model/metrics.ts";
import { openRuntimeHosts } from "../src/runtime/runtime-hosts.ts";
import { createModelRegistry, type ModelRegistry } from "../src/model/model-registry.ts";
import { modelsWithoutFile } from "../src/model/models-file.ts";
import { createServiceClients, isOutage } from "../src/context/service-clients.ts";
import { ActiveRuns } from "../src/journal/active-run.ts";
import { Suspended } from "../src/core/interruption.ts";
import { openRunControls, type RunControls } from "../src/journal/run-controls.ts";
import { openSessions } from "../src/sessions/open-sessions.ts";
import type { SessionParts } from "../src/sessions/session-parts.ts";
import { openUnsyncedEvents } from "../src/journal/unsynced-events.ts";
import { openParkedRuns } from "../src/journal/parked-runs.ts";
import { PublishBehind } from "../src/run/publish-behind.ts";
import type { Lab } from "./runner-lab.ts";
import { SESSION_SETTINGS } from "./session-settings.ts";

/** Thrown where the runner dies; the run cannot distinguish it from a death. */
export class Crash extends Error {}

export interface MortalRunners {
  readonly redis: Redis;
  readonly log: Log;
  /** Belongs to no mortal runner, so that it never dies. */
  readonly controls: RunControls;
  /** Aborts when all of them are to stop. */
  readonly stopping: AbortSignal;
  /** A runner that calls `pass` before and after each request; when that throws, it has died. `now` is its clock. */
  worker(pass: Pass, now?: () => number): RunWorker;
  /** A runner that died before any of its events was stored; the stream cannot distinguish it from one. */
  mute(): RunWorker;
  /** Access to the sessions that does not die with a runner. */
  sessions(now?: () => number): SessionParts;
}

export interface MortalOptions {
  /** The time for which the claim of a dead runner keeps others from its run; 0: not at all. */
  readonly holdMs: number;
  readonly models?: ModelRegistry;
  /** Left out: so many that nothing is given up. */
  readonly maxAttempts?: number;
  /** Left out: no start of a run is recorded. */
  readonly executions?: ExecutionAudit;
}

/** Opens the parts that such runners need, for one test file. */
export async function mortalRunners(lab: Lab, options: MortalOptions): Promise<MortalRunners> {
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
  const bus = await connectBus({ servers: lab.nats.url, user: "runner" });
  after(async () => {
    await bus.close();
    redis.disconnect();
  });
  const { signal: stopping } = new AbortController();
  const kit = { bus, log, redis, stopping };
  const controls = openRunControls(redis);
  const sessions = (now: () => number = Date.now): SessionParts => {
    const runs = openRunStore(redis, { holdMs: 0 });
    return openSessions(
      { ...kit, storage: endlessStorage },
      {
        controls,
        runs,
        clients: createServiceClients(bus, "i".repeat(43)),
        settings: SESSION_SETTINGS,
        problemOfModel: () => null,
        now,
      },
    );
  };
  return {
    redis,
    log,
    controls,
    sessions,
    stopping,
    worker: (pass, now = Date.now) =>
      newWorker({ ...kit, sessions, now, relay: relayTo(bus) }, options, pass),
    mute: () =>
      newWorker(
        { ...kit, sessions, now: Date.now, relay: { push: () => {} } },
        options,
        async () => {},
      ),
  };
}

/** Dies at its n-th boundary, and at each one from then on; null lives on. */
export function dyingAt(point: number | null): () => Promise<void> {
  let passed = 0;
  return async () => {
    passed += 1;
    if (point !== null && passed >= point) throw new Crash("the runner died");
  };
}

/** Releases its run at its n-th boundary, as when a service that it needs is down; then it continues as before. */
export function leavingAt(point: number): () => Promise<void> {
  let passed = 0;
  return async () => {
    passed += 1;
    if (passed === point) throw new Suspended("a service is down");
  };
}

function relayTo(bus: Bus): RunEventRelay {
  return new EventRelay(bus, { isOutage, onTrouble: () => {}, onRecovered: () => {} });
}

function newWorker(
  kit: {
    bus: Bus;
    log: Log;
    redis: Redis;
    stopping: AbortSignal;
    sessions: () => SessionParts;
    now: () => number;
    relay: RunEventRelay;
  },
  options: MortalOptions,
  pass: Pass,
): RunWorker {
  const { holdMs, models = createModelRegistry(modelsWithoutFile({}), {}) } = options;
  const { executions = createExecutionAudit(null) } = options;
  const { bus, log, redis, stopping, now, relay } = kit;
  const store = dying(openRunStore(redis, { holdMs }), pass);
  const controls = dying(openRunControls(redis), pass);
  const sessions = kit.sessions();
  const parked = dying(openParkedRuns(redis), pass);
  const unwritten = dying(openUnsyncedEvents(redis), pass);
  return createRunWorker({
    bus,
    relay,
    log,
    store,
    controls,
    models,
    parked,
    behind: new PublishBehind({ parked, unwritten, log, now }),
    unwritten,
    letters: openDeadLetters(redis),
    // A lost reservation is looked up later, so it is no boundary at which a runner may die.
    storage: endlessStorage,
    files: noFiles,
    kept: dying(openDeferredCommands(redis), pass),
    active: new ActiveRuns(),
    index: openRunIndex(redis, store),
    sessions: {
      ...sessions,
      controls,
      store: dying(sessions.store, pass),
      index: dying(sessions.index, pass),
    },
    clients: dying(createServiceClients(bus, "i".repeat(43)), pass),
    limiter: dying(openProviderLimiter(redis), pass),
    ledger: openTeamLedger(redis, { book: NO_TEAM_LIMITS, now }),
    executions,
    inspectAnswer: createAnswerInspector(store, null),
    metrics: createRunnerMetrics(new Registry(), 1),
    turns: new FairTurns(2),
    runtimes: openRuntimeHosts({
      directory: join(tmpdir(), "yard-no-runtimes"),
      lingerMs: 0,
      env: {},
    }),
    maxAttempts: options.maxAttempts ?? 100,
    defaultTimeoutMs: 60_000,
    onLimit: "fail",
    modelIdleTimeoutMs: 10_000,
    modelOutageMs: 60_000,
    maxToolsPerAgent: 50,
    stopping,
    now,
    random: () => 0.5,
  });
}

/** Called before and after each request; when it throws, the runner has died. */
export type Pass = (request: string) => Promise<void>;

/** The same functions with a boundary before and after each. */
function dying<T extends object>(target: T, pass: Pass): T {
  const wrapped = Object.entries(target).map(
    ([name, act]: [string, (...args: unknown[]) => unknown]) => [
      name,
      async (...args: unknown[]) => {
        await pass(name);
        const result = await act.apply(target, args);
        await pass(name);
        return result;
      },
    ],
  );
  return Object.fromEntries(wrapped) as T; // the same names with the same functions
}

/** The position of a message in the queue, and its number of deliveries. */
interface Place {
  readonly streamSequence: number;
  readonly deliveryCount?: number;
  readonly signal?: AbortSignal;
  /** True: taken before its turn. */
  readonly isEarly?: boolean;
}

/** A command to start a run, as the queue delivers it. */
export function startDelivery(
  agent: string,
  payload: Record<string, unknown>,
  place: Place,
): Delivery {
  const tokens = { caller: "cli", agent };
  const subject = `yard.cmd.cli.run.start.${agent}`;
  return { ...delivered(place), contract: startRun, tokens, payload, caller: "cli", subject };
}

/** A message that hints that a run or session may have work. */
export function hintDelivery(
  contract: typeof resumeRun | typeof proceedSession,
  about: Record<string, string>,
  place: Place,
  payload: Record<string, unknown> = {},
): Delivery {
  const verb = contract === resumeRun ? "resume" : "proceed";
  const subject = `yard.cmd.runner.run.${verb}.${Object.values(about).join()}`;
  const tokens = { caller: "runner", ...about };
  return { ...delivered(place), contract, tokens, payload, caller: "runner", subject };
}

function delivered({ streamSequence, deliveryCount = 1, signal, isEarly = false }: Place) {
  return {
    kind: "command" as const,
    isEarly,
    holder: isEarly ? `${streamSequence}:early` : String(streamSequence),
    streamSequence,
    deliveryCount,
    messageId: null,
    publishedAt: new Date(),
    correlationId: `c-${streamSequence}`,
    traceparent: "00-00000000000000000000000000000001-0000000000000001-01",
    signal: signal ?? new AbortController().signal,
  };
}

/** Answers the first question of a run; returns the result of that. */
export function answerFirst(controls: RunControls, runId: string) {
  const at = new Date().toISOString();
  const callId = `${runId}:1:0`;
  const resolution = { type: "answer" as const, answer: "yes", by: "cli" };
  return controls.append({
    runId,
    entry: { kind: "wait-resolved", at, callId, resolution },
    by: "cli",
    expected: callId,
    command: null,
  });
}

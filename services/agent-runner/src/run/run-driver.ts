import { isDeepStrictEqual } from "node:util";
import { scheduleCommand } from "@switchyard/bus/publish";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { ActiveRun } from "../journal/active-run.ts";
import { holderOf } from "../journal/run-storage.ts";
import { storageRefusalOf } from "../commands/rejection.ts";
import { cancelledCall } from "../core/cancelled-call.ts";
import {
  CancelRequested,
  HandOver,
  RunRefused,
  RunStopped,
  Suspended,
  TimeOver,
} from "../core/interruption.ts";
import type { EntryOf, WithoutTime } from "../core/journal-entry.ts";
import { ModelFailure } from "../model/model-failure.ts";
import { ModelUnusable } from "../model/model-registry.ts";
import { endNow } from "../core/consequences.ts";
import type { RunContext } from "../context/run-context.ts";
import { linkSignals } from "../core/linked-signal.ts";
import { ModelStep } from "./model-step.ts";
import { deadlineOf, limitFailure, nextAction, type NextAction } from "../core/next-action.ts";
import { openCalls, type CallState } from "../core/run-state.ts";
import type { Listing } from "../context/list-provider-tools.ts";
import type { CallOutcome, CallStep } from "../core/call-outcome.ts";
import { firstCheckAt } from "../core/due.ts";
import { suspendOnOutage } from "../context/service-clients.ts";
import { routeCall } from "./route-call.ts";
import { routeOf } from "../core/tool-catalogue.ts";
import { ToolLister } from "./tool-lister.ts";

const PARALLEL_CALLS = 8;

/**
 * Drives a run until it has ended or waits. Each turn of the loop derives the next action from the journal, executes it and
 * records the result, so the loop may be left and entered anywhere. A run that is stopped waits. Rejects with the reason when
 * the runner must release the run: HandOver, Suspended, FenceLost or the signal's reason.
 */
export async function driveRun(
  parts: Omit<RunContext, "signal" | "waiting">,
  listing?: Promise<Listing>,
): Promise<void> {
  while (!(await driveTillTimeIsOver(parts, listing)));
}

/** False when the time was over and the run's limit was raised. */
async function driveTillTimeIsOver(
  parts: Omit<RunContext, "signal" | "waiting">,
  listing: Promise<Listing> | undefined,
): Promise<boolean> {
  const timeLimit = new AbortController();
  const { run, now, stopping } = parts;
  const left = (): number => Math.max(0, deadlineOf(run.state) - now());
  const look = (): void => {
    // The limit may have been raised since the timer was set.
    if (left() > 0) return void (timer = setTimeout(look, left()));
    const endsRun = run.state.limits.onLimit !== "pause";
    timeLimit.abort(new TimeOver("the run's time is over", { endsRun }));
  };
  let timer = setTimeout(look, left());
  const ending = linkSignals(run.signal, run.cancelSignal, timeLimit.signal);
  const waiting = linkSignals(ending.signal, stopping);
  const context = { ...parts, signal: ending.signal, waiting: waiting.signal };
  const driver = new Driver(context, listing);
  try {
    while (await inTurn(parts, () => driver.step()))
      if (timeLimit.signal.aborted && left() > 0) return false;
    return true;
  } finally {
    clearTimeout(timer);
    waiting.release();
    ending.release();
  }
}

/** Delays the steps of an owner's runs behind a share of those of other owners. */
async function inTurn<T>(
  { run, turns }: Pick<RunContext, "run" | "turns">,
  work: () => Promise<T>,
): Promise<T> {
  const { runId, requester } = run.state.started;
  const turn = turns.begin(ownerOfRun(runId) ?? requester);
  try {
    if (turn.begins !== null) await turn.begins;
    return await work();
  } finally {
    turn.end();
  }
}

class Driver {
  readonly #context: RunContext;
  readonly #run: ActiveRun;
  readonly #tools: ToolLister;
  readonly #model: ModelStep;

  constructor(context: RunContext, listing: Promise<Listing> | undefined) {
    this.#context = context;
    this.#run = context.run;
    this.#tools = new ToolLister(context, listing);
    this.#model = new ModelStep(context, {
      tools: this.#tools,
      atOnce: PARALLEL_CALLS,
      noteOutcome: (outcome) => this.#noteOutcome(outcome),
    });
  }

  /** Executes the next action; false when the run has ended. */
  async step(): Promise<boolean> {
    this.#run.signal.throwIfAborted();
    const action = nextAction(this.#run.state, this.#context.now());
    try {
      switch (action.action) {
        case "stop":
          return false;
        case "finish":
          await this.#noteIfStill(action, { kind: "finished", output: action.output });
          return true;
        case "fail":
          await this.#recordEnd({ kind: "failed", failure: action.failure });
          return true;
        case "limit":
          await this.#stopAt(action.reached);
          return true;
        case "cancel":
          await this.#cancel();
          return true;
        case "park":
          await this.#park(action);
          return this.#run.state.waiting === null;
        case "dispatch-skill": {
          const { runId } = this.#run.state.started;
          await this.#run.note({ kind: "skill-dispatched", callId: `${runId}:1:0` });
          return true;
        }
        case "call-model":
          this.#throwIfStopping();
          if (await this.#hasRoom()) await this.#callModel(action.step);
          return true;
        case "call-tools":
          this.#throwIfStopping();
          await this.#callTools(action.calls);
          return true;
        default:
          return action satisfies never;
      }
    } catch (error) {
      await this.#settle(error);
      return true;
    }
  }

  /** Records the consequence of the error, so that the next turn of the loop acts on it. Rejects with any other error. */
  async #settle(error: unknown): Promise<void> {
    try {
      if (error instanceof RunStopped) {
        await this.#run.noteUnsent();
        await this.#run.note({ kind: "stopped", ...error.stop });
      } else if (error instanceof RunRefused) {
        await this.#recordEnd({ kind: "failed", failure: error.failure });
      } else throw error;
    } catch (thrown) {
      // The next turn of the loop finds the time over or the cancel request, and records it.
      if (!(thrown instanceof TimeOver || thrown instanceof CancelRequested)) throw thrown;
    }
  }

  /** The open calls get a result that reports the cancellation. */
  async #cancel(): Promise<void> {
    await this.#run.noteUnsent();
    for (const call of openCalls(this.#run.state)) await this.#run.note(cancelledCall(call));
    await this.#recordEnd({ kind: "cancelled" });
  }

  async #callModel(step: number): Promise<void> {
    try {
      const reached = await this.#model.take(step);
      if (reached !== null) await this.#stopAt(reached);
    } catch (error) {
      if (error instanceof Suspended) throw this.#withinTime(error);
      if (!(error instanceof ModelFailure || error instanceof ModelUnusable)) throw error;
      const failure = { code: error.code, message: error.message };
      await this.#recordEnd({ kind: "failed", failure });
    }
  }

  /** False when the run has failed, because its owner may store no more. While Redis itself is nearly full the run is suspended. */
  async #hasRoom(): Promise<boolean> {
    const { runId, requester } = this.#run.state.started;
    try {
      await this.#context.storage.admit(holderOf(runId, requester), { isUnderWay: true });
      return true;
    } catch (error) {
      const refusal = storageRefusalOf(error);
      if (refusal === null) throw error;
      const { code, message } = refusal.rejection;
      if (refusal.scope === "redis") throw new Suspended(message, { cause: error });
      await this.#recordEnd({ kind: "failed", failure: { code, message } });
      return false;
    }
  }

  /** Limits the suspension to the time that the run has left. */
  #withinTime(suspended: Suspended): Suspended {
    const { message, waitMs } = suspended;
    if (waitMs === null) return suspended;
    const leftMs = Math.max(0, deadlineOf(this.#run.state) - this.#context.now());
    return new Suspended(message, { cause: suspended, waitMs: Math.min(waitMs, leftMs) });
  }

  /** The wait is registered with the timer and the sweeper before the run is released. */
  async #park(action: Extract<NextAction, { action: "park" }>): Promise<void> {
    const { until } = action;
    const { parked, bus, now } = this.#context;
    const { runId } = this.#run.hold;
    const wakeAt = until === null ? 0 : Date.parse(until);
    await parked.lookAgain(runId, firstCheckAt(wakeAt, now()));
    if (until !== null) {
      const at = new Date(until);
      await suspendOnOutage(this.#context.signal, () =>
        scheduleCommand(bus, resumeRun, { runId }, {}, { at, correlationId: runId }),
      );
    }
    await this.#noteIfStill(action, { kind: "waiting", until });
  }

  /** Controls may be recorded at any time. An entry since the decision may be the one that the run would wait for, or have to answer. */
  #noteIfStill(
    action: NextAction,
    entry: WithoutTime<EntryOf<"finished"> | EntryOf<"waiting">>,
  ): Promise<void> {
    return this.#run.recordWith([], (state) => {
      const now = this.#context.now();
      if (!isDeepStrictEqual(nextAction(state, now), action)) return [];
      return [{ ...entry, at: new Date(now).toISOString() }];
    });
  }

  #noteOutcome(step: CallOutcome): void {
    // A stop ended the call. Before the next model call, the new list of tools reveals whether the run itself is stopped.
    if (step.kind === "tool-failed" && step.code === "stopped") this.#tools.forget();
    this.#context.metrics.toolCalls.inc({ outcome: outcomeLabel(step) });
  }

  async #stopAt(reached: ReachedLimit & { readonly until: string | null }): Promise<void> {
    const { until, ...limit } = reached;
    const isPaused = this.#run.state.limits.onLimit === "pause";
    if (isPaused) return this.#recordEnd({ kind: "limit-reached", ...limit, until });
    return this.#recordEnd({ kind: "failed", failure: limitFailure(limit) });
  }

  async #callTools(calls: readonly CallState[]): Promise<void> {
    const tools = await this.#tools.tools();
    // A skill may remove tools that the calls beside it need, so those calls are made in the next turn.
    const skills = calls.filter(({ part }) => routeOf(part.tool, tools).to === "skill");
    const [now, limit] = skills.length > 0 ? [skills, 1] : [calls, PARALLEL_CALLS];
    await boundedParallel(now, limit, async (call) => {
      this.#throwIfStopping();
      this.#context.signal.throwIfAborted();
      const step = await routeCall(call, tools, this.#context);
      await this.#recordStep(step);
      if (step.kind !== "tool-parked") this.#noteOutcome(step);
    });
  }

  /** The last result that a run needs is written with its end. */
  #recordStep(step: CallStep): Promise<void> {
    const now = this.#context.now();
    const entry = { ...step, at: new Date(now).toISOString() };
    return this.#run.recordWith([entry], (after) => {
      const end = endNow(after, now);
      return end === null ? [] : [end];
    });
  }

  /** Adds the usage of broken answers, if there is any. */
  #recordEnd(
    entry: WithoutTime<EntryOf<"failed"> | EntryOf<"cancelled"> | EntryOf<"limit-reached">>,
  ): Promise<void> {
    return this.#run.discarded.record((field) => this.#run.note({ ...entry, ...field }));
  }

  #throwIfStopping(): void {
    if (this.#context.stopping.aborted) throw new HandOver("this runner is stopping");
  }
}

function outcomeLabel(outcome: CallOutcome): string {
  switch (outcome.kind) {
    case "tool-completed":
      return outcome.isError ? "tool_error" : "completed";
    case "tool-denied":
      return "denied";
    case "tool-failed":
      return "failed";
    default:
      return outcome satisfies never;
  }
}

/**
 * Runs a task for each item, at most `limit` at a time, in the order of the items. After the first failure no new task is begun;
 * the running ones are awaited, and then the failure is thrown.
 */
export async function boundedParallel<T>(
  items: readonly T[],
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const item of waiting) {
      if (failures.length > 0) return;
      try {
        await task(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}

import type { Bus } from "@switchyard/bus/connect";
import { scheduleCommand } from "@switchyard/bus/publish";
import { resumeRun } from "@switchyard/contracts/run-commands";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import type { ActiveRun } from "./active-run.ts";
import { askerOptions } from "./asker-options.ts";
import { boundedParallel } from "../tools/bounded-parallel.ts";
import { CancelRequested, HandOver, TimeOver } from "./interruption.ts";
import { runToolsOf } from "../context/run-tools.ts";
import type { EntryOf, JournalEntry, WithoutTime } from "../journal/journal-entry.ts";
import type { ReachedLimit } from "@switchyard/contracts/run-waits";
import type { Usage } from "@switchyard/contracts/runs";
import { StepBudget } from "../limits/step-budget.ts";
import type { TeamLedger } from "../limits/team-ledger.ts";
import type { OfferedTool, ToolCatalogue } from "../tools/tool-catalogue.ts";
import type { ProviderLimiter } from "../limits/provider-limiter.ts";
import type { RunnerMetrics } from "../metrics.ts";
import { ModelFailure } from "../model/model-failure.ts";
import { ModelAsker } from "../model/model-step.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import { consequencesOf, endNow } from "./consequences.ts";
import { deadlineOf, limitFailure, nextAction } from "./next-action.ts";
import type { Peers } from "../peers.ts";
import type { CallState } from "../journal/run-state.ts";
import type { RunTokenKeeper } from "./run-token-keeper.ts";
import { failure, type CallOutcome, type CallStep } from "../tools/call-outcome.ts";
import { firstLook } from "../waits/look-at.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import { orSuspend } from "./or-suspend.ts";
import type { RunControls } from "./run-controls.ts";
import { routeCall, type RouteOptions } from "../tools/route-call.ts";
import { routeOf } from "../tools/tool-catalogue.ts";
import type { ListedTool } from "../tools/listed-tool.ts";
import { ToolLister } from "../tools/tool-lister.ts";
import { newPrints, type ToolPrints } from "../tools/tool-print.ts";

const PARALLEL_CALLS = 8;

export interface DriverOptions {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
  readonly ledger: TeamLedger;
  readonly tokens: RunTokenKeeper;
  /** The tools of a new run, when somebody has asked for them already. */
  readonly listing?: Promise<readonly ListedTool[]> | undefined;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  /** Records the starts of child runs. */
  readonly executions: ExecutionAudit;
  readonly metrics: RunnerMetrics;
  readonly modelIdleTimeoutMs: number;
  readonly maxToolsPerAgent: number;
  /** Aborts when this runner wants to stop: the run is handed over at the next step boundary. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}

/**
 * Drives a run until it has ended or waits. Each turn of the loop asks the journal what is next, does it and
 * writes down what came of it, so the loop may be left and entered anywhere. Rejects with the
 * reason when the run must be left: HandOver, Suspended, FenceLost or the signal's reason.
 */
export async function driveRun(options: DriverOptions): Promise<void> {
  while (!(await driveTillTimeIsOver(options)));
}

/** False when the time was over and the run was given more of it. */
async function driveTillTimeIsOver(options: DriverOptions): Promise<boolean> {
  const timeLimit = new AbortController();
  const { run, now } = options;
  const left = (): number => Math.max(0, deadlineOf(run.state) - now());
  const look = (): void => {
    // The limit may be another one by now.
    if (left() > 0) return void (timer = setTimeout(look, left()));
    const endsRun = run.state.limits.onLimit !== "pause";
    timeLimit.abort(new TimeOver("the run's time is over", { endsRun }));
  };
  let timer = setTimeout(look, left());
  const driver = new Driver(
    options,
    AbortSignal.any([run.signal, run.cancelSignal, timeLimit.signal]),
  );
  try {
    while (await driver.step()) if (timeLimit.signal.aborted && left() > 0) return false;
    return true;
  } finally {
    clearTimeout(timer);
  }
}

class Driver {
  readonly #options: DriverOptions;
  readonly #run: ActiveRun;
  /** Aborts when the run loses its hold, is to be cancelled, or its time is over. */
  readonly #signal: AbortSignal;
  readonly #asker: ModelAsker;
  readonly #tools: ToolLister;
  readonly #budget: StepBudget;

  constructor(options: DriverOptions, signal: AbortSignal) {
    this.#options = options;
    this.#run = options.run;
    this.#signal = signal;
    this.#asker = new ModelAsker(
      askerOptions({ ...options, signal, waiting: waitingOf(options, signal) }),
    );
    const record = (entry: WithoutTime<JournalEntry>) => this.#record(entry);
    this.#tools = new ToolLister({ ...options, signal, record });
    this.#budget = new StepBudget({ ...options, waiting: waitingOf(options, signal) });
  }

  /** Does the next thing; false when the run has ended. */
  async step(): Promise<boolean> {
    this.#run.signal.throwIfAborted();
    const action = nextAction(this.#run.state, this.#options.now());
    try {
      switch (action.action) {
        case "stop":
          return false;
        case "finish":
          await this.#record({ kind: "finished", output: action.output });
          return true;
        case "fail":
          await this.#record({ kind: "failed", failure: action.failure });
          return true;
        case "limit":
          await this.#stopAt(action.reached);
          return true;
        case "cancel":
          await this.#cancel(action.open);
          return true;
        case "park":
          await this.#park(action.until);
          return this.#run.state.waiting === null;
        case "dispatch-skill": {
          const { runId } = this.#run.state.started;
          await this.#record({ kind: "skill-dispatched", callId: `${runId}:1:0` });
          return true;
        }
        case "call-model":
          this.#throwIfStopping();
          await this.#callModel(action.step);
          return true;
        case "call-tools":
          this.#throwIfStopping();
          await this.#callTools(action.calls);
          return true;
        default:
          return action satisfies never;
      }
    } catch (error) {
      // The next turn of the loop finds the time over or the request to cancel, and writes it down.
      if (error instanceof TimeOver || error instanceof CancelRequested) return true;
      throw error;
    }
  }

  async #cancel(open: readonly CallState[]): Promise<void> {
    for (const { part, dispatched, wait } of open) {
      const isSent = dispatched && wait === null;
      const fate = isSent ? "in flight; it may have had its effect" : "not sent";
      const said = `the run was cancelled while this call was ${fate}`;
      await this.#record(failure(part.callId, "cancelled", said));
    }
    await this.#record({ kind: "cancelled" });
  }

  /** The timer and the sweeper know of the wait before anybody may rely on them. */
  async #park(until: string | null): Promise<void> {
    const { parked, bus, now } = this.#options;
    const { runId } = this.#run.hold;
    const wakeAt = until === null ? 0 : Date.parse(until);
    await parked.lookAgain(runId, firstLook(wakeAt, now()));
    if (until !== null) {
      const at = new Date(until);
      await orSuspend(this.#signal, () =>
        scheduleCommand(bus, resumeRun, { runId }, {}, { at, correlationId: runId }),
      );
    }
    await this.#record({ kind: "waiting", until });
  }

  async #callModel(step: number): Promise<void> {
    try {
      const tools = await this.#tools.tools();
      const isCut = tools.leftOut.length > 0;
      const offered = [...runToolsOf(this.#run.state, { isCut }), ...tools.offered];
      const reached = await this.#budget.reserve(() =>
        this.#asker.needOf(this.#run.state, offered),
      );
      if (reached !== null) return await this.#stopAt(reached);
      try {
        const shown = newPrints(this.#run.state.shownTools, offered, tools);
        await this.#askModel({ step, offered, shown, tools });
      } finally {
        await this.#budget.settle();
      }
    } catch (error) {
      if (!(error instanceof ModelFailure || error instanceof ModelUnusable)) throw error;
      await this.#record({ kind: "failed", failure: { code: error.code, message: error.message } });
    }
  }

  async #askModel(asked: {
    readonly step: number;
    readonly offered: readonly OfferedTool[];
    readonly shown: ToolPrints;
    readonly tools: ToolCatalogue;
  }): Promise<void> {
    const { step, offered, shown, tools } = asked;
    const { metrics, now } = this.#options;
    const startedAt = now();
    const heard = this.#run.state.messages.length;
    const compaction = this.#asker.compactionFor(this.#run.state, offered);
    if (compaction !== null) {
      const summary = await this.#asker.summarise(this.#run.state, compaction);
      await this.#record({ kind: "compacted", upTo: compaction.upTo, ...summary });
      this.#countUse(summary);
      return; // the step itself is next
    }
    const answer = await this.#asker.ask(this.#run.state, step, offered);
    const durationMs = Math.max(0, now() - startedAt);
    const [provider = ""] = answer.model.split("/");
    metrics.modelSeconds.observe({ provider }, durationMs / 1_000);
    const known = {
      ...(heard === 0 ? {} : { heard }),
      ...(Object.keys(shown).length === 0 ? {} : { shown }),
    };
    const at = new Date(now()).toISOString();
    const entry = { kind: "model-responded" as const, at, step, ...answer, durationMs, ...known };
    await this.#take(entry, tools);
    metrics.steps.inc();
    this.#countUse(answer);
  }

  #countUse({ usage, costUsd }: { readonly usage: Usage; readonly costUsd: number | null }): void {
    const { metrics } = this.#options;
    metrics.tokens.inc({ direction: "input" }, usage.inputTokens);
    metrics.tokens.inc({ direction: "output" }, usage.outputTokens);
    metrics.costUsd.inc(costUsd ?? 0);
  }

  async #take(answer: EntryOf<"model-responded">, tools: ToolCatalogue): Promise<void> {
    const now = this.#options.now();
    // What is sent later goes by what the tools are then.
    const isSentNow = this.#tools.isCurrent(tools) && !this.#options.stopping.aborted;
    const circumstances = { tools, now, atOnce: isSentNow ? PARALLEL_CALLS : 0 };
    const { results, dispatched, end } = consequencesOf(this.#run.state, answer, circumstances);
    await this.#run.record(answer, ...results, ...dispatched, ...(end === null ? [] : [end]));
    for (const result of results) this.#noteOutcome(result);
  }

  #noteOutcome(step: CallOutcome): void {
    // What was found is shown from the next step on.
    if (step.kind === "tool-completed" && step.found !== undefined) this.#tools.forget();
    this.#options.metrics.toolCalls.inc({ outcome: outcomeLabel(step) });
  }

  async #stopAt(reached: ReachedLimit & { readonly until: string | null }): Promise<void> {
    const { until, ...limit } = reached;
    const isPaused = this.#run.state.limits.onLimit === "pause";
    if (isPaused) return this.#record({ kind: "limit-reached", ...limit, until });
    return this.#record({ kind: "failed", failure: limitFailure(limit) });
  }

  async #callTools(calls: readonly CallState[]): Promise<void> {
    const tools = await this.#tools.tools();
    // A skill may take tools away from the calls beside it, so the others are made in the next turn.
    const skills = calls.filter(({ part }) => routeOf(part.tool, tools).to === "skill");
    const [now, limit] = skills.length > 0 ? [skills, 1] : [calls, PARALLEL_CALLS];
    await boundedParallel(now, limit, async (call) => {
      this.#throwIfStopping();
      this.#signal.throwIfAborted();
      const step = await routeCall(call, tools, this.#routing);
      await this.#recordStep(step);
      if (step.kind !== "tool-parked") this.#noteOutcome(step);
    });
  }

  /** The last result that a run needs is written with its end. */
  #recordStep(step: CallStep): Promise<void> {
    const now = this.#options.now();
    const entry = { ...step, at: new Date(now).toISOString() };
    return this.#run.recordWith([entry], (after) => {
      const end = endNow(after, now);
      return end === null ? [] : [end];
    });
  }

  get #routing(): RouteOptions {
    return {
      ...this.#options,
      signal: this.#signal,
      record: (entry) => this.#record(entry),
    };
  }

  #record(entry: WithoutTime<JournalEntry>): Promise<void> {
    return this.#run.record({ ...entry, at: new Date(this.#options.now()).toISOString() });
  }

  #throwIfStopping(): void {
    if (this.#options.stopping.aborted) throw new HandOver("this runner is stopping");
  }
}

/** Ends pauses in which nothing is under way. */
function waitingOf({ stopping }: Pick<DriverOptions, "stopping">, signal: AbortSignal) {
  return AbortSignal.any([signal, stopping]);
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

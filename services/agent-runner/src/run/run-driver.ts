import type { Bus } from "@switchyard/bus/connect";
import { publishLive, scheduleCommand } from "@switchyard/bus/publish";
import { listTools } from "@switchyard/contracts/mcp";
import { isError } from "@switchyard/contracts/errors";
import { resumeRun } from "@switchyard/contracts/run-commands";
import { runLive } from "@switchyard/contracts/run-events";
import type { ActiveRun } from "./active-run.ts";
import { boundedParallel } from "../tools/bounded-parallel.ts";
import { CancelRequested, HandOver, Suspended, TimeOver } from "./interruption.ts";
import { answerRunTool, runToolsOf } from "../context/run-tools.ts";
import type { JournalEntry, StartedEntry } from "../journal/journal-entry.ts";
import type { ProviderLimiter } from "../limits/provider-limiter.ts";
import type { RunnerMetrics } from "../metrics.ts";
import { ModelFailure } from "../model/model-failure.ts";
import { ModelAsker, type ModelAskerOptions, type StepAnswer } from "../model/model-step.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import { deadlineOf, nextAction } from "./next-action.ts";
import { isOutage, type Peers } from "../peers.ts";
import type { CallState } from "../journal/replay.ts";
import type { RunTokenKeeper } from "./run-token-keeper.ts";
import {
  callAgain,
  callServerTool,
  callSkillTool,
  failure,
  type CallOutcome,
  type CallStep,
} from "../tools/tool-call.ts";
import { forkOf } from "../children/fork-of.ts";
import { finishWait, isWantedAgain, stillWaiting } from "../waits/finish-wait.ts";
import { nextLook } from "../waits/look-at.ts";
import { callOwnTool, ownToolsOf, startChild } from "../waits/own-tools.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import type { RunControls } from "./run-controls.ts";
import { listProviderTools } from "../tools/listed-tool.ts";
import { routeOf, selectTools, type ToolCatalogue } from "../tools/tool-catalogue.ts";

const PARALLEL_CALLS = 8;
/** After so long the tools are asked for again at the next step: servers come and go. */
const CATALOGUE_AGE_MS = 30_000;

export interface DriverOptions {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
  readonly tokens: RunTokenKeeper;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  readonly metrics: RunnerMetrics;
  readonly modelIdleTimeoutMs: number;
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
  const timeLimit = new AbortController();
  const { run, now } = options;
  const timer = setTimeout(
    () => timeLimit.abort(new TimeOver("the run's time is over")),
    Math.max(0, deadlineOf(run.state) - now()),
  );
  const driver = new Driver(
    options,
    AbortSignal.any([run.signal, run.cancelSignal, timeLimit.signal]),
  );
  try {
    while (await driver.step());
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
  #catalogue: { readonly tools: ToolCatalogue; readonly at: number } | null = null;

  constructor(options: DriverOptions, signal: AbortSignal) {
    this.#options = options;
    this.#run = options.run;
    this.#signal = signal;
    this.#asker = new ModelAsker({ ...liveOf(options), ...askingOf(options, signal) });
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
    await parked.lookAgain(runId, nextLook(wakeAt, now()));
    if (until !== null) {
      const at = new Date(until);
      await this.#orSuspend(() =>
        scheduleCommand(bus, resumeRun, { runId }, {}, { at, correlationId: runId }),
      );
    }
    await this.#record({ kind: "waiting", until });
  }

  async #callModel(step: number): Promise<void> {
    const { metrics, now } = this.#options;
    const startedAt = now();
    const heard = this.#run.state.messages.length;
    let answer: StepAnswer;
    try {
      const { tools } = await this.#tools();
      const isCut = tools.leftOut.length > 0;
      const offered = [...runToolsOf(this.#run.state, { isCut }), ...tools.offered];
      const compaction = this.#asker.compactionFor(this.#run.state, offered);
      if (compaction !== null) {
        const summary = await this.#asker.summarise(this.#run.state, compaction);
        await this.#record({ kind: "compacted", upTo: compaction.upTo, ...summary });
        return; // the step itself is next
      }
      answer = await this.#asker.ask(this.#run.state, step, offered);
    } catch (error) {
      if (!(error instanceof ModelFailure || error instanceof ModelUnusable)) throw error;
      await this.#record({ kind: "failed", failure: { code: error.code, message: error.message } });
      return;
    }
    const durationMs = Math.max(0, now() - startedAt);
    const [provider = ""] = answer.model.split("/");
    metrics.modelSeconds.observe({ provider }, durationMs / 1_000);
    const known = heard === 0 ? {} : { heard };
    await this.#record({ kind: "model-responded", step, ...answer, durationMs, ...known });
    metrics.steps.inc();
  }

  async #callTools(calls: readonly CallState[]): Promise<void> {
    const { tools } = await this.#tools();
    await boundedParallel(calls, PARALLEL_CALLS, async (call) => {
      this.#throwIfStopping();
      this.#signal.throwIfAborted();
      const step = await this.#callTool(call, tools);
      await this.#record(step);
      // What was found is shown from the next step on.
      if (step.kind === "tool-completed" && step.found !== undefined) this.#catalogue = null;
      if (step.kind !== "tool-parked")
        this.#options.metrics.toolCalls.inc({ outcome: outcomeLabel(step) });
    });
  }

  async #callTool(call: CallState, tools: ToolCatalogue): Promise<CallStep> {
    const { part, dispatched, wait } = call;
    const { callId, tool, input } = part;
    const { state } = this.#run;
    const { bus, peers, tokens, controls, now } = this.#options;
    const isRepeated = wait?.reason === "approval" || isWantedAgain(call);
    if (wait !== null && !isRepeated) return finishWait(call, state.children);
    const { runId, catalogue, onUnknownOutcome } = state.started;
    const inside = answerRunTool(call, state, tools.hidden ?? []);
    if (inside !== null) return inside;
    const route = routeOf(tool, tools);
    if (route.to === "nobody") {
      const offered = tools.offered.map(({ name }) => name).join(", ") || "none";
      return failure(callId, "unknown_tool", `there is no tool ${tool}; available are ${offered}`);
    }
    if (!isArguments(input)) {
      return failure(callId, "invalid_arguments", `the arguments of ${tool} must be a JSON object`);
    }
    const caller = {
      bus,
      peers,
      tokens,
      runId,
      epoch: Number(this.#run.hold.epoch),
      signal: this.#signal,
      deadline: deadlineOf(state),
      now,
    };
    const own = { run: this.#run, bus, controls, now };
    if (route.to === "own") return this.#orSuspend(() => callOwnTool(call, own));
    if (route.to === "skill") {
      const fork = await this.#orSuspend(() => forkOf(call, state, peers));
      if (fork !== null) return this.#orSuspend(() => startChild(fork, own));
      return callSkillTool({ callId, args: input, catalogue }, caller);
    }
    if (!dispatched) await this.#record({ kind: "tool-dispatched", callId });
    const { server, isListed } = route;
    const request = {
      callId,
      server,
      tool,
      args: input,
      isListed,
      onUnknownOutcome: onUnknownOutcome ?? "fail",
    };
    const isAgain = isWantedAgain(call) || (wait?.reason === "approval" && wait.again === true);
    const step = await (isAgain ? callAgain(request, caller) : callServerTool(request, caller));
    return stillWaiting(call, step, now());
  }

  /** The tools of this moment; what a model is not shown is in the journal. */
  async #tools(): Promise<{ readonly tools: ToolCatalogue }> {
    const { now } = this.#options;
    if (this.#catalogue !== null && now() - this.#catalogue.at < CATALOGUE_AGE_MS)
      return this.#catalogue;
    const known = this.#catalogue?.tools.leftOut ?? [];
    const tools = await this.#listTools();
    this.#catalogue = { tools, at: now() };
    if (tools.leftOut.length > 0 && tools.leftOut.join() !== known.join()) {
      const { offered, leftOut } = tools;
      await this.#record({
        kind: "tools-left-out",
        offered: offered.length,
        leftOut: [...leftOut],
      });
    }
    return this.#catalogue;
  }

  async #listTools(): Promise<ToolCatalogue> {
    const { toolLayers, catalogue, runId } = this.#run.state.started;
    // An agent without tools needs no broker, and gets no skill either.
    if (toolLayers.some((layer) => layer.length === 0)) {
      return selectTools({ tools: [], layers: toolLayers, skills: [] });
    }
    const { peers, tokens } = this.#options;
    const call = { signal: this.#signal, correlationId: runId };
    const token = await this.#orSuspend(() => tokens.get());
    try {
      const tools = await this.#orSuspend(() => listProviderTools(peers, token, call));
      const skills = catalogue.map(({ name }) => name);
      const own = ownToolsOf(this.#run.state.started);
      const { started, found } = this.#run.state;
      const about = aboutOf(started);
      return selectTools({ tools, layers: toolLayers, skills, own, about, found });
    } catch (error) {
      if (!isError(error, listTools, "invalid_token")) throw error;
      tokens.refuse(token);
      throw new Suspended("a tool provider refused the run token", { cause: error });
    }
  }

  async #orSuspend<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!isOutage(error)) throw error;
      throw new Suspended("a service that the run needs is down", { cause: error });
    }
  }

  #record(entry: WithoutTime<JournalEntry>): Promise<void> {
    return this.#run.record({ ...entry, at: new Date(this.#options.now()).toISOString() });
  }

  #throwIfStopping(): void {
    if (this.#options.stopping.aborted) throw new HandOver("this runner is stopping");
  }
}

/** What is said while a model writes; everything in it is repeated by an event. */
function liveOf({ bus, run }: DriverOptions): Pick<ModelAskerOptions, "onDelta" | "onReset"> {
  const { runId } = run.hold;
  return {
    onDelta: (step, delta) => publishLive(bus, runLive, { runId }, { runId, step, delta }),
    onReset: (step) =>
      publishLive(bus, runLive, { runId }, { runId, step, delta: "", kind: "reset-step" }),
  };
}

function askingOf(
  { models, limiter, modelIdleTimeoutMs, stopping, random }: DriverOptions,
  signal: AbortSignal,
): Omit<ModelAskerOptions, "onDelta" | "onReset"> {
  const waiting = AbortSignal.any([signal, stopping]);
  return { models, limiter, idleTimeoutMs: modelIdleTimeoutMs, signal, waiting, random };
}

type WithoutTime<E> = E extends unknown ? Omit<E, "at"> : never;

/** What decides which tools are shown when there are too many. */
function aboutOf({ agent, roles = [], instructions, prompt }: StartedEntry): string {
  return [agent, ...roles, prompt.slice(0, 2_000), instructions.slice(0, 1_000)].join("\n");
}

function isArguments(input: unknown): input is Record<string, unknown> {
  return typeof input === "object" && input !== null && !Array.isArray(input);
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

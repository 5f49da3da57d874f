import type { Bus } from "@switchyard/bus/connect";
import { publishLive } from "@switchyard/bus/publish";
import { listTools } from "@switchyard/contracts/mcp";
import { isError } from "@switchyard/contracts/errors";
import { runLive } from "@switchyard/contracts/run-events";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ActiveRun } from "./active-run.ts";
import { boundedParallel } from "../tools/bounded-parallel.ts";
import { conversationOf } from "../model/conversation.ts";
import { CancelRequested, HandOver, pause, Suspended, TimeOver } from "./interruption.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import type { RunnerMetrics } from "../metrics.ts";
import { callModel, type ModelAnswer } from "../model/model-call.ts";
import { ModelFailure, retryDelay } from "../model/model-failure.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import { deadlineOf, nextAction } from "./next-action.ts";
import { isOutage, type Peers } from "../peers.ts";
import type { CallState } from "../journal/replay.ts";
import type { RunTokenKeeper } from "./run-token-keeper.ts";
import { callServerTool, callSkillTool, failure, type CallOutcome } from "../tools/tool-call.ts";
import { routeOf, selectTools, type ToolCatalogue } from "../tools/tool-catalogue.ts";

const PARALLEL_CALLS = 8;
/** After so long the tools are asked for again at the next step: servers come and go. */
const CATALOGUE_AGE_MS = 30_000;

export interface DriverOptions {
  readonly run: ActiveRun;
  readonly bus: Bus;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly tokens: RunTokenKeeper;
  readonly metrics: RunnerMetrics;
  readonly modelIdleTimeoutMs: number;
  /** Aborts when this runner wants to stop: the run is handed over at the next step boundary. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}

/**
 * Drives a run until it has ended. Each turn of the loop asks the journal what is next, does it and
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
  #model: LanguageModelV4 | null = null;
  #catalogue: { readonly tools: ToolCatalogue; readonly at: number } | null = null;

  constructor(options: DriverOptions, signal: AbortSignal) {
    this.#options = options;
    this.#run = options.run;
    this.#signal = signal;
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
    for (const { part, dispatched } of open) {
      const fate = dispatched ? "in flight; it may have had its effect" : "not sent";
      const said = `the run was cancelled while this call was ${fate}`;
      await this.#record(failure(part.callId, "cancelled", said));
    }
    await this.#record({ kind: "cancelled" });
  }

  async #callModel(step: number): Promise<void> {
    const { metrics, now } = this.#options;
    const startedAt = now();
    let answer: ModelAnswer;
    try {
      const model = await this.#openModel();
      const { tools } = await this.#tools();
      answer = await this.#askModel(model, step, tools);
    } catch (error) {
      if (!(error instanceof ModelFailure || error instanceof ModelUnusable)) throw error;
      await this.#record({ kind: "failed", failure: { code: error.code, message: error.message } });
      return;
    }
    const durationMs = Math.max(0, now() - startedAt);
    const [provider = ""] = this.#run.state.started.model.split("/");
    metrics.modelSeconds.observe({ provider }, durationMs / 1_000);
    await this.#record({ kind: "model-responded", step, ...answer, durationMs });
    metrics.steps.inc();
  }

  async #openModel(): Promise<LanguageModelV4> {
    const { model, plan, input } = this.#run.state.started;
    this.#model ??= await this.#options.models.open(model, { plan, input });
    return this.#model;
  }

  /** Asks until there is an answer or a failure that stands; pauses between attempts may be cut short by a stop. */
  async #askModel(
    model: LanguageModelV4,
    step: number,
    tools: ToolCatalogue,
  ): Promise<ModelAnswer> {
    const { bus, modelIdleTimeoutMs, random, stopping } = this.#options;
    const { state } = this.#run;
    const { runId, instructions, temperature } = state.started;
    const waiting = AbortSignal.any([this.#signal, stopping]);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await callModel({
          model,
          instructions,
          messages: conversationOf(state),
          tools: tools.offered,
          temperature,
          callIdOf: (index) => `${runId}:${step}:${index}`,
          idleTimeoutMs: modelIdleTimeoutMs,
          signal: this.#signal,
          onDelta: (delta) => publishLive(bus, runLive, { runId }, { runId, step, delta }),
        });
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        const delayMs = retryDelay(error, attempt, random());
        if (delayMs === null) throw error;
        await pause(delayMs, waiting);
      }
    }
  }

  async #callTools(calls: readonly CallState[]): Promise<void> {
    const { tools } = await this.#tools();
    await boundedParallel(calls, PARALLEL_CALLS, async (call) => {
      this.#throwIfStopping();
      this.#signal.throwIfAborted();
      const outcome = await this.#callTool(call, tools);
      await this.#record(outcome);
      this.#options.metrics.toolCalls.inc({ outcome: outcomeLabel(outcome) });
    });
  }

  async #callTool({ part, dispatched }: CallState, tools: ToolCatalogue): Promise<CallOutcome> {
    const { callId, tool, input } = part;
    const { state } = this.#run;
    const { bus, peers, tokens, now } = this.#options;
    const { runId, catalogue, onUnknownOutcome } = state.started;
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
    if (route.to === "skill") return callSkillTool({ callId, args: input, catalogue }, caller);
    if (!dispatched) await this.#record({ kind: "tool-dispatched", callId });
    const { server, isListed } = route;
    const repeatsUnknown = onUnknownOutcome === "retry";
    return callServerTool({ callId, server, tool, args: input, isListed, repeatsUnknown }, caller);
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
      const { tools } = await this.#orSuspend(() => peers.listTools({ token }, call));
      return selectTools({ tools, layers: toolLayers, skills: catalogue.map(({ name }) => name) });
    } catch (error) {
      if (!isError(error, listTools, "invalid_token")) throw error;
      tokens.refuse(token);
      throw new Suspended("the broker refused the run token", { cause: error });
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

type WithoutTime<E> = E extends unknown ? Omit<E, "at"> : never;

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

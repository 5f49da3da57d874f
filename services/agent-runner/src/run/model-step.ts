import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import { runToolsOf } from "../core/run-tools.ts";
import type { EntryOf } from "../core/journal-entry.ts";
import { reserveStep, tooMuchForRun } from "./reserve-step.ts";
import { addCost, addUsage, type Spent } from "../core/model-price.ts";
import { askStep, askSummary, compactionFor, needOf } from "./ask-step.ts";
import { CandidateCaller, type StepAnswer } from "./ask-candidates.ts";
import { saidBefore } from "../core/conversation.ts";
import { ModelFailure } from "../model/model-failure.ts";
import type { CallOutcome } from "../core/call-outcome.ts";
import type { OfferedTool, ToolCatalogue } from "../core/tool-catalogue.ts";
import type { ToolLister } from "./tool-lister.ts";
import { newPrints, type ToolPrints } from "../core/tool-print.ts";
import { consequencesOf } from "../core/consequences.ts";
import type { RunContext } from "../context/run-context.ts";
import { liveSteps, type StepListener } from "../journal/live-text.ts";

interface StepParts {
  readonly tools: ToolLister;
  /** The number of calls of one answer that are begun together. */
  readonly atOnce: number;
  /** Called for each call that the answer alone has ended. */
  readonly noteOutcome: (outcome: CallOutcome) => void;
}

/** Thrown when broken answers have used up the rest of the run's limit. */
class LimitReached extends Error {
  override readonly name = "LimitReached";
  readonly reached: ReachedLimit;

  constructor(reached: ReachedLimit) {
    super(`answers that broke off used up ${reached.limit}`);
    this.reached = reached;
  }
}

const NOTHING_MORE = { tokens: 0, costUsd: 0 };

/** The model steps of a run: calls the model within the run's limits, and applies what follows from each answer at once. */
export class ModelStep {
  readonly #context: RunContext;
  readonly #parts: StepParts;
  readonly #candidates: CandidateCaller;
  readonly #live: StepListener;
  /** Tools of the last request that the model's provider does not accept. */
  #refused: readonly string[] = [];
  /** The last step whose request was made smaller after a refusal, which is allowed once in a step. */
  #compactedAt: number | null = null;

  constructor(context: RunContext, parts: StepParts) {
    this.#context = context;
    this.#parts = parts;
    this.#live = liveSteps(context.bus, context.run.state.started);
    this.#candidates = new CandidateCaller(context, {
      onDiscarded: (use) => this.#discard(use),
      onToolsLeftOut: (names) => (this.#refused = names),
    });
  }

  /** Calls the model, or first compacts the conversation; returns the limit that forbids the call, else null. */
  async take(step: number): Promise<(ReachedLimit & { readonly until: string | null }) | null> {
    const { run, models, ledger } = this.#context;
    const tools = await this.#parts.tools.tools();
    const isCut = tools.leftOut.length > 0;
    const offered = [...runToolsOf(run.state, { isCut }), ...tools.offered];
    const reached = await reserveStep(this.#context, () => needOf(run.state, offered, models));
    if (reached !== null) return reached;
    try {
      const shown = newPrints(run.state.shownTools, offered, tools);
      await this.#ask({ step, offered, shown, tools });
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error;
      return { ...error.reached, until: null };
    } finally {
      // The count may be left out: the next reservation or the end of the run counts the same, and the reservation expires.
      await ledger.count(run.state, run.hold).catch(() => {});
    }
    return null;
  }

  async #ask(turn: {
    readonly step: number;
    readonly offered: readonly OfferedTool[];
    readonly shown: ToolPrints;
    readonly tools: ToolCatalogue;
  }): Promise<void> {
    const { step, offered, shown, tools } = turn;
    const { run, metrics, now } = this.#context;
    const startedAt = now();
    const heard = run.state.messages.length;
    if (await this.#compact(offered)) return; // the step itself is next
    this.#refused = [];
    const answer = await this.#askOrCompact(step, offered);
    if (answer === null) return;
    await this.#noteRefused(offered.length, tools.leftOut);
    const durationMs = Math.max(0, now() - startedAt);
    const [provider = ""] = answer.model.split("/");
    metrics.modelSeconds.observe({ provider }, durationMs / 1_000);
    const known = {
      ...(heard === 0 ? {} : { heard }),
      ...(Object.keys(shown).length === 0 ? {} : { shown }),
    };
    const at = new Date(now()).toISOString();
    const entry = { kind: "model-responded" as const, at, step, ...answer, durationMs, ...known };
    await run.discarded.record((field) => this.#follow({ ...entry, ...field }, tools));
    metrics.steps.inc();
    this.#countUse(answer);
  }

  /** Each tool that the provider does not accept is reported once. */
  async #noteRefused(offered: number, hidden: readonly string[]): Promise<void> {
    const { run } = this.#context;
    const refused = this.#refused.filter((name) => !run.state.leftOut.includes(name));
    if (refused.length === 0) return;
    const leftOut = [...hidden, ...this.#refused];
    await run.note({
      kind: "tools-left-out",
      offered: Math.max(0, offered - this.#refused.length),
      leftOut,
    });
  }

  /** The answer; null when the request was larger than the model's window and has become smaller. Rejects as `askStep` does. */
  async #askOrCompact(step: number, offered: readonly OfferedTool[]): Promise<StepAnswer | null> {
    try {
      return await this.#askModels(step, offered, { isTooLongFinal: false });
    } catch (error) {
      if (!(error instanceof ModelFailure) || error.code !== "context_too_long") throw error;
    }
    // The registry has learned the window, so the results of tools are cut shorter, too.
    if (this.#compactedAt !== step && (await this.#compact(offered))) {
      this.#compactedAt = step;
      return null;
    }
    return this.#askModels(step, offered, { isTooLongFinal: true });
  }

  #askModels(
    step: number,
    tools: readonly OfferedTool[],
    { isTooLongFinal }: { readonly isTooLongFinal: boolean },
  ): Promise<StepAnswer> {
    const { state } = this.#context.run;
    return askStep(this.#candidates, state, { step, tools, isTooLongFinal, live: this.#live });
  }

  /** Summarises the conversation when the next request would nearly fill the model's window; false when it would not. */
  async #compact(offered: readonly OfferedTool[]): Promise<boolean> {
    const { run, models } = this.#context;
    const compaction = compactionFor(run.state, offered, models);
    if (compaction === null) return false;
    const { upTo } = compaction;
    const ofSession = saidBefore(run.state).length > 0 ? { isOfSession: true } : {};
    const summary = await askSummary(this.#candidates, run.state, compaction);
    const entry = { kind: "compacted" as const, upTo, ...ofSession, ...summary };
    await run.discarded.record((field) => run.note({ ...entry, ...field }));
    this.#countUse(summary);
    return true;
  }

  /** Records the answer with everything that follows from it alone. */
  async #follow(answer: EntryOf<"model-responded">, tools: ToolCatalogue): Promise<void> {
    const { run, stopping, now } = this.#context;
    const { tools: lister, atOnce, noteOutcome } = this.#parts;
    // A call that is sent later uses the list of tools of that time.
    const isSentNow = lister.isCurrent(tools) && !stopping.aborted;
    const circumstances = { tools, now: now(), atOnce: isSentNow ? atOnce : 0 };
    const { results, dispatched, end } = consequencesOf(run.state, answer, circumstances);
    await run.record(answer, ...results, ...dispatched, ...(end === null ? [] : [end]));
    for (const result of results) noteOutcome(result);
  }

  /** Counts the usage of an answer that broke off, also against the limits: else each further attempt could exceed them. */
  #discard(use: Spent): void {
    const { run } = this.#context;
    run.discarded.add(use);
    this.#countUse(use);
    const { limits, usage, knownCostUsd } = run.state;
    const { usage: unsaid, costUsd } = run.discarded.sum ?? use;
    const used = addUsage(usage, unsaid);
    const cost = addCost(knownCostUsd, costUsd ?? 0) ?? 0;
    const reached = tooMuchForRun({ limits, usage: used, knownCostUsd: cost }, NOTHING_MORE);
    if (reached !== null) throw new LimitReached(reached);
  }

  #countUse({ usage, costUsd }: { readonly usage: Usage; readonly costUsd: number | null }): void {
    const { metrics } = this.#context;
    metrics.tokens.inc({ direction: "input" }, usage.inputTokens);
    metrics.tokens.inc({ direction: "output" }, usage.outputTokens);
    metrics.cachedTokens.inc({ use: "read" }, usage.cacheReadTokens ?? 0);
    metrics.cachedTokens.inc({ use: "write" }, usage.cacheWriteTokens ?? 0);
    metrics.costUsd.inc(costUsd ?? 0);
  }
}

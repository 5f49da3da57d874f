import type { ReachedLimit } from "@switchyard/contracts/run-waits";
import type { RunContext } from "../context/run-context.ts";
import type { RunState } from "../core/run-state.ts";
import { pause, Suspended } from "../signals/interruption.ts";
import type { StepNeed } from "../limits/team-ledger.ts";

/** What a model call is taken to need: its request, and room for an answer. */
export interface CallNeed {
  readonly request: StepNeed;
  readonly answer: StepNeed;
}

type BudgetContext = Pick<RunContext, "run" | "ledger" | "waiting" | "random">;

/** As long as other runs of the team hold the rest, the run waits here; then it goes back to the queue. */
const LONGEST_WAIT_MS = 30_000;
const POLL_MS = 500;

/** What one run may still use up: reserved before each model call, and settled by what the journal says. */
export class StepBudget {
  readonly #context: BudgetContext;

  constructor(context: BudgetContext) {
    this.#context = context;
  }

  /**
   * Reserves what the next model call needs. Resolves with the limit that leaves too little for it, or with null.
   * `needOf` is asked only when there is a limit to compare with.
   */
  async reserve(
    needOf: () => CallNeed,
  ): Promise<(ReachedLimit & { readonly until: string | null }) | null> {
    const { run, ledger, waiting, random } = this.#context;
    const { limits, started } = run.state;
    const isTeamLimited = await ledger.isLimited(started.requester);
    if (!isTeamLimited && limits.maxTokens === undefined && limits.maxCostUsd === undefined)
      return null;
    const need = needOf();
    const own = tooMuchForRun(run.state, need.request);
    if (own !== null) return { ...own, until: null };
    if (!isTeamLimited) return null;
    const whole = {
      tokens: need.request.tokens + need.answer.tokens,
      costUsd: need.request.costUsd + need.answer.costUsd,
    };
    for (let waitedMs = 0; ; waitedMs += POLL_MS) {
      const answer = await ledger.hold(run.state, run.hold, whole);
      if (answer.outcome === "held") return null;
      if (answer.outcome === "exceeded") return { ...answer.reached, until: answer.until };
      if (waitedMs >= LONGEST_WAIT_MS)
        throw new Suspended(`other runs of ${started.requester} hold what is left of its limit`);
      await pause(POLL_MS * (0.5 + random()), waiting);
    }
  }

  /**
   * Counts what the call has used. It may be left out: the next reservation or the end of the run counts
   * the same, and what is held is forgotten after a while.
   */
  async settle(): Promise<void> {
    const { run, ledger } = this.#context;
    await ledger.count(run.state, run.hold).catch(() => {});
  }
}

/**
 * A request that does not fit any more is not made. How long the answer will be nobody knows, so a run goes
 * beyond a limit by one answer at most.
 */
export function tooMuchForRun(
  { limits, usage, knownCostUsd }: Pick<RunState, "limits" | "usage" | "knownCostUsd">,
  { tokens, costUsd }: StepNeed,
): ReachedLimit | null {
  const { maxTokens, maxCostUsd } = limits;
  if (maxTokens !== undefined && usage.inputTokens + usage.outputTokens + tokens > maxTokens)
    return { limit: "maxTokens", value: maxTokens };
  if (maxCostUsd !== undefined && knownCostUsd + costUsd > maxCostUsd)
    return { limit: "maxCostUsd", value: maxCostUsd };
  return null;
}

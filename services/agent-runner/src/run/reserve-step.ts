import { pause } from "@switchyard/contracts/timeouts";
import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { RunContext } from "../context/run-context.ts";
import type { RunState } from "../core/run-state.ts";
import { Suspended } from "../core/interruption.ts";
import type { StepNeed } from "../model/team-ledger.ts";

/** The expected use of a model call: by its request, and by the answer. */
export interface CallNeed {
  readonly request: StepNeed;
  readonly answer: StepNeed;
}

type BudgetContext = Pick<RunContext, "run" | "ledger" | "waiting" | "random">;

/** While other runs of the team hold the rest, the run waits here for this time; then it returns to the queue. */
const LONGEST_WAIT_MS = 30_000;
const POLL_MS = 500;

/**
 * Reserves the expected use of the next model call. Resolves with the limit that leaves too little for it, or with null.
 * `needOf` is called only when there is a limit to compare with.
 */
export async function reserveStep(
  { run, ledger, waiting, random }: BudgetContext,
  needOf: () => CallNeed,
): Promise<(ReachedLimit & { readonly until: string | null }) | null> {
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
 * Returns the limit that a request would exceed; such a request is not sent. The length of the answer cannot be predicted, so a
 * run exceeds a limit by one answer at most.
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

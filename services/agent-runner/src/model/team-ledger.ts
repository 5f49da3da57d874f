import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { Redis } from "@switchyard/service/redis";
import { defineScripts } from "../journal/redis-scripts.ts";
import type { Hold } from "../journal/run-claim.ts";
import type { RunState } from "../core/run-state.ts";
import { COUNT, HOLD } from "./team-ledger-scripts.ts";
import type { TeamLimit, TeamLimitBook } from "./team-limits-file.ts";
import { windowOf } from "./team-window.ts";

/** The expected use of a model call; the cost is computed from the price, and 0 when the models file has no price. */
export interface StepNeed {
  readonly tokens: number;
  readonly costUsd: number;
}

export type TeamAnswer =
  | { readonly outcome: "held" }
  /** Other runs of the team have reserved the rest, and may release some of it. */
  | { readonly outcome: "busy" }
  | { readonly outcome: "exceeded"; readonly reached: ReachedLimit; readonly until: string };

/** The use of the runs of each team, for all runners together. Its methods reject with StoreError. */
export interface TeamLedger {
  /** True when the use of this user's runs is counted. */
  isLimited(team: string): Promise<boolean>;
  /** Reserves the expected use of the next model call, replacing the run's earlier reservation. */
  hold(state: RunState, hold: Hold, need: StepNeed): Promise<TeamAnswer>;
  /** Counts the run's use so far, and releases its reservation. Idempotent. */
  count(state: RunState, hold: Hold): Promise<void>;
}

/** The reservation of a run whose runner died expires after this time, even if no runner takes the run over. */
const HOLD_MS = 30 * 60_000;
/** Longer than a month, and longer than a run is retained that waits at a monthly limit. */
const KEEP_SECONDS = 45 * 86_400;

export function openTeamLedger(
  redis: Redis,
  { book, now }: { readonly book: TeamLimitBook; readonly now: () => number },
): TeamLedger {
  const run = defineScripts(redis, { yardTeamHold: HOLD, yardTeamCount: COUNT });
  return {
    isLimited: async (team) => (await book.limitOf(team)) !== null,

    async hold(state, hold, need) {
      const team = state.started.requester;
      const limit = await book.limitOf(team);
      if (limit === null) return { outcome: "held" };
      const window = windowOf(limit.per, now());
      const [outcome, what] = await run("yardTeamHold", keysOf(team, hold, window.name), [
        ...usedOf(state, hold),
        Math.ceil(need.tokens),
        billionths(need.costUsd),
        limit.tokens ?? 0,
        billionths(limit.costUsd ?? 0),
        HOLD_MS,
      ]);
      if (outcome === "held" || outcome === "busy") return { outcome };
      const reached = reachedOf(team, limit, what === "cost" ? "costUsd" : "tokens");
      return { outcome: "exceeded", reached, until: window.endsAt };
    },

    async count(state, hold) {
      const team = state.started.requester;
      const limit = await book.limitOf(team);
      if (limit === null) return;
      const window = windowOf(limit.per, now());
      await run("yardTeamCount", keysOf(team, hold, window.name), usedOf(state, hold));
    },
  };
}

function reachedOf(name: string, limit: TeamLimit, what: "tokens" | "costUsd"): ReachedLimit {
  return { limit: what, value: limit[what] ?? 0, team: { name, per: limit.per } };
}

function usedOf({ usage, knownCostUsd }: RunState, { runId, epoch }: Hold): (string | number)[] {
  const tokens = usage.inputTokens + usage.outputTokens;
  return [runId, epoch, tokens, billionths(knownCostUsd), KEEP_SECONDS, KEEP_SECONDS];
}

function keysOf(team: string, { runId }: Hold, window: string): string[] {
  const stem = `yard:team:{${team}}`;
  return [`${stem}:spend:${window}`, `${stem}:run:${runId}`, `${stem}:held`, `${stem}:amounts`];
}

function billionths(usd: number): number {
  return Math.round(usd * 1e9);
}

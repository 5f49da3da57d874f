import { CallerName } from "@switchyard/contracts/ids";
import { openSettingsFile } from "@switchyard/service/settings-file";
import type { Log } from "@switchyard/service/log";
import { z } from "zod";

/** The limits of all runs of one NATS user together in an hour, a day or a month (UTC). */
const TeamLimit = z
  .strictObject({
    per: z.enum(["hour", "day", "month"]),
    /** Input and output tokens. */
    tokens: z.int().min(1).max(1_000_000_000_000).optional(),
    /** Counts the model calls whose price is in the models file. */
    costUsd: z.number().positive().max(1_000_000).optional(),
  })
  .refine(({ tokens, costUsd }) => tokens !== undefined || costUsd !== undefined, {
    error: "must name tokens, costUsd or both",
  });
export type TeamLimit = z.infer<typeof TeamLimit>;

/** `*` applies to each user that is not named, separately. */
const TeamLimitsFile = z.strictObject({
  teams: z.record(z.union([CallerName, z.literal("*")]), TeamLimit),
});

/** The limits of teams at this moment. */
export interface TeamLimitBook {
  /** Null: the team has no limit. */
  limitOf(team: string): Promise<TeamLimit | null>;
}

export const NO_TEAM_LIMITS: TeamLimitBook = { limitOf: () => Promise.resolve(null) };

/** Reads the file, and again when it has changed, so a raised limit needs no restart. Rejects with a StartError when it cannot be used. */
export async function openTeamLimits(
  path: string,
  clock: { readonly log: Log; readonly now: () => number },
): Promise<TeamLimitBook> {
  const current = await openSettingsFile(path, TeamLimitsFile, {
    name: "team limits",
    hint: "correct the file of team limits; the README of the agent runner describes it",
    ...clock,
  });
  return {
    async limitOf(team) {
      const { teams } = await current();
      return teams[team] ?? teams["*"] ?? null;
    },
  };
}

import { readFile, stat } from "node:fs/promises";
import { CallerName } from "@switchyard/contracts/ids";
import { StartError } from "@switchyard/service/start-error";
import type { Log } from "@switchyard/service/log";
import { z } from "zod";

/** What all runs of one NATS user may use up together in an hour, a day or a month (UTC). */
const TeamLimit = z
  .strictObject({
    per: z.enum(["hour", "day", "month"]),
    /** Input and output tokens. */
    tokens: z.int().min(1).max(1_000_000_000_000).optional(),
    /** Of model calls whose price is known. */
    costUsd: z.number().positive().max(1_000_000).optional(),
  })
  .refine(({ tokens, costUsd }) => tokens !== undefined || costUsd !== undefined, {
    error: "must name tokens, costUsd or both",
  });
export type TeamLimit = z.infer<typeof TeamLimit>;

/** `*` is for each user that is not named, each for itself. */
const TeamLimitsFile = z.strictObject({
  teams: z.record(z.union([CallerName, z.literal("*")]), TeamLimit),
});
type TeamLimits = z.infer<typeof TeamLimitsFile>["teams"];

/** The limits of teams at this moment. */
export interface TeamLimitBook {
  /** Null: the team may use up what it wants. */
  limitOf(team: string): Promise<TeamLimit | null>;
}

export const NO_TEAM_LIMITS: TeamLimitBook = { limitOf: () => Promise.resolve(null) };

/** The file is looked at again after so long: a raised limit needs no restart. */
const LOOK_AGAIN_MS = 500;
const HINT = "correct the file of team limits; the README of the agent runner describes it";

/**
 * Reads the file, and again when it has changed. Rejects with a StartError when it cannot be used; a change that
 * cannot be used is logged, and what was read before stays in force.
 */
export async function openTeamLimits(
  path: string,
  { log, now }: { readonly log: Log; readonly now: () => number },
): Promise<TeamLimitBook> {
  let teams = await readTeamLimits(path);
  let version = await versionOf(path);
  let lookedAt = now();
  const lookAgain = async (): Promise<void> => {
    const current = await versionOf(path);
    if (current === version) return;
    version = current;
    try {
      teams = await readTeamLimits(path);
      log.info({ path, teams: Object.keys(teams).length }, "team limits read again");
    } catch (err) {
      log.warn({ path, err }, "team limits not read again");
    }
  };
  return {
    async limitOf(team) {
      if (now() - lookedAt >= LOOK_AGAIN_MS) {
        lookedAt = now();
        await lookAgain();
      }
      return teams[team] ?? teams["*"] ?? null;
    },
  };
}

async function readTeamLimits(path: string): Promise<TeamLimits> {
  let json: unknown;
  try {
    json = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new StartError(`${path} cannot be read: ${String(cause)}`, { hint: HINT, cause });
  }
  const parsed = TeamLimitsFile.safeParse(json);
  if (parsed.success) return parsed.data.teams;
  const problems = parsed.error.issues.map(
    ({ path: where, message }) => `${where.join(".") || "(top)"}: ${message}`,
  );
  throw new StartError(`${path} has errors: ${problems.join("; ")}`, { hint: HINT });
}

/** A file that is replaced by a link, as Kubernetes does, changes at least one of these. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino}:${size}:${mtimeMs}`;
  } catch {
    return "missing";
  }
}

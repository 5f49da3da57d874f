import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { ServiceError } from "@switchyard/contracts/errors";
import { RunId } from "@switchyard/contracts/ids";
import { getRun, listRuns } from "@switchyard/contracts/runs";
import { CliError } from "./cli-error.ts";

/** What stands for the run that began last. */
const LAST = "last";
/** How many of the newest runs the beginning of an id is looked for in. */
const LOOKED_AT = 200;
/** An id that a command line made, and one with its owner, are whole: nothing is looked up. */
const WHOLE = /^[0-9A-HJKMNP-TV-Z]{26}$|~/;

/** True for what can be a run's id, the beginning of one, or `last`. */
export function checkRunName(text: string): void {
  if (RunId.safeParse(text).success) return;
  throw new CliError("usage", `${JSON.stringify(text)} is not a valid run id`, {
    hint: "see the runs with: ./yard runs list; the last one is: last",
  });
}

/**
 * The id of the run that somebody named: by its whole id, by `last`, or by a beginning that only one of the newest runs
 * has. What is not found is returned as it is, because a run may not have begun yet.
 */
export async function namedRun(bus: Bus, text: string): Promise<string> {
  checkRunName(text);
  if (WHOLE.test(text)) return text;
  const runs = client(bus, { getRun, listRuns });
  if (text === LAST) {
    const [newest] = (await runs.listRuns({ limit: 1 })).runs;
    if (newest !== undefined) return newest.runId;
    throw new CliError("unknown_run", "there is no run yet", {
      hint: 'start one with: ./yard run demo "…"',
    });
  }
  if (await isThere(() => runs.getRun({ runId: text }))) return text;
  const { runs: newest } = await runs.listRuns({ limit: LOOKED_AT });
  const ids = newest
    .map(({ runId }) => runId)
    .filter((id) => id.startsWith(text) || id.split("~").at(-1)?.startsWith(text) === true);
  return onlyOne(ids, { text, what: "run", list: "./yard runs list" }) ?? text;
}

/** The one id; null when there is none; a usage error when there are several. */
export function onlyOne(
  ids: readonly string[],
  { text, what, list }: { readonly text: string; readonly what: string; readonly list: string },
): string | null {
  const [first, ...others] = ids;
  if (first === undefined) return null;
  if (others.length === 0) return first;
  const shown = ids.slice(0, 5).join(", ");
  throw new CliError("usage", `${ids.length} ${what}s begin with ${text}: ${shown}`, {
    hint: `write more of it; see all with: ${list}`,
  });
}

async function isThere(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "unknown_run") return false;
    throw error;
  }
}

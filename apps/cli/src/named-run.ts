import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { RunId } from "@switchyard/contracts/ids";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { CliError } from "./cli-error.ts";
import { beginningOf } from "./shown-name.ts";

/** The name for the run that began last. */
const LAST = "last";
/** The beginning of an id is searched for in this many of the newest runs. */
const LOOKED_AT = 200;
/** The beginning of an id that a command line made. Other ids belong to their clients, and are whole: no lookup is needed. */
const BEGINNING = /^(?:[a-z0-9-]+~)?[0-9A-HJKMNP-TV-Z]{3,25}$/;

/** True for what can be a run's id, the beginning of one, or `last`. */
export function checkRunName(text: string): void {
  if (RunId.safeParse(beginningOf(text) ?? text).success) return;
  throw new CliError("usage", `${JSON.stringify(text)} is not a valid run id`, {
    hint: "see the runs with: ./yard runs list; the last one is: last",
  });
}

/**
 * Resolves a run's id: by its whole id, by `last`, or by a beginning that only one of the newest runs has. An unknown id is
 * returned unchanged, because the run may not have begun yet.
 */
export async function namedRun(bus: Bus, text: string): Promise<string> {
  checkRunName(text);
  const runs = client(bus, { listRuns });
  if (text === LAST) {
    const [newest] = (await runs.listRuns({ limit: 1 })).runs;
    if (newest !== undefined) return newest.runId;
    throw new CliError("unknown_run", "there is no run yet", {
      hint: 'start one with: ./yard run demo "…"',
    });
  }
  const beginning = beginningOf(text) ?? text;
  if (beginning === text && !BEGINNING.test(text)) return text;
  const { runs: newest } = await runs.listRuns({ limit: LOOKED_AT });
  const ids = newest
    .map(({ runId }) => runId)
    .filter((id) => id.startsWith(beginning) || id.split("~").at(-1)?.startsWith(beginning));
  const found = onlyOne(ids, { text, what: "run", list: "./yard runs list" });
  if (found !== null || beginning === text) return found ?? text;
  throw new CliError("unknown_run", `none of the newest runs begins with ${beginning}`, {
    hint: "see the runs with: ./yard runs list",
  });
}

/** Returns the only id, or null when there is none. Throws a usage error when there are several. */
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

import type { DeferredCommands } from "../journal/deferred-commands.ts";
import { keptMember, type ParkedRuns } from "../journal/parked-runs.ts";
import { mayControl } from "../journal/run-access.ts";
import type { DeadLetters, DeadText, FoundLetter } from "./dead-letters.ts";

export interface RedriveParts {
  readonly letters: DeadLetters;
  readonly kept: DeferredCommands;
  readonly parked: ParkedRuns;
  readonly now: () => number;
}

/** Finds a command that the caller may send again; null when there is none. */
export async function findLetter(
  { letters }: Pick<RedriveParts, "letters">,
  { letterId, caller }: { readonly letterId: string; readonly caller: string },
): Promise<FoundLetter | null> {
  const found = await letters.find(letterId);
  if (found === null) return null;
  const requester = found.isSent ? found.caller : found.letter.caller;
  return mayControl(caller, { requester }) ? found : null;
}

/**
 * Stores a dead command among the deferred commands and schedules it for the sweeper, which sends it again in the name of its
 * sender. Doing it twice, at once or after a crash half-way, sends the same command twice, which makes one run. Returns why the
 * command cannot be stored, or null when it will be sent.
 */
export async function redrive(
  { letters, kept, parked, now }: RedriveParts,
  { letter, text }: Extract<FoundLetter, { isSent: false }> & { readonly text: DeadText },
): Promise<string | null> {
  const { runId } = letter;
  const redrivenAt = new Date(now()).toISOString();
  const { digest, command } = text;
  const keeping = await kept.keep({ runId, digest }, { ...command, redrivenAt });
  if (!keeping.kept) return keeping.why;
  await parked.lookAgain(keptMember(runId), now());
  await letters.takeOff(letter);
  return null;
}

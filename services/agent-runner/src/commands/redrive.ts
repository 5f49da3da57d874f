import type { KeptCommands } from "../journal/kept-commands.ts";
import { keptMember, type ParkedRuns } from "../journal/parked-runs.ts";
import { mayControl } from "../journal/run-access.ts";
import type { DeadLetters, DeadText, FoundLetter } from "./dead-letters.ts";

export interface RedriveParts {
  readonly letters: DeadLetters;
  readonly kept: KeptCommands;
  readonly parked: ParkedRuns;
  readonly now: () => number;
}

/** A command that its reader may have sent again; null where there is none for it. */
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
 * Puts a dead command where commands lie that could not become runs when they came, and tells the sweeper, which brings it back in the name
 * of its sender. Done twice, at once or after a crash half-way, it is the same command twice, which is the same run. Gives why it cannot be kept
 * there; null when it is on its way.
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

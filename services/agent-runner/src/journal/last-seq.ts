import { lastMessageId } from "@switchyard/bus/last-event";
import type { Bus } from "@switchyard/bus/bus";
import { runTokens } from "@switchyard/contracts/ids";
import { allContracts, isEvent } from "@switchyard/contracts/registry";

const OF_RUNS = "yard.evt.run.{owner}.{runId}.";
const NAMES = allContracts
  .filter((contract) => isEvent(contract) && contract.subject.startsWith(OF_RUNS))
  .map(({ subject }) => subject.slice(OF_RUNS.length));

/** The number of the last event of a run that the stream has; 0: it has none. */
export async function lastSeqOf(
  bus: Bus,
  { runId, requester }: { readonly runId: string; readonly requester: string },
): Promise<number> {
  const tokens = runTokens(runId, requester);
  const below = `yard.evt.run.${tokens.owner}.${tokens.runId}`;
  const last = await lastMessageId(bus, `${below}.*`);
  if (last === null) return 0;
  const seq = seqIn(last, runId);
  if (seq > 0) return seq;
  // The last message may be, for example, the refusal of a command about the run, which is not one of its own events.
  const ofEach = await Promise.all(NAMES.map((name) => lastMessageId(bus, `${below}.${name}`)));
  return Math.max(0, ...ofEach.map((messageId) => seqIn(messageId ?? "", runId)));
}

/** The message id of an event of the run itself, as {@link seqIn} reads it. */
export function messageIdOf(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}

/** 0 for an id that is not of the run's own events. */
function seqIn(messageId: string, runId: string): number {
  const prefix = messageIdOf(runId, 0).slice(0, -1);
  const number = messageId.startsWith(prefix) ? messageId.slice(prefix.length) : "";
  return /^\d+$/.test(number) ? Number(number) : 0;
}

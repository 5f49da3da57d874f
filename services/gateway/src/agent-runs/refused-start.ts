import type { Bus } from "@switchyard/bus/connect";
import { lastEventText } from "@switchyard/bus/last-event";
import { subjectOf } from "@switchyard/contracts/define";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { runRejected } from "@switchyard/contracts/run-events";
import { endOf, readRunEvent, type RunEnd } from "./run-event.ts";

/** How the start of a run was refused that nobody knows as a run; null when it was not, so that it still waits for a runner. */
export async function refusedStart(bus: Bus, runId: string): Promise<RunEnd | null> {
  const name = runId.slice(runId.indexOf("~") + 1);
  const subject = subjectOf<string>(runRejected, { owner: ownerOfRun(runId) ?? "", runId: name });
  const text = await lastEventText(bus, subject);
  if (text === null) return null;
  const event = readRunEvent({ subject, payload: JSON.parse(text) as unknown });
  return event === null ? null : endOf(event, false);
}

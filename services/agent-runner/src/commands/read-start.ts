import type { Delivery } from "@switchyard/bus/delivery";
import { forkRun, spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { controlledRun } from "../journal/run-access.ts";
import type { RunStore } from "../journal/run-store.ts";
import { notYoursToCopy, readFork, readSpawn } from "./derived-command.ts";
import { readCommand, wholeRunId, type Rejection, type RunCommand } from "./run-command.ts";

type Received = Extract<Delivery, { kind: "command" }>;

/** Reads a command that starts a run: a new one, a child, or a copy. */
export async function readStart(
  delivery: Received,
  { store }: { readonly store: Pick<RunStore, "load"> },
): Promise<
  | { readonly command: RunCommand }
  | { readonly rejection: Rejection; readonly runId: string | null }
> {
  const { contract, tokens } = delivery;
  if (contract.name === spawnRun.name) {
    const payload = spawnRun.payload.parse(delivery.payload);
    const parentJournal = await store.load(payload.parent.runId);
    const read = readSpawn(delivery, tokens["agent"] ?? "", { payload, parentJournal });
    return { ...read, runId: payload.runId };
  }
  if (contract.name === forkRun.name) {
    const payload = forkRun.payload.parse(delivery.payload);
    const named = tokens["runId"] ?? "";
    const runId = wantedRunId(delivery, payload.newRunId);
    const source = controlledRun(delivery.caller, named);
    // The reply does not reveal to its sender whether such a run exists.
    if (source === null) return { rejection: notYoursToCopy(named, delivery.caller), runId };
    const sourceJournal = await store.load(source);
    return { ...readFork(delivery, source, { payload, sourceJournal }), runId };
  }
  const payload = startRun.payload.parse(delivery.payload);
  const read = readCommand(delivery, tokens["agent"] ?? "", payload);
  return { ...read, runId: wantedRunId(delivery, payload.runId) };
}

function wantedRunId({ caller }: Received, named: string | null = null): string | null {
  return named === null ? null : wholeRunId(caller, named);
}

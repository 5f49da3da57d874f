// The claim of a run: the arguments and the reply of the script CLAIM. See `journal-scripts.ts`.

import { decodeEntry, type EncodedEntry } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { startOf } from "../core/replay.ts";
import { fixedColumns, movingColumns } from "../core/run-summary.ts";
import type { StartedEntry } from "../core/started-entry.ts";

/** The hold of a runner on a run: its writes are refused as soon as a newer epoch exists. */
export interface Hold {
  readonly runId: string;
  readonly epoch: string;
}

export type ClaimResult =
  /** There is no such run yet. */
  | { readonly outcome: "absent" }
  /** The run id belongs to another command. */
  | { readonly outcome: "taken" }
  /** There was such a run, which was deleted by request. */
  | { readonly outcome: "deleted" }
  /** A live runner works on it for another message of the same command. */
  | { readonly outcome: "busy"; readonly retryMs: number }
  | { readonly outcome: "ended" | "waiting"; readonly hold: Hold; readonly published: number }
  | {
      readonly outcome: "claimed";
      readonly hold: Hold;
      /** The number of claims of the run, including this one. */
      readonly attempts: number;
      /** The number of claims since its last progress, including this one. */
      readonly stalled: number;
      /** The number of releases to rest since then. */
      readonly rests: number;
      /** Events that are surely in the stream. */
      readonly published: number;
      /** The second entry of a run that was cancelled before it was made. */
      readonly cancel: JournalEntry | null;
    };

export interface ClaimRequest {
  readonly runId: string;
  /** Null claims the run of any command. */
  readonly commandDigest: string | null;
  readonly delivery: string;
  readonly started?: StartedEntry;
}

const NO_ENTRY: EncodedEntry = { json: "", blobs: new Map() };

/** Orders the arguments for CLAIM, without the last two; `first` is the encoded entry `started`. */
export function claimArguments(
  { commandDigest, delivery, started }: ClaimRequest,
  {
    holdMs,
    first = NO_ENTRY,
  }: { readonly holdMs: number; readonly first?: EncodedEntry | undefined },
): (string | number)[] {
  const columns = started === undefined ? [] : firstColumns(started);
  return [
    commandDigest ?? "",
    delivery,
    holdMs,
    first.json,
    started?.requester ?? "",
    columns.length,
    ...columns,
    ...[...first.blobs].flat(),
  ];
}

function firstColumns(started: StartedEntry): string[] {
  const state = startOf(started);
  return [...fixedColumns(state), ...movingColumns(state)];
}

export function readClaim(runId: string, reply: string[]): ClaimResult {
  const [outcome, first = "", second, third, fourth, cancel = "", rests = "0"] = reply;
  switch (outcome) {
    case "absent":
    case "taken":
    case "deleted":
      return { outcome };
    case "busy":
      return { outcome, retryMs: Number(first) };
    case "ended":
    case "waiting":
      return { outcome, hold: { runId, epoch: first }, published: Number(second) };
    case "claimed":
      return {
        outcome,
        hold: { runId, epoch: first },
        attempts: Number(second),
        stalled: Number(third),
        rests: Number(rests),
        published: Number(fourth),
        cancel: cancel === "" ? null : decodeEntry(cancel, new Map()),
      };
    default:
      throw new TypeError(`claim answered ${String(outcome)}`);
  }
}

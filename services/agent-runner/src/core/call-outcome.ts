import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import type { ServiceError } from "@switchyard/contracts/errors";
import type { EntryOf, WithoutTime } from "./journal-entry.ts";
import type { SkillRef } from "./answer-part.ts";
import { cutWithNote } from "./cut-with-note.ts";
import type { ToolNarrowing } from "./tool-narrowing.ts";

/** The maximum stored size of one result; a model sees a part of it at a time. */
export const KEPT_BYTES = 1_024 * 1_024;

/** The end of a call, as its journal entry without the time. */
export type CallOutcome = WithoutTime<
  EntryOf<"tool-completed"> | EntryOf<"tool-denied"> | EntryOf<"tool-failed">
>;

/** The entry of a call that waits from now on, without its time. */
export type Parked = WithoutTime<EntryOf<"tool-parked">>;

/** The result of one attempt at a call. */
export type CallStep = CallOutcome | Parked;

/** The outcome of a call that has a result. */
export function answered(
  callId: string,
  reply: {
    text: string;
    isError: boolean;
    decision?: EntryOf<"tool-completed">["decision"];
    durationMs?: number;
    replayed?: boolean;
    skill?: SkillRef;
    /** The tools that the run may call from then on. */
    narrowing?: ToolNarrowing;
    /** Tools that the call found. */
    found?: string[];
    /** Digests of their descriptions in the model's request. */
    shown?: Readonly<Record<string, string>>;
    /** Images, sounds and other files of the result. */
    files?: FilePart[];
  },
): CallOutcome {
  return {
    kind: "tool-completed",
    callId,
    text: cutWithNote(reply.text, KEPT_BYTES),
    textBytes: Buffer.byteLength(reply.text),
    isError: reply.isError,
    decision: reply.decision ?? null,
    durationMs: reply.durationMs ?? 0,
    replayed: reply.replayed ?? false,
    skill: reply.skill ?? null,
    ...(reply.narrowing === undefined ? {} : { narrowing: reply.narrowing }),
    ...(reply.found === undefined ? {} : { found: reply.found }),
    ...(reply.shown === undefined ? {} : { shown: { ...reply.shown } }),
    ...(reply.files === undefined || reply.files.length === 0 ? {} : { files: reply.files }),
  };
}

/** The outcome of a call that was never sent, because no provider could carry it out. */
export function failure(callId: string, code: string, message: string): CallOutcome {
  return { kind: "tool-failed", callId, code, message: cutWithNote(message, 4_096) };
}

export function failed(callId: string, error: ServiceError): CallOutcome {
  return failure(callId, error.code, error.message);
}

import { createHash } from "node:crypto";
import type { Change, JobRecord } from "@switchyard/project/jobs/job-record";
import { beginMessage, type DueSettings } from "./take-due.ts";

export interface TakenMessage {
  /** The same text is the same message. */
  readonly key: string;
  readonly input: string;
  /** The number of runs of the job that may be active. */
  readonly concurrency: number;
  readonly now: number;
}

export type MessageStep =
  | { readonly outcome: "begin"; readonly change: Change; readonly mark: string }
  /** `off`: the job is paused. */
  | { readonly outcome: "busy" | "repeated" | "off" };

/** Decides about a message for a job. */
export function takeMessage(
  record: JobRecord,
  { key, input, concurrency, now }: TakenMessage,
  settings: DueSettings,
): MessageStep {
  if (!record.job.enabled) return { outcome: "off" };
  const mark = createHash("sha256").update(key).digest("hex").slice(0, 24);
  const change = beginMessage(record, { mark, input, now }, settings);
  if (change === null) return { outcome: "repeated" };
  if (record.active.length >= concurrency) return { outcome: "busy" };
  return { outcome: "begin", change, mark };
}

/** Returns the id of the job whose run has this name, or null when no job began it. */
export function jobOfRun(name: string): string | null {
  const hex = /^(?:cron|trig)-([0-9a-f]{16})-/.exec(name)?.[1];
  return hex === undefined ? null : `job-${hex}`;
}

/** True for an event of a run that a message began: such an event begins no other run, or two triggers could start each other in a loop. */
export function isOfTriggeredRun(subject: string): boolean {
  const [yard, evt, noun, , name = ""] = subject.split(".");
  return yard === "yard" && evt === "evt" && noun === "run" && name.startsWith("trig-");
}

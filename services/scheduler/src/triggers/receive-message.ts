import { randomUUID } from "node:crypto";
import type { ForeignMessage } from "@switchyard/bus/foreign-messages";
import { fits } from "@switchyard/project/jobs/message-filter";
import { documentOf, fill } from "@switchyard/project/jobs/message-template";
import { skip } from "@switchyard/project/jobs/skip";
import type { DueSettings } from "../domain/take-due.ts";
import { isOfTriggeredRun, takeMessage } from "../domain/take-message.ts";
import type { JobStore } from "../store/job-store.ts";
import type { MessageTrigger } from "@switchyard/project/triggers/triggers-file";

export interface ReceiveParts extends DueSettings {
  readonly store: JobStore;
  readonly now: () => number;
  /** Something is due at once. */
  readonly onChange: () => void;
}

/**
 * `ignored`: it is not for the trigger. `off`: the trigger is paused. `repeated`: it has begun its run before. `busy`: as many runs as may be are under way. `unfit`:
 * no run can be made of it.
 */
export type Received =
  | { readonly outcome: "begun" | "ignored" | "off" | "repeated" | "busy" }
  | { readonly outcome: "unfit"; readonly reason: string };

const MOST_ATTEMPTS = 20;
const MOST_INPUT_CHARS = 32_768;

/** Begins the run of a message, at most once. Rejects with StoreError; then the same message can be received again. */
export async function receiveMessage(
  trigger: MessageTrigger,
  message: ForeignMessage,
  parts: ReceiveParts,
): Promise<Received> {
  const { subject, text, messageId, sequence } = message;
  if (isOfTriggeredRun(subject)) return { outcome: "ignored" };
  const document = documentOf(subject, text);
  if (!fits(document, trigger.when)) return { outcome: "ignored" };
  const input = fill(trigger.input, document, "input");
  if ("problem" in input) return unfit(input.problem);
  if (input.text.trim() === "") return unfit("input is empty for this message");
  if (input.text.length > MOST_INPUT_CHARS)
    return unfit(`input is longer than ${MOST_INPUT_CHARS} characters for this message`);
  const named = trigger.dedupe === null ? null : fill(trigger.dedupe, document, "message.dedupe");
  if (named !== null && "problem" in named) return unfit(named.problem);
  const { stored } = trigger.source;
  const place =
    stored === null || sequence === null ? randomUUID() : `${stored.stream} ${sequence}`;
  const key = named?.text ?? messageId ?? place;
  return begin(trigger, { key, input: input.text }, parts);
}

async function begin(
  { jobId, concurrency }: MessageTrigger,
  { key, input }: { key: string; input: string },
  parts: ReceiveParts,
): Promise<Received> {
  const { store, now, onChange } = parts;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored = await store.load(jobId);
    // A replica with a newer file has removed it.
    if (stored === null) return { outcome: "ignored" };
    const taken = { key, input, concurrency, now: now() };
    const step = takeMessage(stored.record, taken, parts);
    if (step.outcome !== "begin") return { outcome: step.outcome };
    const options = { now: taken.now, mark: step.mark };
    const answer = await store.write(jobId, stored, step.change, options);
    if (answer === "conflict") continue;
    if (answer === "repeated") return { outcome: "repeated" };
    onChange();
    return { outcome: "begun" };
  }
  // So many conflicts mean that other messages begin runs of the same job.
  return { outcome: "busy" };
}

/** Writes into the log of the job that messages led to no run. Rejects with StoreError. */
export async function skipMessages(
  { jobId }: MessageTrigger,
  { count, reason }: { readonly count: number; readonly reason: string },
  { store, now }: ReceiveParts,
): Promise<void> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored = await store.load(jobId);
    if (stored === null) return;
    const { record } = stored;
    const skipped = skip(record, { due: now(), missed: count - 1, now: now(), reason });
    if ((await store.write(jobId, stored, { record, ...skipped }, { now: now() })) === "ok") return;
  }
}

function unfit(reason: string): Received {
  return { outcome: "unfit", reason };
}

import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import {
  parseTarget,
  type Address,
  type AddressInput,
} from "@switchyard/contracts/channels/channel-address";
import { lastAddress, sendChannelMessage } from "@switchyard/contracts/channels/channels";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ScheduleJob } from "@switchyard/contracts/scheduler/schedules";
import type { ActiveRun, RunEnd } from "@switchyard/project/jobs/job-record";
import type { DeliveryOutcome } from "./delivery-outcome.ts";

/** Shorter than a replica has the delivery for. */
const TIMEOUT_MS = 25_000;
const MOST_CHARS = 100_000;

/** After these codes nothing was sent, and the same key would return the same error once more. */
const UNSENT: ReadonlySet<string> = new Set(["rate_limited"]);
/** The request itself had no effect, or its outcome can be requested with the same key. */
const AGAIN: ReadonlySet<string> = new Set([
  "no_responders",
  "disconnected",
  "overloaded",
  "store_unavailable",
]);
const UNSURE: ReadonlySet<string> = new Set(["timeout", "deadline_exceeded", "still_sending"]);

/** Announces in a chat how a run ended, as the owner of the job. Never rejects except because of a programming error. */
export async function announce(
  bus: Bus,
  { job, run }: { readonly job: ScheduleJob; readonly run: ActiveRun & { readonly end: RunEnd } },
): Promise<DeliveryOutcome> {
  const place = run.place ?? placeOf(job);
  if (place === null)
    return { outcome: "refused", error: "the job does not say any more where to announce" };
  const request = {
    onBehalfOf: job.owner,
    to: place,
    text: announcement(job, run.end),
    // All attempts of all replicas send one message.
    idempotencyKey: `${run.runId}:${run.round ?? 0}`,
    runId: run.runId,
  };
  try {
    await call(bus, sendChannelMessage, request, { timeoutMs: TIMEOUT_MS });
    return { outcome: "delivered" };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code } = error;
    const text = `${code}: ${error.message}`;
    if (UNSENT.has(code)) return { outcome: "again", error: text, isUnsent: true };
    if (AGAIN.has(code)) return { outcome: "again", error: text };
    if (UNSURE.has(code)) return { outcome: "unknown", error: text };
    // The same key does not send it again, and another one might send it twice.
    if (code === "timeout_unknown") return { outcome: "unknown", error: text, isFinal: true };
    return { outcome: "refused", error: text };
  }
}

function placeOf({ delivery }: ScheduleJob): AddressInput | null {
  const { channel, accountId, to = "" } = delivery ?? {};
  const target = parseTarget(to);
  if (channel === undefined || target === null) return null;
  return { channel, target, ...(accountId !== undefined && { accountId }) };
}

/**
 * Returns where the owner of a job wrote last. Null: nowhere; undefined: it cannot be determined now. Never rejects except
 * because of a programming error.
 */
export async function findLastAddress(
  bus: Bus,
  owner: string,
): Promise<Address | null | undefined> {
  try {
    return (await call(bus, lastAddress, { onBehalfOf: owner })).address;
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** Returns the answer; for a failure only the code, because a chat may have more readers than the owner. */
function announcement({ name }: ScheduleJob, { status, output = "", error = "" }: RunEnd): string {
  if (status === "ok") return cutText(output.trim(), MOST_CHARS);
  const code = /^[a-z_]+(?=: )/.exec(error)?.[0];
  return `The job "${name}" failed${code === undefined ? "" : ` (${code})`}.`;
}

import { Address, ProviderId } from "@switchyard/contracts/channels/channel-address";
import { Attachment, SendId } from "@switchyard/contracts/channels/channels";
import { InboundId } from "@switchyard/contracts/channels/channel-events";
import { CallerName, Timestamp } from "@switchyard/contracts/ids";
import { z } from "zod";

/**
 * The state of an outgoing message: the intent before, and the outcome after. It is stored before the provider receives anything,
 * so the process that finds it can determine which pieces may have been sent.
 */
export const SendRecord = z.object({
  sendId: SendId,
  caller: CallerName,
  /** The digest of the request: one key is one message. */
  digest: z.string(),
  at: Timestamp,
  address: Address,
  /** The text of the request; `pieces` are sent. */
  text: z.string(),
  pieces: z.array(z.string()),
  attachments: z.array(Attachment),
  replyToMessageId: ProviderId.optional(),
  effectId: z.string().optional(),
  silent: z.boolean(),
  /** From this unit of the text on it is shown as it is; for texts of one piece. */
  verbatimFrom: z.int().nonnegative().optional(),
  /** Below the last piece. */
  buttons: z.array(z.object({ label: z.string(), data: z.string() })).optional(),
  degraded: z.array(z.string()),
  about: z.object({
    tool: z.string().nullable(),
    runId: z.string().nullable(),
    sessionKey: z.string().nullable(),
    answerTo: InboundId.nullable(),
  }),
  /** The process that sends it. */
  holder: z.string(),
  state: z.enum(["open", "sent", "failed", "unknown"]),
  /** The piece that is next, or on its way. */
  next: z.int().nonnegative(),
  /** True while the provider may have piece `next`: written before it is handed over. */
  isOnItsWay: z.boolean(),
  /** The time at which piece `next` was handed over first; null: never. */
  triedAt: z.number().nullable(),
  /** The number of attempts for piece `next`. */
  attempts: z.int().nonnegative(),
  /** Pieces that were certainly not sent are retried until this time, in milliseconds since the epoch. */
  patientUntil: z.number(),
  messageIds: z.array(z.string()),
  sentAt: Timestamp.nullable(),
  failure: z
    .object({
      code: z.string(),
      message: z.string(),
      retryAfterMs: z.int().positive().nullable(),
    })
    .nullable(),
  /** False for a message of the service itself, such as a question about an approval: its text is for its readers alone, so no event has it. */
  isAnnounced: z.boolean().default(true),
  /** True when the event about its end is stored. */
  isTold: z.boolean(),
  /** True when the session of its chat has the note, or needs none. */
  isNoted: z.boolean().default(true),
});
export type SendRecord = z.infer<typeof SendRecord>;

/** A record with its revision: a write with an old revision changes nothing. */
export interface StoredSend {
  readonly revision: number;
  readonly record: SendRecord;
}

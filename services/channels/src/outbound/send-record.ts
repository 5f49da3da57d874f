import { Address, ProviderId } from "@switchyard/contracts/channel-address";
import { Attachment, SendId } from "@switchyard/contracts/channels";
import { InboundId } from "@switchyard/contracts/channel-events";
import { CallerName, Timestamp } from "@switchyard/contracts/ids";
import { z } from "zod";

/**
 * All that is known of a message that is to go out: the intent before, and the outcome after. It is written before the
 * provider hears anything, so whoever finds it knows what may have happened.
 */
export const SendRecord = z.object({
  sendId: SendId,
  caller: CallerName,
  /** Of what was asked: one key is one message. */
  digest: z.string(),
  at: Timestamp,
  address: Address,
  /** As it was asked; `pieces` are what is sent. */
  text: z.string(),
  pieces: z.array(z.string()),
  attachments: z.array(Attachment),
  replyToMessageId: ProviderId.optional(),
  effectId: z.string().optional(),
  silent: z.boolean(),
  degraded: z.array(z.string()),
  about: z.object({
    tool: z.string().nullable(),
    runId: z.string().nullable(),
    sessionKey: z.string().nullable(),
    answerTo: InboundId.nullable(),
  }),
  /** Who works on it. */
  holder: z.string(),
  state: z.enum(["open", "sent", "failed", "unknown"]),
  /** The piece that is next, or on its way. */
  next: z.int().nonnegative(),
  /** True while the provider may have piece `next`: written before it is handed over. */
  isOnItsWay: z.boolean(),
  /** When piece `next` was handed over first; null: never. */
  triedAt: z.number().nullable(),
  /** How often it was. */
  attempts: z.int().nonnegative(),
  /** Until then what surely was not sent is tried again, in milliseconds since the epoch. */
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
  /** True when the event about its end is stored. */
  isTold: z.boolean(),
  /** True when the session of its chat knows of it, or need not. */
  isNoted: z.boolean().default(true),
});
export type SendRecord = z.infer<typeof SendRecord>;

/** A record with the count of its changes: who has not seen the last one changes nothing. */
export interface StoredSend {
  readonly revision: number;
  readonly record: SendRecord;
}

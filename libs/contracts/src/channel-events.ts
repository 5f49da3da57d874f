import { z } from "zod";
import { Address } from "./channel-address.ts";
import { SendId } from "./channels.ts";
import { event } from "./define.ts";
import { CallerName, RunId, Timestamp } from "./ids.ts";
import { SessionKey } from "./session-key.ts";

/** A message that came in: the id is made of where it came from and the provider's id for it. */
export const InboundId = z.string().regex(/^in-[0-9a-f]{32}$/, "must look like in-…");

/** Who wrote a message, as the provider says. */
export const Sender = z.object({
  id: z.string(),
  name: z.string().optional(),
  username: z.string().optional(),
  /** True for those that channels.json names as owners of the account. */
  isOwner: z.boolean(),
});

/** What an event shows of a text. */
export const MAX_EVENT_TEXT = 16_384;

export const messageReceived = event({
  subject: "yard.evt.message.{owner}.{inboundId}.received",
  summary: "A message came in, and it is stored. What the account's rules refuse is not told.",
  payload: z.object({
    inboundId: InboundId,
    at: Timestamp,
    address: Address,
    messageId: z.string(),
    sender: Sender,
    text: z.string(),
    truncated: z.boolean(),
    attachments: z.array(
      z.object({
        name: z.string().optional(),
        mimeType: z.string().optional(),
        sizeBytes: z.int().nonnegative().optional(),
      }),
    ),
    replyToMessageId: z.string().optional(),
    /** It was said in private, or it speaks to the account: names it, or answers a message of its own. */
    mentionsAccount: z.boolean(),
    /** When the provider says that it was written. */
    writtenAt: Timestamp,
    sessionKey: SessionKey,
    runId: RunId,
  }),
});

/** What every event of a send carries. `{owner}` is who sent it. */
const Outbound = z.object({
  sendId: SendId,
  at: Timestamp,
  by: CallerName,
  address: Address,
  text: z.string(),
  truncated: z.boolean(),
  /** Of the first attachment, without what follows a `?`. */
  mediaUrl: z.string().nullable(),
  messageIds: z.array(z.string()),
  /** What the sender said of itself. */
  tool: z.string().nullable(),
  runId: RunId.nullable(),
  sessionKey: SessionKey.nullable(),
  /** The message that this is the answer to. */
  answerTo: InboundId.nullable(),
});

export const messageSent = event({
  subject: "yard.evt.message.{owner}.{sendId}.sent",
  summary: "The provider has taken a message.",
  payload: Outbound,
});

export const messageFailed = event({
  subject: "yard.evt.message.{owner}.{sendId}.failed",
  summary: "A message was not sent, or not all of it.",
  payload: Outbound.extend({ code: z.string(), message: z.string() }),
});

export const messageUnconfirmed = event({
  subject: "yard.evt.message.{owner}.{sendId}.unconfirmed",
  summary: "Nobody knows whether a message was delivered; it is not sent again.",
  payload: Outbound.extend({ code: z.string(), message: z.string() }),
});

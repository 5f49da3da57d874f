import { z } from "zod";
import { Address } from "./channel-address.ts";
import { SendId } from "./channels.ts";
import { event } from "../define.ts";
import { CallerName, RunId, Timestamp } from "../ids.ts";
import { SessionKey } from "../agent-runner/session-key.ts";

/** An incoming message: the id is made of its address and the provider's id for it. */
export const InboundId = z.string().regex(/^in-[0-9a-f]{32}$/, "must look like in-…");

/** The author of a message, as the provider reports it. */
export const Sender = z.object({
  id: z.string(),
  name: z.string().optional(),
  username: z.string().optional(),
  /** True for senders that channels.json names as owners of the account. */
  isOwner: z.boolean(),
});

/** The most characters of a text in an event. */
export const MAX_EVENT_TEXT = 16_384;

export const messageReceived = event({
  subject: "yard.evt.message.{owner}.{inboundId}.received",
  summary:
    "A message was received and stored. Messages that the account's rules refuse have no event.",
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
    /** It was sent in private, or it addresses the account: names it, or answers one of its messages. */
    mentionsAccount: z.boolean(),
    /** The time at which it was written, by the provider's clock. */
    writtenAt: Timestamp,
    sessionKey: SessionKey,
    runId: RunId,
  }),
});

/** The fields that every event of a send carries. `{owner}` is the sender. */
const Outbound = z.object({
  sendId: SendId,
  at: Timestamp,
  by: CallerName,
  address: Address,
  text: z.string(),
  truncated: z.boolean(),
  /** The address of the first attachment, without the query after a `?`. */
  mediaUrl: z.string().nullable(),
  messageIds: z.array(z.string()),
  /** The sender's own claims. */
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
  summary: "It is unknown whether a message was delivered; it is not sent again.",
  payload: Outbound.extend({ code: z.string(), message: z.string() }),
});

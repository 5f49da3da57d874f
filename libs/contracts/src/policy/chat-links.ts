import { z } from "zod";
import { approveCall } from "./approvals.ts";
import { Approval, ApprovalId, ApprovalsUnavailable, Presentation } from "./approval-record.ts";
import { AccountId, ChannelName, ProviderId } from "../channels/channel-address.ts";
import { rpc } from "../define.ts";
import { CallerName, Digest, Timestamp } from "../ids.ts";
import { UserStoreUnavailable } from "./user-tokens.ts";

/**
 * A link lets a person decide in a chat as a caller. The policy service stores it, with the provider's own id of the person and never a
 * name, and checks each decision as if the caller had sent it.
 */

export const ChatLinkId = z
  .string()
  .regex(
    /^lnk-[0-9a-f]{16}$/,
    "must be an id such as lnk-0123456789abcdef, as chat-links.list shows",
  );

/** A one-time code: 128 random bits in base32. */
export const ChatLinkCode = z
  .string()
  .regex(/^link-[a-z2-7]{26}$/, "must look like link- and 26 characters");

/** A person at a provider, as one account of `channels.json` sees it. */
export const ChatIdentity = z.strictObject({
  channel: ChannelName,
  accountId: AccountId,
  /** The provider's stable id, such as a Telegram user id. */
  personId: ProviderId,
});
export type ChatIdentity = z.infer<typeof ChatIdentity>;

export const ChatLink = z.object({
  id: ChatLinkId,
  caller: CallerName,
  ...ChatIdentity.shape,
  /** True: calls that the caller may decide about are sent to the private chat. */
  asks: z.boolean(),
  linkedAt: Timestamp,
  expiresAt: Timestamp,
});
export type ChatLink = z.infer<typeof ChatLink>;

const linkErrors = {
  users_unavailable: UserStoreUnavailable,
} as const;
const UnknownLink = { data: z.object({ id: z.string() }) } as const;
const ForbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) } as const;

export const createChatLink = rpc({
  subject: "yard.rpc.{caller}.chat-links.create",
  summary: "Makes a one-time code; who sends it to a bot in private decides there as the caller.",
  role: "viewer",
  request: z.strictObject({ asks: z.boolean().default(false) }),
  /** `code` is shown here and never again; only its SHA-256 is stored. */
  reply: z.object({ code: ChatLinkCode, expiresAt: Timestamp }),
  errors: linkErrors,
});

export const listChatLinks = rpc({
  subject: "yard.rpc.{caller}.chat-links.list",
  summary: "Lists the chats in which the caller may decide; for policy admins those of any user.",
  role: "viewer",
  request: z.strictObject({
    /** Missing: the caller itself. `*`: every user. */
    user: z.union([CallerName, z.literal("*")]).optional(),
  }),
  reply: z.object({ links: z.array(ChatLink) }),
  errors: { ...linkErrors, forbidden_admin: ForbiddenAdmin },
});

export const revokeChatLink = rpc({
  subject: "yard.rpc.{caller}.chat-links.revoke",
  summary: "Ends a link of the caller at once; for policy admins one of any user.",
  role: "viewer",
  request: z.strictObject({ id: ChatLinkId }),
  reply: z.object({ link: ChatLink }),
  errors: {
    ...linkErrors,
    /** It has ended, or belongs to another user. */
    unknown_link: UnknownLink,
  },
});

/** Called by the channels service alone, for a code that a person wrote to a bot. */
export const claimChatLink = rpc({
  subject: "yard.rpc.{caller}.chat-links.claim",
  summary: "From the channels service: links a person of a chat with the caller that made a code.",
  request: z.strictObject({
    code: ChatLinkCode,
    identity: ChatIdentity,
    /** False for a code that others could read: it ends without a link. */
    isPrivate: z.boolean(),
  }),
  reply: z.object({ link: ChatLink }),
  errors: {
    ...linkErrors,
    /** It was never made, was used by another person, was written in a group, or its time is over. */
    unknown_code: { data: z.object({ reason: z.string() }) },
  },
  timeoutMs: 5_000,
});

/** Called by the channels service alone, for a button that a person pressed. The policy service decides whose decision it is. */
export const decideInChat = rpc({
  subject: "yard.rpc.{caller}.approvals.decide-in-chat",
  summary: "From the channels service: a linked person approves or denies the call that was shown.",
  request: z.strictObject({
    identity: ChatIdentity,
    id: ApprovalId,
    binding: Digest,
    verdict: z.enum(["approve", "deny"]),
  }),
  /** `by` is the caller of the link. */
  reply: z.object({ approval: Approval, by: CallerName }),
  errors: {
    ...approveCall.errors,
    users_unavailable: UserStoreUnavailable,
    /** The person has no link, or its link has ended. */
    not_linked: { data: z.object({ channel: z.string(), accountId: z.string() }) },
  },
  timeoutMs: 8_000,
});

/** The most characters of arguments that a chat shows. */
export const MAX_CHAT_ARGS = 2_500;

/** The most approvals in a page of {@link approvalsForChats}, so that a reply fits one message. */
export const CHAT_PAGE = 50;

/** Called by the channels service alone: the truth behind the messages in chats. */
export const approvalsForChats = rpc({
  subject: "yard.rpc.{caller}.approvals.for-chats",
  summary: "From the channels service: waiting calls with the chats to ask, and states of others.",
  request: z.strictObject({
    /** The users whose calls are shown in groups, by the operator's configuration; `*` is everybody. */
    groupsOf: z.array(z.union([CallerName, z.literal("*")])).max(1_000),
    /** Approvals whose messages are open. */
    watched: z.array(ApprovalId).max(CHAT_PAGE),
    cursor: z.string().max(64).optional(),
  }),
  reply: z.object({
    pending: z.array(
      z.object({
        approval: Approval,
        /** Its `args` are cut at {@link MAX_CHAT_ARGS} characters. */
        presentation: Presentation,
        /** A patch of the texts that the arguments change, or the values that differ from the last approved call; cut as `args` is. */
        changes: z.string().optional(),
        /** The links with `asks` whose callers may decide. */
        links: z.array(ChatLink),
      }),
    ),
    next: z.string().nullable(),
    /** Unknown ones are left out: they ended more than a week ago. */
    watched: z.array(Approval),
  }),
  errors: { approvals_unavailable: ApprovalsUnavailable, users_unavailable: UserStoreUnavailable },
  timeoutMs: 10_000,
});

import { z } from "zod";
import { DecisionToken, PageQuestion, QuestionPress } from "./question-page.ts";
import {
  AccountId,
  Address,
  AddressInput,
  Capabilities,
  ChannelAction,
  ChannelName,
  MessageRef,
  ProviderId,
  TargetKind,
} from "./channel-address.ts";
import { rpc } from "../define.ts";
import { AgentName, CallerName, RunId, Timestamp } from "../ids.ts";
import { SessionKey } from "../agent-runner/session-key.ts";
import { storeUnavailable } from "../store-errors.ts";

/**
 * Messages to and from people, for any provider. An account belongs to one NATS user; `channels.json` names the other users that may use
 * it, and for all others it does not exist.
 */

/** A message that a send has made, or several when it was cut into pieces. */
export const SendId = z.string().regex(/^snd-[0-9a-f]{32}$/, "must look like snd-…");

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits");

/** An attachment by reference: the service loads it itself, from a public address or a directory that it may read [N5]. */
export const Attachment = z.strictObject({
  /** `https://…`, or the path of a file inside of the allowed directories. */
  source: z.string().min(1).max(4_096),
  name: z.string().min(1).max(255).optional(),
  mimeType: z
    .string()
    .regex(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/, "must look like image/png")
    .optional(),
  /** The digest of the bytes that may be sent, in hexadecimal digits; other bytes are `bad_attachment`. */
  sha256: Sha256.optional(),
});

/** Longer texts are cut into pieces that the account accepts. */
export const MAX_MESSAGE_TEXT = 100_000;

const Idempotency = {
  /** For a day, the same key of the same caller returns the result of the first request with it. */
  idempotencyKey: z.string().min(1).max(200).optional(),
};

/** The user that a service acts for; for any other caller it is the caller itself. */
const OnBehalfOf = { onBehalfOf: CallerName.optional() };

const Content = z.strictObject({
  text: z.string().max(MAX_MESSAGE_TEXT).default(""),
  attachments: z.array(Attachment).max(10).default([]),
  /** One of the account's `effects`. */
  effectId: z.string().min(1).max(64).optional(),
  /** The action for an account without such an effect: refuse the message, or send it without. */
  effectFallback: z.enum(["refuse", "plain"]).default("refuse"),
  /** Without a sound on the other side, where the provider can. */
  silent: z.boolean().default(false),
  /** Checks if it could be sent, and sends nothing. */
  dryRun: z.boolean().default(false),
  /** The sender's own claims: included in the events, and not verified. */
  tool: z.string().min(1).max(64).optional(),
  runId: RunId.optional(),
  sessionKey: SessionKey.optional(),
});

function hasContent(content: { readonly text: string; readonly attachments: readonly unknown[] }) {
  return content.text.trim() !== "" || content.attachments.length > 0;
}

const Where = { channel: z.string(), accountId: z.string().nullable() };

/** The errors of N6. Their messages name a remedy. */
export const channelErrors = {
  /** No account that the caller may use matches; `known` are those that it may use. */
  unknown_account: { data: z.object({ ...Where, known: z.array(z.string()) }) },
  /** The provider has no such target, or it is of another kind. */
  invalid_target: { data: z.object(Where) },
  /** The message does not exist. */
  not_found: { data: z.object(Where) },
  /** The provider does not let this account do it, or the account is switched off. */
  not_allowed: { data: z.object(Where) },
  /** The channel or its configuration has no such action. */
  unsupported: { data: z.object({ ...Where, action: ChannelAction }) },
  /** Nothing was sent. */
  rate_limited: { data: z.object({ ...Where, retryAfterMs: z.int().positive() }), retryable: true },
  /** It may have been delivered, and it is not sent again. `messageIds` are those that were. */
  timeout_unknown: {
    data: z.object({ ...Where, sendId: SendId.nullable(), messageIds: z.array(z.string()) }),
  },
  /** The provider refused it or cannot be reached; the action was not done. */
  provider_error: { data: z.object({ ...Where, messageIds: z.array(z.string()) }) },
  store_unavailable: storeUnavailable,
} as const;

const sendErrors = {
  ...channelErrors,
  /** An attachment is missing, too large, or outside of the allowed sources. */
  bad_attachment: { data: z.object({ source: z.string() }) },
  /** The message is being sent. Repeat the request with the same idempotency key to get its result. */
  still_sending: { data: z.object({ sendId: SendId }), retryable: true },
  /** The key was used for another message. */
  idempotency_conflict: { data: z.object({ sendId: SendId }) },
} as const;

const Sent = {
  sendId: SendId,
  address: Address,
  /** The messages in their order; several when the text was cut into pieces. */
  messageIds: z.array(z.string()),
  /** Null for a dry run. */
  sentAt: Timestamp.nullable(),
  /** The adapter that handled it. */
  handledBy: ChannelName,
  dryRun: z.boolean(),
  /** Requested features that were left out, such as an effect. */
  degraded: z.array(z.string()),
};

/** A loaded attachment. */
const LoadedAttachment = z.object({
  name: z.string(),
  /** The type that the bytes show; `application/octet-stream` for bytes of no known type. */
  mediaType: z.string(),
  sizeBytes: z.int().nonnegative(),
  sha256: Sha256,
});

export const sendChannelMessage = rpc({
  subject: "yard.rpc.{caller}.channels.send",
  summary: "Sends a message to a person, group or channel, as a reply or in a thread.",
  role: "operator",
  request: Content.extend({
    ...Idempotency,
    ...OnBehalfOf,
    to: AddressInput,
    replyToMessageId: ProviderId.optional(),
  }).refine(hasContent, { error: "send requires text or media" }),
  reply: z.object({
    kind: z.literal("send"),
    ...Sent,
    /** True when an earlier request with the same key sent it. */
    replayed: z.boolean(),
    /** With `dryRun`: the attachments as they were loaded, in the order of the request. */
    loadedFiles: z.array(LoadedAttachment).optional(),
  }),
  errors: sendErrors,
  timeoutMs: 35_000,
});

export const broadcastChannelMessage = rpc({
  subject: "yard.rpc.{caller}.channels.broadcast",
  summary: "Sends one message to several addresses; each has a result of its own.",
  role: "operator",
  request: Content.extend({
    ...Idempotency,
    ...OnBehalfOf,
    to: z.array(AddressInput).min(1, "Broadcast requires at least one target.").max(100),
  }).refine(hasContent, { error: "send requires text or media" }),
  reply: z.object({
    kind: z.literal("broadcast"),
    /** In the order of the request. */
    results: z.array(
      z.object({
        address: AddressInput,
        ok: z.boolean(),
        sendId: SendId.optional(),
        messageIds: z.array(z.string()),
        sentAt: Timestamp.nullable(),
        error: z
          .object({
            code: z.string(),
            message: z.string(),
            retryAfterMs: z.int().positive().optional(),
          })
          .optional(),
      }),
    ),
    sent: z.int().nonnegative(),
    failed: z.int().nonnegative(),
  }),
  errors: { store_unavailable: storeUnavailable },
  timeoutMs: 120_000,
});

/**
 * The address of the people behind a user: the private conversation in which an owner of one of the user's accounts, or in webchat the user
 * itself, wrote last. Messages of other people do not count, or a stranger could receive what is meant for the owner.
 */
export const lastAddress = rpc({
  subject: "yard.rpc.{caller}.channels.last",
  summary: "Between services: where an owner of the user's accounts wrote last.",
  request: z.strictObject(OnBehalfOf),
  reply: z.object({ address: Address.nullable() }),
  errors: { store_unavailable: storeUnavailable },
});

const Acted = z.object({
  kind: z.literal("action"),
  action: ChannelAction,
  address: Address,
  messageId: z.string(),
  handledBy: ChannelName,
});

export const reactToMessage = rpc({
  subject: "yard.rpc.{caller}.channels.react",
  summary: "Adds a reaction to a message, or removes it.",
  role: "operator",
  request: z.strictObject({
    ...OnBehalfOf,
    message: MessageRef,
    emoji: z.string().min(1).max(64),
    remove: z.boolean().default(false),
  }),
  reply: Acted,
  errors: channelErrors,
  timeoutMs: 30_000,
});

export const deleteChannelMessage = rpc({
  subject: "yard.rpc.{caller}.channels.delete",
  summary: "Deletes a message.",
  role: "operator",
  request: z.strictObject({ ...OnBehalfOf, message: MessageRef }),
  reply: Acted,
  errors: channelErrors,
  timeoutMs: 30_000,
});

export const pinMessage = rpc({
  subject: "yard.rpc.{caller}.channels.pin",
  summary: "Pins a message, or unpins it.",
  role: "operator",
  request: z.strictObject({
    ...OnBehalfOf,
    message: MessageRef,
    unpin: z.boolean().default(false),
  }),
  reply: Acted,
  errors: channelErrors,
  timeoutMs: 30_000,
});

export const ReadMessage = z.object({
  messageId: z.string(),
  author: z.object({ id: z.string(), name: z.string().optional() }),
  text: z.string(),
  at: Timestamp,
  /** True for one that this account sent. */
  isOwn: z.boolean(),
  replyToMessageId: z.string().optional(),
  threadId: z.string().optional(),
  attachments: z.array(z.object({ name: z.string().optional(), mimeType: z.string().optional() })),
  /** Reactions of the account, where the channel keeps its messages here; missing elsewhere. */
  reactions: z.array(z.string()).optional(),
  isPinned: z.boolean().optional(),
});

export const readChannelMessages = rpc({
  subject: "yard.rpc.{caller}.channels.read",
  summary: "Reads the last messages at an address, oldest first.",
  role: "operator",
  request: z.strictObject({
    ...OnBehalfOf,
    address: AddressInput,
    limit: z.int().min(1).max(100).default(20),
    before: ProviderId.optional(),
    after: ProviderId.optional(),
  }),
  reply: z.object({ address: Address, messages: z.array(ReadMessage) }),
  errors: channelErrors,
  timeoutMs: 30_000,
});

export const resolveTarget = rpc({
  subject: "yard.rpc.{caller}.channels.resolve-target",
  summary: "Finds the target that a text means: an id, a name, a link.",
  role: "operator",
  request: z.strictObject({
    ...OnBehalfOf,
    channel: ChannelName,
    accountId: AccountId.optional(),
    query: z.string().min(1).max(512),
    kind: TargetKind.optional(),
  }),
  reply: z.object({ address: Address, displayName: z.string().nullable() }),
  errors: channelErrors,
  timeoutMs: 30_000,
});

export const ChannelAccount = z.object({
  channel: ChannelName,
  accountId: AccountId,
  /** The user in whose name its messages become runs. */
  caller: CallerName,
  agent: AgentName.nullable(),
  /** `standby`: another replica has the inbound connection. `none`: it receives no messages. */
  inbound: z.enum(["connected", "connecting", "standby", "error", "none"]),
  /** The reason of the state, without secrets. */
  problem: z.string().nullable(),
  capabilities: Capabilities,
});
export type ChannelAccount = z.infer<typeof ChannelAccount>;

export const listChannelAccounts = rpc({
  subject: "yard.rpc.{caller}.channels.accounts",
  summary: "Lists the accounts that the caller may use, and how each is.",
  role: "viewer",
  request: z.strictObject({ ...OnBehalfOf, channel: ChannelName.optional() }),
  reply: z.object({
    accounts: z.array(ChannelAccount),
    /** The entries of channels.json that are not in force, for cli and admin. */
    problems: z.array(z.string()),
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const channelCapabilities = rpc({
  subject: "yard.rpc.{caller}.channels.capabilities",
  summary: "Returns what an account supports.",
  role: "viewer",
  request: z.strictObject({
    ...OnBehalfOf,
    channel: ChannelName,
    accountId: AccountId.optional(),
  }),
  reply: z.object({ channel: ChannelName, accountId: AccountId, capabilities: Capabilities }),
  errors: { unknown_account: channelErrors.unknown_account },
});

export const checkChannelAccount = rpc({
  subject: "yard.rpc.{caller}.channels.check",
  summary: "Checks an account's credentials at its provider.",
  role: "operator",
  request: z.strictObject({ channel: ChannelName, accountId: AccountId.optional() }),
  reply: z.object({
    channel: ChannelName,
    accountId: AccountId,
    ok: z.boolean(),
    identity: z.string().nullable(),
    problem: z.string().nullable(),
  }),
  errors: { unknown_account: channelErrors.unknown_account },
  timeoutMs: 30_000,
});

/**
 * Submits a message in place of a provider: from a chat in a browser or a terminal, and for tests of the loopback channel. In `webchat` the
 * sender is always the caller.
 */
export const submitChannelMessage = rpc({
  subject: "yard.rpc.{caller}.channels.submit",
  summary: "Submits a message in a channel of Switchyard's own: webchat or loopback.",
  role: "operator",
  request: z.strictObject({
    channel: z.enum(["webchat", "loopback"]),
    accountId: AccountId.optional(),
    /** The conversation; left out, the caller's own. */
    target: z.strictObject({ kind: TargetKind, id: ProviderId }).optional(),
    threadId: ProviderId.optional(),
    /** Unique in the conversation: the same id again is the same message. */
    messageId: ProviderId.optional(),
    text: z.string().min(1).max(MAX_MESSAGE_TEXT),
    replyToMessageId: ProviderId.optional(),
    mentionsAccount: z.boolean().default(false),
    /** Accepted for loopback only. */
    sender: z.strictObject({ id: ProviderId, name: z.string().max(256).optional() }).optional(),
  }),
  reply: z.object({
    address: Address,
    messageId: z.string(),
    /** `known`: it was received before. `ignored`: the account's rules do not let it become a run. */
    outcome: z.enum(["stored", "known", "ignored"]),
    reason: z.string().nullable(),
  }),
  errors: {
    unknown_account: channelErrors.unknown_account,
    not_allowed: channelErrors.not_allowed,
    store_unavailable: storeUnavailable,
  },
});

/**
 * Called by the gateway alone, for the page of a link in a mail. Programs that check mail open each link, so a request without `press`
 * decides nothing.
 */
export const openDecision = rpc({
  subject: "yard.rpc.{caller}.channels.open-decision",
  summary: "From the gateway: returns the call of a link in a mail, and decides it by a press.",
  request: z.strictObject({
    token: DecisionToken,
    /** `id` is another one on each page: a call of high risk needs two different presses. */
    press: z
      .strictObject({
        verdict: z.enum(["approve", "deny"]).optional(),
        ...QuestionPress,
        id: z.string().regex(/^[\w-]{22}$/),
      })
      .optional(),
  }),
  reply: z.object({
    text: z.string(),
    /** The effect of a press, or the end of the call; null while it waits. A press may decide while `isOpen`. */
    outcome: z.string().nullable(),
    isOpen: z.boolean(),
    question: PageQuestion.optional(),
  }),
  errors: {
    unknown_link: { data: z.object({ reason: z.string() }) },
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 12_000,
});

export const MAX_PROVIDER_REQUEST = 1_024 * 1_024;

/**
 * Called by the gateway alone: a request that a provider, or a user's own program, has sent to `/hooks/{channel}/{accountId}`. The
 * account's adapter checks its signature and determines the answer.
 */
export const receiveChannelRequest = rpc({
  subject: "yard.rpc.{caller}.channels.receive",
  summary: "From the gateway: an HTTP request of a provider to an account.",
  request: z.strictObject({
    channel: ChannelName,
    accountId: AccountId,
    /** Names in lower case. */
    headers: z.record(z.string(), z.string()),
    /** In base64. */
    body: z.base64().max(Math.ceil(MAX_PROVIDER_REQUEST / 3) * 4),
  }),
  reply: z.object({
    status: z.int().min(200).max(599),
    contentType: z.string().nullable(),
    body: z.string().nullable(),
  }),
  errors: {
    /** There is no such account, or it accepts no requests. */
    unknown_account: { data: z.object({ channel: z.string(), accountId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 20_000,
});

/** Called by the gateway alone, which accepts no body for an account that takes no requests. */
export const listChannelHooks = rpc({
  subject: "yard.rpc.{caller}.channels.hooks",
  summary: "From the gateway: lists the accounts that accept requests of providers.",
  request: z.strictObject({}),
  reply: z.object({
    accounts: z.array(z.object({ channel: ChannelName, accountId: AccountId })),
  }),
});

/** The value of one `${VAR}` of channels.json. */
const SecretValue = z
  .string()
  .max(4_096)
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  .regex(/^[^\x00-\x1f\x7f]+$/, "must be one line of 1-4096 characters");

/**
 * Meant for operators: gives an account its secrets while the service runs. Without values it only lists their names. They are tried at the
 * provider first, and stored when it accepts them.
 */
export const loginChannelAccount = rpc({
  subject: "yard.rpc.{caller}.channels.login",
  summary: "Checks an account's secrets at its provider and stores them when they are valid.",
  request: z.strictObject({
    channel: ChannelName,
    accountId: AccountId.optional(),
    values: z.record(z.string().regex(/^[A-Za-z_]\w{0,127}$/), SecretValue),
  }),
  reply: z.object({
    channel: ChannelName,
    accountId: AccountId,
    /** The names that the account's `config` refers to. */
    variables: z.array(z.string()),
    isStored: z.boolean(),
    identity: z.string().nullable(),
    /** The reason why nothing was stored, without secrets; null without values. */
    problem: z.string().nullable(),
  }),
  errors: {
    unknown_account: channelErrors.unknown_account,
    /** `YARD_KEYS_DIR` has no `channels.env`: the secrets of this installation are stored elsewhere. */
    no_secret_store: { data: z.object({ setting: z.string() }) },
  },
  timeoutMs: 30_000,
});

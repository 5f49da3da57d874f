import { z } from "zod";

/** A kind of place where people write: `telegram`, `slack`, `email`. */
export const ChannelName = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,23}$/,
    "must be 1-24 characters of a-z 0-9 -, starting with a letter, such as telegram",
  );

/** One of the logins that an installation has at a channel. */
export const AccountId = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,31}$/,
    "must be 1-32 characters of a-z 0-9 -, starting with a letter or digit",
  );

/** A provider's id of an object. It is compared and sent back, never interpreted. */
export const ProviderId = z
  .string()
  // oxlint-disable-next-line no-control-regex -- control characters are what it keeps out
  .regex(/^[^\x00-\x1f\x7f]{1,256}$/, "must be 1-256 characters without control characters");

export const TargetKind = z.enum(["user", "group", "channel"]);
export type TargetKind = z.infer<typeof TargetKind>;

export const Target = z.strictObject({ kind: TargetKind, id: ProviderId });
export type Target = z.infer<typeof Target>;

/** The destination or origin of a message [N1]. A thread is part of the address; the message that is replied to is not. */
export const Address = z.strictObject({
  channel: ChannelName,
  accountId: AccountId,
  target: Target,
  threadId: ProviderId.optional(),
});
export type Address = z.infer<typeof Address>;

/** The account may be left out when the caller may use only one of the channel. */
export const AddressInput = Address.partial({ accountId: true });
export type AddressInput = z.infer<typeof AddressInput>;

/** A message that exists [N2]. Ids are unique within the address alone. */
export const MessageRef = z.strictObject({
  address: AddressInput,
  messageId: ProviderId,
  /** Some providers want it for reactions. */
  authorId: ProviderId.optional(),
});

/** The actions that an account supports [N4]. */
export const ChannelAction = z.enum([
  "send",
  "reply",
  "thread",
  "react",
  "delete",
  "pin",
  "read",
  "resolve",
  "attachments",
  "effects",
  "silent",
]);
export type ChannelAction = z.infer<typeof ChannelAction>;

export const MediaKind = z.enum(["image", "audio", "video", "file"]);

export const Capabilities = z.strictObject({
  actions: z.array(ChannelAction),
  /** In UTF-16 units. Longer texts become several messages. */
  maxTextLength: z.int().min(16),
  /** Null: no attachments. */
  media: z.strictObject({ kinds: z.array(MediaKind), maxBytes: z.int().positive() }).nullable(),
  effects: z.array(z.string()),
  /** `reply`: a thread is named by its first message; `topic`: by an id; `channel`: it is a target of its own. */
  threads: z.enum(["none", "reply", "topic", "channel"]),
  /** The accepted form of an emoji: its character, the provider's name for it, or either. */
  reactions: z.enum(["none", "unicode", "named", "any"]),
  /** True when the provider drops a message that is sent again under the same key. */
  idempotentSend: z.boolean(),
});
export type Capabilities = z.infer<typeof Capabilities>;

/** Reads `user:42`, `group:x` or `channel:C1`; null for any other text, which `channels.resolve-target` may resolve. */
export function parseTarget(text: string): Target | null {
  const colon = text.indexOf(":");
  const read = Target.safeParse({ kind: text.slice(0, colon), id: text.slice(colon + 1) });
  return colon > 0 && read.success ? read.data : null;
}

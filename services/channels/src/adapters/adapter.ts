import type { Target, Capabilities, Address } from "@switchyard/contracts/channel-address";
import type { readChannelMessages } from "@switchyard/contracts/channels";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { z } from "zod";

/**
 * What a provider of messages is to the service. An adapter knows one provider's protocol and nothing of runs,
 * callers or Redis: the service cuts texts to pieces, keeps order, remembers what was sent and decides whom a message
 * may come from. One folder for each adapter, one line for each in `adapters/adapter-list.ts`.
 */
export interface AdapterDefinition<C = unknown> {
  /** The channel's name: `telegram`. */
  readonly name: string;
  /**
   * What an account has in `channels.json` under `config`; a strict object. `${VAR}` in its texts is replaced before
   * this is asked, so a token is simply a string here.
   */
  readonly config: z.ZodType<C>;
  /**
   * The secret values of a configuration. The service replaces them by `…` in whatever the adapter throws, reports or
   * logs. Name every one, and parts that a library would print alone, such as a token inside of a URL.
   */
  secrets(config: C): readonly string[];
  /** Makes the adapter of one account. Connects to nothing yet; throws when the configuration makes no sense. */
  create(config: C, kit: AdapterKit): ChannelAdapter;
}

/** What the service gives an adapter. */
export interface AdapterKit {
  readonly channel: string;
  readonly accountId: string;
  /** Facts in fields, no texts of people. Secrets are taken out. */
  readonly log: Log;
  /** For addresses that others name: check the URL, and connect with its `lookup`. */
  readonly guard: EgressGuard;
  readonly now: () => number;
  /**
   * Where the adapter is in the provider's stream of messages (an update's id, a UID), over restarts. Written behind
   * what `InboundSink.accept` has stored, and refused when this process lost the account meanwhile.
   */
  readonly cursor: Cursor;
  /** Messages kept by the service itself: for adapters that have no provider. */
  readonly mailbox: Mailbox;
}

export interface Cursor {
  /** Null at the first start. Rejects when the store cannot be asked. */
  get(): Promise<string | null>;
  /** Up to 4 KiB. Rejects when the store cannot be asked or the account is another process's. */
  set(value: string): Promise<void>;
}

/** One account at a provider. All methods but `start` and `receive` may be called in every replica at any time. */
export interface ChannelAdapter {
  /** The same answer as long as the adapter lives. The service never asks for an action that is not in it. */
  readonly capabilities: Capabilities;

  /**
   * Opens the inbound connection; left out by adapters that have none. At most one replica runs it for an account.
   * Resolves when the provider has accepted the connection and rejects when it does not; then the service tries again,
   * later and later. Afterwards the adapter reconnects by itself, tells `sink.state`, and calls `sink.lost` when it
   * gives up. `signal` aborts when the account is closed or belongs to another replica: stop taking messages at once.
   */
  start?(sink: InboundSink, signal: AbortSignal): Promise<void>;

  /**
   * Takes an HTTP request that the provider sends to `/hooks/<channel>/<account>`; left out by adapters that have
   * none. Check the signature over `body` first, and answer only after `sink.accept` has resolved. Any replica.
   */
  receive?(request: HookRequest, sink: InboundSink): Promise<HookAnswer>;

  /**
   * Sends one message that fits `maxTextLength`. Resolves when the provider has said that it took it. Otherwise throws
   * a {@link ChannelError}:
   * - `rate_limited` with the provider's time: nothing was sent. Do not wait and do not send again by yourself.
   * - `timeout_unknown` when a request left and no answer can say what became of it. **Every** error that is not a
   *   ChannelError counts as this one.
   * - `invalid_target`, `not_found`, `not_allowed`, `unsupported`, `provider_error`: surely nothing was sent. A `provider_error` that is not
   *   `isFinal` is retried, and the messages behind it wait.
   *
   * Switch off every repetition that the provider's library makes. `idempotencyKey` (32 hexadecimal digits, another one
   * for each piece of a text) is the same when the service tries the same message again, which it does without asking only
   * where `capabilities.idempotentSend` is true.
   */
  send(message: OutgoingMessage, call: AdapterCall): Promise<SentMessage>;

  /**
   * Finds out what became of a send whose answer was lost; left out where the provider cannot say. `null`: surely not
   * sent, so the service may send it again. Throws `timeout_unknown` when it is still not known.
   */
  findSent?(message: OutgoingMessage, call: AdapterCall): Promise<SentMessage | null>;

  react?(
    message: MessageAt,
    reaction: { readonly emoji: string; readonly remove: boolean },
    call: AdapterCall,
  ): Promise<void>;
  delete?(message: MessageAt, call: AdapterCall): Promise<void>;
  pin?(message: MessageAt, pin: { readonly unpin: boolean }, call: AdapterCall): Promise<void>;
  /** The last messages, oldest first. */
  read?(
    address: Address,
    page: { readonly limit: number; readonly before?: string; readonly after?: string },
    call: AdapterCall,
  ): Promise<readonly ReadMessage[]>;
  /** The target that a person's text means. Throws `invalid_target` when there is none. Without it, only `user:42` and the like are known. */
  resolve?(
    query: { readonly text: string; readonly kind: Target["kind"] | null },
    call: AdapterCall,
  ): Promise<{
    readonly target: Target;
    readonly threadId?: string;
    readonly displayName?: string;
  }>;

  /** Asks the provider who we are. Throws what `yard channels check` is to show. */
  check(call: AdapterCall): Promise<{ readonly identity: string }>;

  /** Ends connections and timers. Called once; `start`'s signal was aborted before. */
  close(): Promise<void>;
}

export type ReadMessage = z.output<typeof readChannelMessages.reply>["messages"][number];

export interface AdapterCall {
  /** The same for every attempt at the same thing. */
  readonly idempotencyKey: string;
  /** Aborts when the time for it is over. A request that was sent by then is `timeout_unknown`. */
  readonly signal: AbortSignal;
}

export interface OutgoingMessage {
  readonly address: Address;
  /** May be empty when there are attachments; then it is no caption either. */
  readonly text: string;
  readonly replyToMessageId?: string;
  /** Loaded and measured by the service, and within `media`. */
  readonly attachments: readonly OutgoingAttachment[];
  /** One of `effects`. */
  readonly effectId?: string;
  readonly silent: boolean;
}

export interface OutgoingAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface SentMessage {
  /** At least one; several when the provider made several of it. */
  readonly messageIds: readonly string[];
  /** The provider's time, or ours. */
  readonly sentAt: Date;
}

export interface MessageAt {
  readonly address: Address;
  readonly messageId: string;
  readonly authorId?: string;
}

/** Where messages of people go. */
export interface InboundSink {
  /**
   * Stores a message. **Acknowledge it to the provider only after this has resolved**, and after a rejection never: the
   * service is without its store, or the account is another replica's. A message that came before is no error, and
   * neither is one that the account's rules refuse. Keep the order of a conversation: one call after the other.
   */
  accept(message: IncomingMessage): Promise<"stored" | "known" | "ignored">;
  /** Shown by `yard channels list`. */
  state(state: "connected" | "connecting" | "error", problem?: string): void;
  /** The connection is gone for good, such as with a revoked token: the service closes and starts it again later. */
  lost(problem: string): void;
}

/** A message as the provider has it; ids as it writes them, numbers as text. */
export interface IncomingMessage {
  /** Where it was written, and where the answer goes. For a private conversation the target is the other person. */
  readonly target: Target;
  readonly threadId?: string;
  readonly messageId: string;
  /** What makes a repeat known, when the provider has something better than target and `messageId`. */
  readonly dedupeKey?: string;
  readonly sender: {
    readonly id: string;
    readonly name?: string;
    readonly username?: string;
    /** Of a program: refused, so that two of them do not talk for ever. */
    readonly isBot?: boolean;
  };
  readonly text: string;
  readonly attachments?: readonly {
    readonly name?: string | undefined;
    readonly mimeType?: string | undefined;
    readonly sizeBytes?: number | undefined;
    /** A URL without a secret in it. */
    readonly url?: string;
  }[];
  readonly replyToMessageId?: string;
  /** True when the text speaks to the account: an @-mention, a reply to a message of its own. */
  readonly mentionsAccount: boolean;
  readonly writtenAt: Date;
}

export interface HookRequest {
  readonly method: string;
  /** Behind `/hooks/<channel>/<account>`, with the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it came, at most 1 MiB. */
  readonly body: Uint8Array;
}

export interface HookAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** Messages that the service keeps in the place of a provider, a thousand for each target and for a week. */
export interface Mailbox {
  /** Adds one; under a key that was there before it returns the earlier one. */
  add(
    address: Address,
    message: Omit<ReadMessage, "messageId" | "at">,
    key: string | null,
  ): Promise<{ readonly messageId: string; readonly at: Date; readonly isNew: boolean }>;
  list(address: Address): Promise<readonly StoredMessage[]>;
  /** Replaces one, or removes it with `null`. False when it is not there. */
  change(
    address: Address,
    messageId: string,
    change: (message: StoredMessage) => StoredMessage | null,
  ): Promise<boolean>;
}

export type StoredMessage = ReadMessage & {
  readonly reactions?: readonly string[];
  readonly isPinned?: boolean;
};

export type ChannelErrorCode =
  | "invalid_target"
  | "not_found"
  | "not_allowed"
  | "unsupported"
  | "rate_limited"
  | "timeout_unknown"
  | "provider_error";

/** What an adapter could not do. The message is shown to callers: what happened and what to do, no secret. */
export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly code: ChannelErrorCode;
  /** For `rate_limited`, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** The provider refuses this message, and will refuse it again. */
  readonly isFinal: boolean;

  constructor(
    code: ChannelErrorCode,
    message: string,
    options: {
      readonly retryAfterMs?: number;
      readonly isFinal?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.isFinal = options.isFinal ?? false;
  }
}

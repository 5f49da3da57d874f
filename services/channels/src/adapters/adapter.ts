import type { Target, Capabilities, Address } from "@switchyard/contracts/channels/channel-address";
import type { readChannelMessages } from "@switchyard/contracts/channels/channels";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { z } from "zod";

/**
 * The interface between the service and a provider of messages. An adapter implements one provider's protocol and has no
 * knowledge about runs, callers or Redis: the service cuts texts into pieces, keeps the order, records what was sent and decides
 * whose messages are accepted. One folder for each adapter, one line for each in `adapters/adapter-list.ts`.
 */
export interface AdapterDefinition<C = unknown> {
  /** The channel's name: `telegram`. */
  readonly name: string;
  /**
   * The schema of an account's `config` in `channels.json`; a strict object. `${VAR}` in its texts is replaced before it is
   * parsed, so a token is simply a string here.
   */
  readonly config: z.ZodType<C>;
  /**
   * The secret values of a configuration. The service replaces them by `…` in everything that the adapter throws, reports or
   * logs. List every one, and parts that a library would print alone, such as a token inside of a URL.
   */
  secrets(config: C): readonly string[];
  /** Creates the adapter of one account, without a connection; throws when the configuration is inconsistent. */
  create(config: C, kit: AdapterKit): ChannelAdapter;
}

/** The services that an adapter gets. */
export interface AdapterKit {
  readonly channel: string;
  readonly accountId: string;
  /** Logs facts in fields, and no texts of people. Secrets are replaced. */
  readonly log: Log;
  /** For addresses that others supply: check the URL, and connect with its `lookup`. */
  readonly guard: EgressGuard;
  readonly now: () => number;
  /**
   * The adapter's position in the provider's stream of messages (an update's id, a UID), stored across restarts. Write it after
   * `InboundSink.accept` has stored the messages; the write is refused when this process lost the account meanwhile.
   */
  readonly cursor: Cursor;
  /** Messages stored by the service itself, for adapters that have no provider. */
  readonly mailbox: Mailbox;
}

export interface Cursor {
  /** Returns null at the first start. Rejects when the store does not answer. */
  get(): Promise<string | null>;
  /** Stores up to 4 KiB. Rejects when the store does not answer or the account belongs to another process. */
  set(value: string): Promise<void>;
}

/** One account at a provider. All methods but `start` and `receive` may be called in every replica at any time. */
export interface ChannelAdapter {
  /** The value is constant for the life of the adapter. The service never requests an action that is not in it. */
  readonly capabilities: Capabilities;

  /**
   * Opens the inbound connection; left out by adapters that have none. At most one replica runs it for an account. Resolves when
   * the provider has accepted the connection and rejects when it does not; then the service retries with growing delays.
   * Afterwards the adapter reconnects by itself, reports to `sink.state`, and calls `sink.lost` when it gives up. `signal` aborts
   * when the account is closed or belongs to another replica: stop receiving messages at once.
   */
  start?(sink: InboundSink, signal: AbortSignal): Promise<void>;

  /**
   * Receives an HTTP request that the provider sends to `/hooks/<channel>/<account>`; left out by adapters that have none. Check
   * the signature over `body` first, and answer only after `sink.accept` has resolved. It runs in any replica.
   */
  receive?(request: HookRequest, sink: InboundSink): Promise<HookAnswer>;

  /**
   * Sends one message that fits `maxTextLength`. Resolves when the provider has confirmed that it accepted it. Otherwise throws a
   * {@link ChannelError}:
   * - `rate_limited` with the provider's time: nothing was sent. The adapter neither waits nor retries.
   * - `timeout_unknown` when a request was sent and no answer shows its outcome. **Every** error that is not a ChannelError counts
   *   as this one.
   * - `invalid_target`, `not_found`, `not_allowed`, `unsupported`, `provider_error`: certainly nothing was sent. A `provider_error`
   *   that is not `isFinal` is retried, and the messages behind it wait.
   *
   * Switch off all retries of the provider's library. `idempotencyKey` (32 hexadecimal digits, a different one for each piece of
   * a text) is the same when the service retries a message, which it does without `findSent` only where
   * `capabilities.idempotentSend` is true.
   */
  send(message: OutgoingMessage, call: AdapterCall): Promise<SentMessage>;

  /**
   * Finds the outcome of a send whose answer was lost; left out where the provider cannot report it. `null`: certainly not sent,
   * so the service may send it again. Throws `timeout_unknown` when the outcome is still unknown.
   */
  findSent?(message: OutgoingMessage, call: AdapterCall): Promise<SentMessage | null>;

  /**
   * Loads a file that a person sent, by the `source` of its attachment; left out by adapters whose messages have no files. Throws a
   * {@link ChannelError} whose message is shown to the agent in place of the file: for one with more than `maxBytes`, for an address that is
   * not the provider's, and for every other failure. It follows no redirect with a secret, and runs in any replica.
   */
  load?(
    source: string,
    limits: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array>;

  /**
   * Replaces the text of a message and removes its buttons; left out by adapters without buttons. A message that has this text already is
   * no error.
   */
  edit?(
    message: MessageAt,
    content: Pick<OutgoingMessage, "text" | "verbatimFrom">,
    call: AdapterCall,
  ): Promise<void>;

  /**
   * True for a provider without buttons that proves who wrote a message: a message about a waiting call has a link to its page then. Such a
   * message is sent to one person alone, since its link decides as that person.
   */
  readonly hasDecisionLinks?: boolean;

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
  /**
   * Resolves a person's text to a target. Throws `invalid_target` when there is none. Without this method, only the form
   * `user:42` is supported.
   */
  resolve?(
    query: { readonly text: string; readonly kind: Target["kind"] | null },
    call: AdapterCall,
  ): Promise<{
    readonly target: Target;
    readonly threadId?: string;
    readonly displayName?: string;
  }>;

  /** Requests our identity from the provider. Its error is shown by `yard channels check`. */
  check(call: AdapterCall): Promise<{ readonly identity: string }>;

  /** Ends connections and timers. Called once; `start`'s signal was aborted before. */
  close(): Promise<void>;
}

export type ReadMessage = z.output<typeof readChannelMessages.reply>["messages"][number];

export interface AdapterCall {
  /** The key is the same for every attempt at one action. */
  readonly idempotencyKey: string;
  /** Aborts at the timeout. A request that was already sent is `timeout_unknown`. */
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
  /** From this UTF-16 unit of the text on, nothing is a link, a mention or formatting. Adapters that send all texts so ignore it. */
  readonly verbatimFrom?: number;
  /** Buttons below the text, for adapters with `edit`. */
  readonly buttons?: readonly MessageButton[];
}

export interface MessageButton {
  readonly label: string;
  /** Comes back with a press. At most 64 bytes of ASCII, as Telegram allows the least. */
  readonly data: string;
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

/** Receives the messages of people. */
export interface InboundSink {
  /**
   * Stores a message. **Acknowledge it to the provider only after this has resolved**, and after a rejection never: the store
   * does not answer, or the account belongs to another replica. A message that came before is no error, and neither is one that
   * the account's rules refuse. Keep the order of a conversation: one call after the other.
   */
  accept(message: IncomingMessage): Promise<"stored" | "known" | "ignored">;
  /**
   * Handles a press of a button. **Acknowledge it to the provider only after this has resolved**, and after a rejection never. Show the
   * answer to the person who pressed, and to no one else.
   */
  press(press: ButtonPress): Promise<PressAnswer>;
  /** Shown by `yard channels list`. */
  state(state: "connected" | "connecting" | "error", problem?: string): void;
  /** Reports that the connection is gone for good, such as with a revoked token: the service closes and starts it again later. */
  lost(problem: string): void;
}

/** A message as the provider has it; ids as it writes them, numbers as text. */
export interface IncomingMessage {
  /** The conversation of the message, and the address of the answer. For a private conversation the target is the other person. */
  readonly target: Target;
  readonly threadId?: string;
  readonly messageId: string;
  /** Identifies a repeat, when the provider has a better key than target and `messageId`. */
  readonly dedupeKey?: string;
  readonly sender: {
    readonly id: string;
    readonly name?: string;
    readonly username?: string;
    /** True for a program, whose messages are refused, so that two programs do not answer each other for ever. */
    readonly isBot?: boolean;
  };
  readonly text: string;
  readonly attachments?: readonly {
    readonly name?: string | undefined;
    readonly mimeType?: string | undefined;
    readonly sizeBytes?: number | undefined;
    /**
     * The id or address of the file for {@link ChannelAdapter.load}, without a secret, in at most 2,048 characters. Left out when the
     * adapter cannot load it.
     */
    readonly source?: string | undefined;
  }[];
  readonly replyToMessageId?: string;
  /** True when the text speaks to the account: an @-mention, a reply to a message of its own. */
  readonly mentionsAccount: boolean;
  readonly writtenAt: Date;
}

/** A press of a button, as the provider reports it. Only the provider's own fields count: `data` may be forged. */
export interface ButtonPress {
  /** The conversation of the message with the button. */
  readonly target: Target;
  readonly messageId: string;
  /** The provider's stable id of the person who pressed. */
  readonly personId: string;
  readonly data: string;
  /** Identifies this press: a repeated delivery has the same. */
  readonly pressId: string;
}

export interface PressAnswer {
  readonly text: string;
  /** True: the person has to notice it. */
  readonly isAlert: boolean;
}

export interface HookRequest {
  readonly method: string;
  /** Behind `/hooks/<channel>/<account>`, with the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The unchanged body, at most 1 MiB. */
  readonly body: Uint8Array;
}

export interface HookAnswer {
  readonly status: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** Messages that the service stores instead of a provider, a thousand for each target and for a week. */
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

export type StoredMessage = ReadMessage;

export type ChannelErrorCode =
  | "invalid_target"
  | "not_found"
  | "not_allowed"
  | "unsupported"
  | "rate_limited"
  | "timeout_unknown"
  | "provider_error";

/** A failure of an adapter. The message is shown to callers: what happened and what to do, without secrets. */
export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly code: ChannelErrorCode;
  /** The delay for `rate_limited`, in milliseconds. */
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

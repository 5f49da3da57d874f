import type { Msg } from "@nats-io/transport-node";
import { isSubjectToken, TOKEN_RULE, tokensOf, type Command } from "@switchyard/contracts/define";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import { HEADERS } from "@switchyard/contracts/headers";
import { checkCounted, JsonGauge } from "./bounded-json.ts";
import { claimedBytes, ClaimError, type ClaimCheck } from "./claim-check.ts";
import { correlationIdOf, headerOf, senderPosition } from "./message-headers.ts";
import { isServerMade } from "./server-made.ts";
import { childTraceparent } from "./trace-context.ts";
import { parseJson, problemsOf } from "./wire.ts";

/** The parts of a message that are read, wherever it comes from. */
export type QueueMessage = Pick<Msg, "subject" | "headers" | "data" | "string">;

/** Facts about a delivery, as the queue reports them. */
export interface QueueFacts {
  /** 1 at the first delivery. */
  readonly deliveryCount: number;
  readonly streamSequence: number;
  readonly publishedAtMs: number;
  /** See {@link DeliveryFacts}. */
  readonly isEarly: boolean;
  readonly holder: string;
}

/** The queue's facts about a message, independent of its content. */
export interface DeliveryFacts {
  /**
   * The NATS user that published it, which the server's permissions guarantee, or the user that the gateway published for. For a rejected
   * message it is the NATS user.
   */
  readonly caller: string;
  readonly subject: string;
  /** The position in the stream that stored it, as its sender received it: in the sender's own stream, where it has one. */
  readonly streamSequence: number;
  /** 1 at the first delivery. */
  readonly deliveryCount: number;
  readonly messageId: string | null;
  /** The time at which the stream stored the message. */
  readonly publishedAt: Date;
  /**
   * Taken before its turn, because its lane has less in progress than others. The queue delivers the message in its turn, too, to any
   * replica and perhaps while this delivery is in progress; so work that cannot be done now is left to that delivery, and is not reported.
   */
  readonly isEarly: boolean;
  /**
   * The holder of the message: one name for all its deliveries in turn, of which the queue allows one in progress at a time, and another
   * one for each early delivery.
   */
  readonly holder: string;
  readonly correlationId: string;
  readonly traceparent: string;
  /** Aborts when this process no longer holds the message, and when a stop gives up waiting. */
  readonly signal: AbortSignal;
}

export interface CommandContent {
  readonly kind: "command";
  readonly contract: Command;
  readonly tokens: Record<string, string>;
  /** Parsed by the contract's schema. */
  readonly payload: unknown;
}

/** A message that no command contract accepts; a retry would not help. */
export interface RejectedContent {
  readonly kind: "rejected";
  readonly code: "malformed_json" | "invalid_command" | "unknown_command";
  readonly message: string;
  /** One line per problem. */
  readonly problems: string[];
  /** The payload when it is JSON, so that an answer can name the sender's ids. */
  readonly payload: unknown;
}

export type Delivery = (CommandContent | RejectedContent) & DeliveryFacts;

/** Builds the facts. `traceparent` is that of the work's span, when a tracer records it. */
export function factsOf(
  message: QueueMessage,
  { publishedAtMs, ...queue }: QueueFacts,
  work: { readonly signal: AbortSignal; readonly traceparent: string | undefined },
): DeliveryFacts {
  const { signal, traceparent } = work;
  return {
    ...queue,
    streamSequence: senderPosition(message)?.sequence ?? queue.streamSequence,
    caller: message.subject.split(".")[2] ?? "",
    subject: message.subject,
    messageId: headerOf(message, HEADERS.messageId) ?? null,
    publishedAt: new Date(publishedAtMs),
    correlationId: correlationIdOf(message),
    traceparent: traceparent ?? childTraceparent(headerOf(message, HEADERS.traceparent)),
    signal,
  };
}

/** Reads a message as one of the commands. Rejects only when the payload bucket cannot be read now, so that the message can be retried. */
export async function contentOf(
  message: QueueMessage,
  commands: readonly Command[],
  claims: ClaimCheck,
): Promise<CommandContent | RejectedContent> {
  const { subject } = message;
  const found = matchCommand(commands, subject);
  if (found === null) {
    const known = commands.map((command) => command.subject).join(", ");
    return rejected("unknown_command", `no command has the subject ${subject}; known are ${known}`);
  }
  const { contract, tokens } = found;
  const unsafe = Object.entries(tokens).find(([, value]) => !isSubjectToken(value));
  if (unsafe !== undefined) {
    return invalid(contract, [`{${unsafe[0]}}: ${TOKEN_RULE}`]);
  }
  const gauge = new JsonGauge(contract.limits);
  let text: string;
  try {
    text = await textOf(message, { contract, gauge, claims });
  } catch (error) {
    if (error instanceof ClaimError)
      return invalid(contract, [error.message], smallPayload(message));
    throw error;
  }
  const body = parseJson(text);
  if (!body.ok)
    return rejected("malformed_json", `${contract.name} needs a JSON payload`, [body.problem]);
  if (isServerMade(message, body.value)) {
    return invalid(contract, [
      "(root): the NATS server sent this as a reply to another request; publish the command itself",
    ]);
  }
  const payload = checkCounted(contract.payload, body.value, gauge);
  if (!payload.success) return invalid(contract, problemsOf(payload.error), body.value);
  return { kind: "command", contract, tokens, payload: payload.data };
}

/**
 * Parses what JetStream wrote about a message into its reply subject. Throws a TypeError on any other message.
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<nanoseconds>.<pending>`, or with domain and account in front
 * (ADR-15).
 */
export function readAckSubject(subject: string): {
  deliveryCount: number;
  streamSequence: number;
  /** Counts the deliveries of the consumer, from 1. */
  consumerSequence: number;
  publishedAtMs: number;
  /** Messages behind it that were never delivered. */
  pending: number;
} {
  if (!isAckSubject(subject))
    throw new TypeError(`${subject} is not the ack subject of a JetStream message`);
  const parts = subject.split(".");
  const offset = parts.length === 9 ? 4 : 6;
  return {
    deliveryCount: Number(parts[offset]),
    streamSequence: Number(parts[offset + 1]),
    consumerSequence: Number(parts[offset + 2]),
    publishedAtMs: Number(BigInt(parts[offset + 3] ?? "0") / 1_000_000n),
    pending: Number(parts[offset + 4]),
  };
}

/** True for a reply subject that JetStream makes for a message of a stream. */
export function isAckSubject(subject: string): boolean {
  const { length } = subject.split(".");
  return subject.startsWith("$JS.ACK.") && (length === 9 || length >= 11);
}

/** The payload, wherever it is stored. Rejects with a ClaimError for one that is larger than its contract accepts. */
async function textOf(
  message: QueueMessage,
  {
    contract: { limits },
    gauge,
    claims,
  }: { readonly contract: Command; readonly gauge: JsonGauge; readonly claims: ClaimCheck },
): Promise<string> {
  const claim = headerOf(message, HEADERS.claim);
  if (claim === undefined) {
    const problem = gauge.add(message.data);
    if (problem !== null) throw new ClaimError(null, `the payload ${problem}`);
    return message.string();
  }
  if (claimedBytes(claim) > limits.maxBytes)
    throw new ClaimError(null, `the payload is larger than ${limits.maxBytes} bytes`);
  return claims.get(claim, message.subject.split(".")[2] ?? "", (part) => gauge.add(part));
}

/** A payload of up to so many bytes is parsed in a millisecond, whatever it contains. */
const SMALL_BYTES = 64 * 1024;

/**
 * The payload of a refused command, so that its sender can be notified by the id in it; undefined for one that would take long to parse.
 */
function smallPayload(message: QueueMessage): unknown {
  if (headerOf(message, HEADERS.claim) !== undefined || message.data.length > SMALL_BYTES)
    return undefined;
  const body = parseJson(message.string());
  return body.ok ? body.value : undefined;
}

function matchCommand(
  commands: readonly Command[],
  subject: string,
): { contract: Command; tokens: Record<string, string> } | null {
  for (const contract of commands) {
    const tokens = tokensOf<string>(contract, subject);
    if (tokens !== null) return { contract, tokens };
  }
  return null;
}

/** The content of a command that its sender is not allowed to send. */
export function refusedContent(
  { contract, payload }: CommandContent,
  why: string,
): RejectedContent {
  return { ...rejected("invalid_command", `${contract.name} is refused`, [why]), payload };
}

function invalid(contract: Command, problems: string[], payload?: unknown): RejectedContent {
  const message = `the payload does not fit ${contract.name}`;
  return { ...rejected("invalid_command", message, problems), payload };
}

function rejected(
  code: RejectedContent["code"],
  message: string,
  problems: string[] = [],
): RejectedContent {
  return { kind: "rejected", code, message, problems, payload: undefined };
}

/** The outcome of a delivery. */
export type Outcome =
  | { readonly outcome: "done" }
  /** No acknowledgement: the server redelivers after the ack wait, unless another replica holds the message. */
  | { readonly outcome: "left" }
  | { readonly outcome: "retry"; readonly delayMs: number }
  | { readonly outcome: "drop"; readonly reason: string };

export interface ConsumeOptions {
  readonly consumer: ConsumerDefinition;
  /** The contracts that the messages may fit; any other message arrives as a rejected delivery. */
  readonly commands: readonly Command[];
  /**
   * Deliveries in progress at a time; a pull never requests more messages than there are free slots. A consumer with lanes has one more
   * slot for a lane without work in progress.
   */
  readonly concurrency: number;
  /** A throw means a later retry (capped exponential backoff), and `onFault` is called. */
  readonly handle: (delivery: Delivery) => Promise<Outcome>;
  /**
   * Called every third of the ack wait while a delivery is in progress. After a throw it is retried soon. False, or no answer for the whole
   * ack wait, aborts the delivery's signal, and its message is not acknowledged: another replica may hold it.
   */
  readonly renew?: (delivery: Delivery) => Promise<boolean>;
  readonly onFault: (fault: { error: unknown; subject: string }) => void;
}

import {
  subjectOf,
  tokensOf,
  type Command,
  type Event,
  type Live,
  type Tokens,
} from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
import { dueSubject, timerSubject } from "@switchyard/topology/timer-subjects";
import type { MsgHdrs } from "@nats-io/transport-node";
import type { z } from "zod";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { disconnected, streamMissing } from "./infrastructure-errors.ts";
import { correlationHeaders, headersOf, type Correlation } from "./message-headers.ts";
import { readPublishAck, type Published } from "./publish-ack.ts";
import { encodeJson, problemsOf } from "./wire.ts";

export interface PublishOptions extends Correlation {
  /** A repeat with the same id is dropped while the stream's duplicate window lasts. */
  readonly messageId?: string | undefined;
  /** See `userToken` in CallOptions. */
  readonly userToken?: string | undefined;
}

/** Exported for this package only. */
export const PUBLISH_TIMEOUT_MS = 5_000;
/** A due message waits this long for the work queue to fetch it. */
const DUE_TTL = "24h";

/**
 * Stores an event in its stream; resolves when the server has it. Rejects with a ServiceError:
 * `invalid_request` when the payload does not fit the contract, else a standard code.
 * After `timeout` the event may be stored: repeat it with a `messageId`.
 */
// oxlint-disable-next-line max-params -- four name what is published, the fifth is optional
export function publishEvent<E extends Event>(
  bus: Bus,
  contract: E,
  tokens: Tokens<E["subject"]>,
  payload: z.input<E["payload"]>,
  options?: PublishOptions,
): Promise<Published> {
  const subject = subjectOf<string>(contract, tokens);
  return checkedStore(connectionOf(bus), contract, { subject, payload, options });
}

/**
 * Stores an event whose payload is JSON already. The payload is not validated, so the caller has to ensure that it fits the contract: meant
 * for events that are written thousands of times a second from validated parts. Errors as for {@link publishEvent}, but for
 * `invalid_request`.
 */
// oxlint-disable-next-line max-params -- as for publishEvent
export function publishEventJson<E extends Event>(
  bus: Bus,
  contract: E,
  tokens: Tokens<E["subject"]>,
  json: string,
  options?: PublishOptions,
): Promise<Published> {
  const subject = subjectOf<string>(contract, tokens);
  return store(connectionOf(bus), contract, { subject, body: json, options });
}

/** Stores a command in the work queue, under this bus's own user. Errors as for {@link publishEvent}. */
// oxlint-disable-next-line max-params -- as for publishEvent
export function publishCommand<C extends Command>(
  bus: Bus,
  contract: C,
  tokens: Omit<Tokens<C["subject"]>, "caller">,
  payload: z.input<C["payload"]>,
  options?: PublishOptions,
): Promise<Published> {
  if (bus.carrier !== undefined) return bus.carrier.publish(contract, tokens, payload);
  const connection = connectionOf(bus);
  const subject = subjectOf<string>(contract, { ...tokens, caller: connection.user });
  return checkedStore(connection, contract, { subject, payload, options });
}

/**
 * Makes the server put a command into the work queue at a future time, under this bus's own user; a time in the past means at once. There
 * is one timer for each subject: setting it again moves it. It survives restarts of everything, comes some 0.1 s late, and may come twice:
 * the receiver checks the clock itself. Errors as for {@link publishEvent}.
 */
// oxlint-disable-next-line max-params -- as for publishEvent
export function scheduleCommand<C extends Command>(
  bus: Bus,
  contract: C,
  tokens: Omit<Tokens<C["subject"]>, "caller">,
  payload: z.input<C["payload"]>,
  options: Correlation & { readonly at: Date },
): Promise<Published> {
  const connection = connectionOf(bus);
  const target = subjectOf<string>(contract, { ...tokens, caller: connection.user });
  return checkedStore(connection, contract, {
    subject: timerSubject(target),
    payload,
    options,
    extra: {
      [HEADERS.schedule]: `@at ${options.at.toISOString()}`,
      [HEADERS.scheduleTarget]: dueSubject(target),
      [HEADERS.scheduleTtl]: DUE_TTL,
    },
  });
}

/**
 * Sends a live message, at most once. While the bus is not connected it is dropped: every fact in
 * it is repeated by an event. Throws only when the payload does not fit the contract.
 */
export function publishLive<L extends Live>(
  bus: Bus,
  contract: L,
  tokens: Tokens<L["subject"]>,
  payload: z.input<L["payload"]>,
): void {
  const connection = connectionOf(bus);
  const { nc } = connection;
  const subject = subjectOf<string>(contract, tokens);
  const body = bodyOf(contract, payload);
  if (!connection.isConnected() || nc.isClosed() || nc.isDraining()) return;
  connection.outbox.send({ subject, body });
}

/** A message that is to be stored, with its payload as JSON. */
interface Message {
  readonly subject: string;
  readonly body: string;
  readonly options: PublishOptions | undefined;
  readonly extra?: Readonly<Record<string, string>>;
}

/** A message with its headers, ready to be sent. */
export interface ReadyMessage {
  readonly subject: string;
  readonly body: string;
  readonly headers: MsgHdrs;
}

async function checkedStore(
  connection: Connection,
  contract: Event | Command,
  { payload, ...message }: Omit<Message, "body"> & { readonly payload: unknown },
): Promise<Published> {
  const body = bodyOf(contract, payload);
  return store(connection, contract, { ...message, body });
}

async function store(
  connection: Connection,
  contract: Event | Command,
  message: Message,
): Promise<Published> {
  if (!connection.isConnected()) throw disconnected(message.subject);
  return storeNow(connection, await readyMessage(connection, contract, message));
}

/**
 * A message in the form that is sent; a body that is too large for one message is already in the payload bucket. Exported for this package
 * only.
 */
export async function readyMessage(
  { claims, user }: Connection,
  contract: Event | Command,
  { subject, body, options = {}, extra }: Message,
): Promise<ReadyMessage> {
  const headers: Record<string, string> = {
    [HEADERS.contract]: contract.name,
    ...correlationHeaders(options),
    ...extra,
  };
  if (options.messageId !== undefined) headers[HEADERS.messageId] = options.messageId;
  if (options.userToken !== undefined) headers[HEADERS.user] = options.userToken;
  const isClaimed = claims.isNeededFor(body);
  if (isClaimed) {
    const about =
      contract.kind === "command"
        ? { owner: user, maxBytes: contract.limits.maxBytes }
        : { owner: ownerOf(contract, subject) };
    headers[HEADERS.claim] = await claims.put(body, { subject, ...about });
  }
  return {
    subject: publishedAs(subject),
    body: isClaimed ? "" : body,
    headers: headersOf(headers),
  };
}

/** The owner of an event; null for an event that every user may read. */
function ownerOf(contract: Event, subject: string): string | null {
  const tokens: Readonly<Record<string, string>> | null = tokensOf(contract, subject);
  return tokens?.["owner"] ?? null;
}

/** Sends one message and waits until its stream has it. Exported for this package only; errors as for {@link publishEvent}. */
export async function storeNow(
  { replies, stores }: Connection,
  { subject, body, headers }: ReadyMessage,
): Promise<Published> {
  try {
    const timeoutMs = PUBLISH_TIMEOUT_MS;
    const answer = await stores.watch(subject, () =>
      replies.request({ subject, body, headers, timeoutMs }),
    );
    return readPublishAck(subject, answer.string());
  } catch (error) {
    if (error instanceof ServiceError && error.code === "no_responders")
      throw streamMissing(subject);
    throw error;
  }
}

/** The JSON of a payload. Throws `invalid_request` when it does not fit the contract: clients of the gateway see the message, so it names no subject. */
function bodyOf(contract: Event | Command | Live, payload: unknown): string {
  const parsed = contract.payload.safeParse(payload);
  if (parsed.success) return encodeJson(parsed.data);
  const problems = problemsOf(parsed.error);
  throw new ServiceError(
    "invalid_request",
    `the payload does not fit ${contract.name}: ${problems.join("; ")}`,
    {
      data: { problems },
    },
  );
}

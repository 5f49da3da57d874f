import { type Msg } from "@nats-io/transport-node";
import { cutText } from "@switchyard/contracts/cut-text";
import { subjectOf, type Rpc, type Tokens } from "@switchyard/contracts/define";
import { isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import type { z } from "zod";
import { ClaimError } from "./claim-check.ts";
import type { Bus } from "./connect.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { disconnected, timedOut } from "./infrastructure-errors.ts";
import { correlationHeaders, headerOf, headersOf } from "./message-headers.ts";
import { inSpan } from "./tracing.ts";
import { decodeReply, encodeJson, problemsOf, type Failure } from "./wire.ts";

export interface CallOptions<R extends Rpc = Rpc> {
  /** The tokens of the subject besides `caller`, which is always the bus's own user. */
  readonly tokens?: Omit<Tokens<R["subject"]>, "caller">;
  /** Default: the contract's. With a deadline too, whatever comes first. */
  readonly timeoutMs?: number;
  /** In milliseconds since the epoch; pass on the one of the request that is being served. */
  readonly deadline?: number;
  /** Ends the wait, with the signal's reason. What was sent is not called back. */
  readonly signal?: AbortSignal;
  readonly correlationId?: string;
  readonly traceparent?: string;
  /** The user token of whom the gateway asks for; nobody else's is believed. */
  readonly userToken?: string;
  /**
   * Bytes that travel beside the request, for a contract that accepts some. They are stored as they arrive. The call rejects with
   * `payload_too_large` when they are more than the contract accepts.
   */
  readonly attachment?: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined;
}

export type Client<M extends Record<string, Rpc>> = {
  readonly [K in keyof M]: (
    request: z.input<M[K]["request"]>,
    options?: CallOptions<M[K]>,
  ) => Promise<z.output<M[K]["reply"]>>;
};

/**
 * Calls an rpc and returns its reply. Rejects with a ServiceError: a code that the contract
 * declares, or a standard one. A call while the bus reconnects fails at once and sends nothing.
 */
export function call<R extends Rpc>(
  bus: Bus,
  contract: R,
  request: z.input<R["request"]>,
  options: CallOptions<R> = {},
): Promise<z.output<R["reply"]>> {
  if (bus.carrier !== undefined) return bus.carrier.call(contract, request, options);
  const { name } = contract;
  const attributes = { "rpc.system.name": "nats", "rpc.method": name };
  const facts = { name, kind: "client", parent: options.traceparent, attributes } as const;
  return inSpan(facts, ({ traceparent }) =>
    send(bus, contract, {
      request,
      options: traceparent === undefined ? options : { ...options, traceparent },
    }),
  );
}

async function send<R extends Rpc>(
  bus: Bus,
  contract: R,
  { request, options }: { request: z.input<R["request"]>; options: CallOptions<R> },
): Promise<z.output<R["reply"]>> {
  const connection = connectionOf(bus);
  const subject = requestSubject(connection, contract, options.tokens);
  const deadline = deadlineOf(contract, options);
  const body = encodeJson(request);
  const { userToken } = options;
  const headers: Record<string, string> = {
    [HEADERS.deadline]: String(deadline),
    ...correlationHeaders(options),
    ...(userToken === undefined ? {} : { [HEADERS.user]: userToken }),
  };
  if (options.attachment !== undefined) {
    if (!connection.isConnected()) throw disconnected(subject);
    headers[HEADERS.attachment] = await connection.claims.putBytes(options.attachment, {
      subject,
      owner: connection.user,
      isBrief: true,
      maxBytes: contract.attachment?.maxBytes ?? 0,
    });
  }
  if (!connection.claims.isNeededFor(body)) {
    return exchange(connection, contract, { subject, body, headers, deadline, options });
  }
  if (!connection.isConnected()) throw disconnected(subject);
  const claim = await connection.claims.put(body, {
    subject,
    owner: connection.user,
    isBrief: true,
    maxBytes: contract.limits.maxBytes,
  });
  return exchange(connection, contract, {
    subject,
    body: "",
    headers: { ...headers, [HEADERS.claim]: claim },
    deadline,
    options,
  });
}

/** One function per contract: `client(bus, { checkPolicy }).checkPolicy(request, options)`. */
export function client<M extends Record<string, Rpc>>(bus: Bus, contracts: M): Client<M> {
  const entries = Object.entries(contracts).map(([name, contract]) => [
    name,
    (request: unknown, options?: CallOptions) => call(bus, contract, request, options),
  ]);
  // Object.fromEntries forgets which contract belongs to which name.
  return Object.fromEntries(entries) as Client<M>;
}

interface Exchange {
  readonly subject: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly deadline: number;
  readonly options: CallOptions;
}

async function exchange<R extends Rpc>(
  connection: Connection,
  contract: R,
  { subject, body, headers, deadline, options }: Exchange,
): Promise<z.output<R["reply"]>> {
  if (!connection.isConnected()) throw disconnected(subject);
  const timeoutMs = deadline - Date.now();
  if (timeoutMs <= 0) {
    throw new ServiceError(
      "deadline_exceeded",
      `the deadline of ${subject} was over before the request was sent`,
    );
  }
  const message = await connection.replies.request({
    subject,
    body,
    headers: headersOf(headers),
    timeoutMs,
    signal: options.signal,
    isNoted: true,
  });
  const text =
    message.headers === undefined
      ? message.string()
      : await replyText(connection, subject, message, deadline);
  const reply = decodeReply(text);
  if (reply === null)
    throw new ServiceError("invalid_reply", `the answer to ${subject} is not a reply`);
  if (!reply.ok) throw failureOf(contract, subject, reply);
  const parsed = contract.reply.safeParse(reply.value);
  if (!parsed.success) throw invalidReply(subject, problemsOf(parsed.error));
  return parsed.data as z.output<R["reply"]>; // the schema is R's own, only its type got lost in the union
}

async function replyText(
  connection: Connection,
  subject: string,
  message: Msg,
  deadline: number,
): Promise<string> {
  const claim = headerOf(message, HEADERS.claim);
  if (claim === undefined) return message.string();
  try {
    return await connection.claims.get(claim, connection.user);
  } catch (error) {
    if (error instanceof ClaimError) throw invalidReply(subject, [error.message]);
    throw Date.now() > deadline ? timedOut(subject, Date.now() - deadline) : error;
  }
}

function failureOf(contract: Rpc, subject: string, failure: Failure): ServiceError {
  const { code, message } = failure;
  const declared = Object.hasOwn(contract.errors, code) ? contract.errors[code] : undefined;
  if (declared !== undefined) {
    const data = declared.data.safeParse(failure.data);
    if (!data.success) return invalidReply(subject, problemsOf(data.error));
    return new ServiceError(code, message, {
      data: data.data,
      retryable: declared.retryable ?? false,
    });
  }
  if (isStandardCode(code)) return new ServiceError(code, message, { data: failure.data });
  return invalidReply(subject, [`code: ${cutText(code, 64)} is not declared by ${contract.name}`]);
}

function invalidReply(subject: string, problems: string[]): ServiceError {
  return new ServiceError(
    "invalid_reply",
    `the answer to ${subject} does not fit its contract: ${problems.join("; ")}`,
    {
      data: { problems },
    },
  );
}

function deadlineOf(contract: Rpc, options: CallOptions): number {
  const { deadline, timeoutMs } = options;
  if (deadline !== undefined && timeoutMs === undefined) return deadline;
  return Math.min(deadline ?? Infinity, Date.now() + (timeoutMs ?? contract.timeoutMs));
}

/** Subjects of contracts whose only token is the caller: they are the same at every call. */
const fixedSubjects = new WeakMap<Connection, WeakMap<Rpc, string>>();

function requestSubject(
  connection: Connection,
  contract: Rpc,
  tokens: CallOptions["tokens"],
): string {
  if (tokens !== undefined)
    return subjectOf<string>(contract, { ...tokens, caller: connection.user });
  let known = fixedSubjects.get(connection);
  if (known === undefined) {
    known = new WeakMap();
    fixedSubjects.set(connection, known);
  }
  let subject = known.get(contract);
  if (subject === undefined) {
    subject = subjectOf<string>(contract, { caller: connection.user });
    known.set(contract, subject);
  }
  return subject;
}

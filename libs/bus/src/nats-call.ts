import type { Msg } from "@nats-io/transport-node";
import type { Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import type { CallOptions } from "./call-options.ts";
import { ClaimError } from "./claim-check.ts";
import type { Connection } from "./connection.ts";
import { disconnected, timedOut } from "./infrastructure-errors.ts";
import type { ClientCall } from "./interceptor.ts";
import { headerOf, headersOf } from "./message-headers.ts";
import {
  deadlineOf,
  failureOf,
  invalidReply,
  requestHeaders,
  requestSubject,
  timeLeft,
} from "./outgoing-call.ts";
import { decodeReply, encodeJson, problemsOf } from "./wire.ts";

/** Sends a call over NATS and waits for its reply: the last step of every chain. */
export async function callOverNats(
  connection: Connection,
  { contract, request, options }: ClientCall,
): Promise<unknown> {
  const subject = requestSubject(connection, contract, options.tokens);
  const deadline = deadlineOf(contract, options);
  const body = encodeJson(request);
  const headers = requestHeaders(deadline, options);
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

interface Exchange {
  readonly subject: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly deadline: number;
  readonly options: CallOptions;
}

async function exchange(
  connection: Connection,
  contract: Rpc,
  { subject, body, headers, deadline, options }: Exchange,
): Promise<unknown> {
  if (!connection.isConnected()) throw disconnected(subject);
  const timeoutMs = timeLeft(subject, deadline);
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
  return parsed.data;
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

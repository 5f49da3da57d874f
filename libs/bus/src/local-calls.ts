import { tokensOf } from "@switchyard/contracts/define";
import type { Outcome } from "./arrival.ts";
import type { Connection } from "./connection.ts";
import type { ClientCall, ClientInterceptor } from "./interceptor.ts";
import { copyJson } from "./json-copy.ts";
import { LocalArrival } from "./local-arrival.ts";
import type { LocalServices } from "./local-services.ts";
import {
  deadlineOf,
  failureOf,
  requestHeaders,
  requestSubject,
  timeLeft,
} from "./outgoing-call.ts";
import { abortReason } from "./pending-replies.ts";
import { encodeJson, isLargerThan } from "./wire.ts";

/**
 * Delivers a call to an endpoint of this process, with the permission, deadline, limits, turns, errors, trace and counters that it would
 * have over NATS. A call that no endpoint accepts goes over NATS: a contract that this process does not serve or that the user may not
 * call, an endpoint that is full or stops, a request that is no JSON, is beyond the limits of its contract or has an attachment, which is
 * stored in any case.
 */
export function localCalls(connection: Connection, services: LocalServices): ClientInterceptor {
  return (next) => async (call) => {
    if (call.options.attachment !== undefined) return next(call);
    const subject = requestSubject(connection, call.contract, call.options.tokens);
    const reply = begin(connection, services, { ...call, subject });
    if (reply === null) return next(call);
    const outcome = await reply;
    if (!outcome.ok) throw failureOf(call.contract, subject, outcome.failure);
    return (outcome.reply as { readonly value: unknown }).value; // as the arrival prepared it
  };
}

/** The pending outcome; null when no endpoint accepted the call. */
function begin(
  connection: Connection,
  services: LocalServices,
  { contract, request, options, subject }: ClientCall & { readonly subject: string },
): Promise<Outcome> | null {
  const endpoints = services.find(connection.user, contract, subject);
  if (endpoints.length === 0 || connection.isClosed()) return null;
  const { limits } = contract;
  const copy = copyJson(request, limits);
  if (copy === null) return null;
  // A character of a text takes up to six bytes in JSON. A value that may be too large is measured as it would be sent.
  if (copy.bytes * 6 > limits.maxBytes && isLargerThan(encodeJson(request), limits.maxBytes))
    return null;
  const { signal } = options;
  if (signal?.aborted === true) return Promise.reject(abortReason(signal));
  const deadline = deadlineOf(contract, options);
  const timeoutMs = timeLeft(subject, deadline);
  const pending = connection.localReplies.open({ subject, timeoutMs, signal });
  const arrival = new LocalArrival({
    contract,
    subject,
    tokens: tokensOf<string>(contract, subject) ?? {},
    headers: requestHeaders(deadline, options),
    request: copy,
    onOutcome: (outcome) => {
      // A failure that the deadline caused also arrives too late over NATS: the caller has timed out.
      if (!outcome.ok && Date.now() >= deadline) pending.expire();
      else pending.succeed(outcome);
    },
  });
  if (endpoints.some((endpoint) => endpoint.offer(arrival))) return pending.reply;
  pending.drop();
  return null;
}

import { cutText } from "@switchyard/contracts/cut-text";
import { subjectOf, type Rpc } from "@switchyard/contracts/define";
import { isStandardCode, ServiceError } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import type { CallOptions } from "./call-options.ts";
import type { Connection } from "./connection.ts";
import { correlationHeaders } from "./message-headers.ts";
import { problemsOf, type Failure } from "./wire.ts";

/** The deadline for the reply, in milliseconds since the epoch. */
export function deadlineOf(contract: Rpc, options: CallOptions): number {
  const { deadline, timeoutMs } = options;
  if (deadline !== undefined && timeoutMs === undefined) return deadline;
  return Math.min(deadline ?? Infinity, Date.now() + (timeoutMs ?? contract.timeoutMs));
}

/** The time that a call may still wait, in milliseconds. Throws `deadline_exceeded` when its time is over before it is sent. */
export function timeLeft(subject: string, deadline: number): number {
  const timeoutMs = deadline - Date.now();
  if (timeoutMs > 0) return timeoutMs;
  throw new ServiceError(
    "deadline_exceeded",
    `the deadline of ${subject} was over before the request was sent`,
  );
}

/** The headers of a request besides those about its body. */
export function requestHeaders(deadline: number, options: CallOptions): Record<string, string> {
  const { userToken } = options;
  return {
    [HEADERS.deadline]: String(deadline),
    ...correlationHeaders(options),
    ...(userToken === undefined ? {} : { [HEADERS.user]: userToken }),
  };
}

/** Subjects of contracts whose only token is the caller: they are the same at every call. */
const fixedSubjects = new WeakMap<Connection, WeakMap<Rpc, string>>();

/** The subject of a request. Throws a TypeError for a token that is missing or unsafe. */
export function requestSubject(
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

/** The error that a failure on the wire represents: a declared one with its data, a standard one, or `invalid_reply`. */
export function failureOf(contract: Rpc, subject: string, failure: Failure): ServiceError {
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

/** The error for a reply that does not fit its contract. */
export function invalidReply(subject: string, problems: string[]): ServiceError {
  return new ServiceError(
    "invalid_reply",
    `the answer to ${subject} does not fit its contract: ${problems.join("; ")}`,
    {
      data: { problems },
    },
  );
}

import { JetStreamApiError } from "@nats-io/jetstream";
import {
  ClosedConnectionError,
  DrainingConnectionError,
  InvalidArgumentError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from "@nats-io/transport-node";
import { COMMAND_QUOTA } from "@switchyard/contracts/stream-names";
import { ServiceError } from "@switchyard/contracts/errors";

/** JetStream's own error, in the form of an API reply: https://docs.nats.io/reference/reference-protocols/nats_api_reference. */
export interface ApiError {
  readonly code: number;
  readonly err_code?: number;
  readonly description: string;
}

// Error codes in nats-server's errors.json.
const MESSAGE_TOO_LARGE = 10_054;
const INSUFFICIENT_RESOURCES = 10_023;
const BATCHES_DISABLED = 10_205;
const NO_ROOM_FOR_STREAM = 10_047;
const STORE_FAILED = 10_077; // also when a stream that discards `new` is full

/** The subject of a request has no subscriber. */
export function noResponders(subject: string): ServiceError {
  return new ServiceError(
    "no_responders",
    `no service answers ${subject}: it is not running, or nothing owns this subject`,
  );
}

/** The server's permissions do not let this user use the subject. */
export function forbidden(
  operation: "publish" | "subscribe",
  user: string,
  subject: string,
): ServiceError {
  return new ServiceError(
    "forbidden",
    `NATS user ${user} may not ${operation} ${subject}: the permissions follow from libs/topology/src/topology.ts`,
  );
}

/** No answer came in time: the outcome of the request is unknown, so it is not retryable automatically. */
export function timedOut(subject: string, waitedMs: number): ServiceError {
  return new ServiceError(
    "timeout",
    `no answer to ${subject} within ${Math.round(waitedMs)} ms; the request may have been carried out`,
  );
}

/**
 * The service that accepted the request sent no working note for longer than a live one would. The outcome is as unknown as after a
 * timeout.
 */
export function fellSilent(subject: string): ServiceError {
  return new ServiceError(
    "timeout",
    `lost contact with the service handling ${subject}; the request may or may not have been carried out`,
  );
}

/** There is no connection now, so nothing was sent and a retry is safe. */
export function disconnected(subject: string): ServiceError {
  return new ServiceError(
    "disconnected",
    `not connected to NATS, so ${subject} was not sent; the bus reconnects by itself`,
  );
}

/** The bus was closed between a request and its answer. */
export function answerLost(subject: string): ServiceError {
  return new ServiceError(
    "disconnected",
    `the bus was closed before the answer to ${subject} came; the request may have been carried out`,
    { retryable: false },
  );
}

/** The server lost a message, and so did not store those behind it. */
export function lostOnTheWay(subject: string): ServiceError {
  return new ServiceError(
    "disconnected",
    `the server does not have ${subject}, or what was sent before it; store it again`,
  );
}

/** The body is larger than even the payload bucket accepts; `limitBytes` goes into the error's data. */
export function tooLarge(subject: string, limitBytes: number): ServiceError {
  return new ServiceError(
    "payload_too_large",
    `the payload for ${subject} is larger than ${limitBytes} bytes; send a reference to it instead`,
    { data: { limitBytes } },
  );
}

/** No stream has a JetStream subject. */
export function streamMissing(subject: string): ServiceError {
  return new ServiceError(
    "no_responders",
    `no stream stores ${subject}: create the streams with \`yard streams ensure\`; where they are there nats-server has turned JetStream off, as it does when its disk is full (see docs/operations.md)`,
  );
}

/** The stream has not answered earlier messages, so this one was not sent. */
export function notStored(subject: string, stream: string): ServiceError {
  return new ServiceError(
    "overloaded",
    `${subject} was not sent: NATS is connected and does not answer for the stream ${stream}; its disk may be full (see docs/operations.md)`,
  );
}

/** A refusal by JetStream. A full stream is `overloaded`, because it may have room later. */
export function jetStreamError(subject: string, error: ApiError): ServiceError {
  const text = `JetStream refused ${subject}: ${error.description} (${error.err_code ?? error.code})`;
  switch (error.err_code) {
    case MESSAGE_TOO_LARGE:
      return new ServiceError("payload_too_large", text);
    case INSUFFICIENT_RESOURCES:
    case STORE_FAILED:
      return new ServiceError("overloaded", text, { data: { errCode: error.err_code } });
    case BATCHES_DISABLED:
      return new ServiceError(
        "internal",
        `${text}: its stream was made by an older version; bring it up to date with \`yard streams ensure\``,
      );
    case NO_ROOM_FOR_STREAM:
      return new ServiceError(
        "internal",
        `${text}: the server sets aside what its streams may grow to; give it a larger disk, or raise its max_file_store`,
      );
    default:
      return new ServiceError(error.code === 503 ? "overloaded" : "internal", text);
  }
}

/** A refusal by the stream that stores the commands of one user. */
export function quotaError(user: string, subject: string, error: ApiError): ServiceError {
  if (error.err_code !== STORE_FAILED) return jetStreamError(subject, error);
  const { messages, bytes } = COMMAND_QUOTA;
  return new ServiceError(
    "overloaded",
    `${subject} was refused: NATS user ${user} has as many commands waiting or in work as it may, ${messages} or ${bytes / 1024 / 1024} MiB (${error.description}); send it again when some are done, or cancel some of its runs with the rpc runs.cancel, which needs no room`,
    { data: { errCode: error.err_code, ...COMMAND_QUOTA } },
  );
}

/**
 * True when JetStream answered that it has no room for the message, in its stream or on its disk: it is not stored, and a retry fails until
 * room is made.
 */
export function isStreamFull(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.code !== "overloaded") return false;
  const { data } = error;
  if (typeof data !== "object" || data === null || !("errCode" in data)) return false;
  return data.errCode === STORE_FAILED || data.errCode === INSUFFICIENT_RESOURCES;
}

/** Maps the errors of the NATS client to the standard codes; no other function does. Any other error is a fault and stays unchanged. */
export function infrastructureError(error: unknown, user: string, subject: string): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof RequestError && error.cause !== undefined) {
    return infrastructureError(error.cause, user, subject);
  }
  if (error instanceof NoRespondersError) return noResponders(subject);
  if (error instanceof PermissionViolationError) {
    return forbidden(error.operation === "publish" ? "publish" : "subscribe", user, error.subject);
  }
  if (error instanceof TimeoutError) {
    return new ServiceError("timeout", `no answer to ${subject} in time`, { cause: error });
  }
  if (
    error instanceof ClosedConnectionError ||
    error instanceof DrainingConnectionError ||
    error instanceof RequestError
  ) {
    return disconnected(subject);
  }
  if (error instanceof InvalidArgumentError && error.message.includes("max_payload")) {
    return new ServiceError(
      "payload_too_large",
      `the message for ${subject} is larger than the server takes`,
      { cause: error },
    );
  }
  if (error instanceof JetStreamApiError) {
    return jetStreamError(subject, {
      code: error.status,
      err_code: error.code,
      description: error.message,
    });
  }
  return error;
}

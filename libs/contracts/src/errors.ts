import type { z } from "zod";
import type { DeclaredErrors, Rpc } from "./define.ts";

/**
 * Failures that any call can have, whatever its contract declares. The first five are sent by a server, the others are detected by the
 * caller's own bus.
 */
export const STANDARD_CODES = [
  "invalid_request",
  "overloaded",
  "deadline_exceeded",
  "internal",
  "storage_full",
  "invalid_reply",
  "payload_too_large",
  "timeout",
  "no_responders",
  "disconnected",
  "forbidden",
] as const;

export type StandardCode = (typeof STANDARD_CODES)[number];

/**
 * The only error class that crosses the bus. `code` is a standard code or one that the contract declares; `data` is what the
 * contract's schema for that code describes.
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: string;
  readonly data: unknown;
  readonly retryable: boolean;

  constructor(
    code: string,
    message: string,
    options: { data?: unknown; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.data = options.data ?? null;
    this.retryable = options.retryable ?? (isStandardCode(code) && isRetryableCode(code));
  }
}

/** The data type of one declared error of a contract. */
export type ErrorData<R extends Rpc, C extends keyof R["errors"]> = R["errors"][C] extends {
  data: infer D extends z.ZodType;
}
  ? z.infer<D>
  : never;

/** Narrows a caught error to one declared code of a contract, with its typed data. */
export function isError<R extends Rpc, C extends keyof R["errors"] & string>(
  error: unknown,
  contract: R,
  code: C,
): error is ServiceError & { code: C; data: ErrorData<R, C> } {
  return (
    error instanceof ServiceError && error.code === code && Object.hasOwn(contract.errors, code)
  );
}

/** True when the same request may be sent again: the failure proves that nothing was done, or the contract declares it retryable. */
export function isRetryable(error: unknown): boolean {
  return error instanceof ServiceError && error.retryable;
}

/** True for the codes that any request may end in; all others are declared by their contract. */
export function isStandardCode(code: string): code is StandardCode {
  return (STANDARD_CODES as readonly string[]).includes(code);
}

/** Builds one declared error: the data is typed by the contract. */
export type Fail<Errs extends DeclaredErrors> = {
  readonly [C in keyof Errs]: (message: string, data: z.infer<Errs[C]["data"]>) => ServiceError;
};

/** The error constructors of a contract, one for each declared code. */
export function failuresOf<Errs extends DeclaredErrors>(errors: Errs): Fail<Errs> {
  const entries = Object.entries(errors).map(([code, spec]) => [
    code,
    (message: string, data: unknown) =>
      new ServiceError(code, message, { data, retryable: spec.retryable ?? false }),
  ]);
  return Object.fromEntries(entries) as Fail<Errs>;
}

function isRetryableCode(code: StandardCode): boolean {
  switch (code) {
    case "overloaded":
    case "storage_full":
    case "no_responders":
      return true; // refused before any work
    case "disconnected":
      return true; // nothing left this process
    case "timeout":
    case "deadline_exceeded":
      return false; // the work may have been done
    case "invalid_request":
    case "invalid_reply":
    case "payload_too_large":
    case "forbidden":
    case "internal":
      return false; // the same request fails again
    default:
      return code satisfies never;
  }
}

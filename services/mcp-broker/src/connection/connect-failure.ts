import { SandboxError } from "@switchyard/service/process/sandbox";
import { errorText } from "../limits/call-failure.ts";
import { AddressError, type SessionTransport } from "./session-transport.ts";
import { SpawnError } from "../process/child-program.ts";

/** True when a retry cannot help before a person changes something. */
export function isPermanent(error: unknown): boolean {
  const permanent = [SpawnError, AddressError, SandboxError];
  if (permanent.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  return error.name === "LoginNeededError" || isPermanent(error.cause);
}

/** Two ways were tried, and its message states why each of them failed. */
export class BothFailedError extends Error {
  override readonly name = "BothFailedError";
}

/** The time for a connection is used up. */
export class SilenceError extends Error {
  override readonly name = "SilenceError";
}

/** Returns the reason why a connection could not be made, in words; `link` is the last that was tried. */
export function reasonOf(error: unknown, link: SessionTransport | null): string {
  if (error instanceof BothFailedError) return error.message;
  const end = link?.describeEnd() ?? null;
  if (end !== null) return end;
  // The output of the process may explain why no answer came.
  return error instanceof SilenceError && link !== null
    ? link.explain(error.message)
    : errorText(error);
}

import { isError } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { RunRefused, RunStopped, Suspended } from "../core/interruption.ts";

/**
 * Converts the policy's refusal to mint a token for an existing run: the run waits for the end of a stop, is retried after a
 * pause, or fails. Any other error is returned as it is.
 */
export function refusedToken(error: unknown): unknown {
  if (isError(error, grantRun, "stopped")) return new RunStopped(error.data, { cause: error });
  if (isError(error, grantRun, "invalid_parent") && !STANDING.has(error.data.reason))
    return new Suspended("the token of the run above was refused", { cause: error });
  const isRefused =
    isError(error, grantRun, "may_not_start") ||
    isError(error, grantRun, "may_not_replay") ||
    isError(error, grantRun, "origin_refused") ||
    isError(error, grantRun, "token_too_large") ||
    isError(error, grantRun, "invalid_parent");
  if (!isRefused) return error;
  const { code, message } = error;
  return new RunRefused({ code, message }, { cause: error });
}

/**
 * Reasons that are about the runs themselves. The other reasons are about the parent's token, which the next attempt requests
 * anew.
 */
const STANDING: ReadonlySet<string> = new Set(["requester", "depth", "layers"]);

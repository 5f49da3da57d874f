import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { Rpc, Tokens } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import { actForUser } from "@switchyard/contracts/policy/user-tokens";
import type { z } from "zod";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

/** The caller for whom a platform tool calls other services, and the time limit. */
export type Calling = Pick<
  ToolContext,
  "caller" | "runId" | "userToken" | "correlationId" | "signal" | "timeLeftMs"
>;

/**
 * Calls other services for the caller of a tool, with the caller's own rights and under its own name. An error reply of a service
 * rejects with its ServiceError.
 */
export type AsCaller = <R extends Rpc>(
  calling: Calling,
  contract: R,
  request: z.input<R["request"]>,
  tokens?: Omit<Tokens<R["subject"]>, "caller">,
) => Promise<z.output<R["reply"]>>;

const MARGIN_MS = 10_000;
const KEPT = 1_000;

export function createAsCaller(bus: Bus, now: () => number): AsCaller {
  const kept = new PromisedCache<string>({ now, most: KEPT });
  const tokenOf = async ({ caller, runId, userToken, signal }: Calling): Promise<string> => {
    // The token in the request has the caller's own roles and scopes. A run acts for its owner, not for the sender of its token.
    if (userToken !== undefined && runId === null) return userToken;
    const known = kept.find(caller);
    if (known !== undefined) return known;
    const { token, expiresAt } = await call(bus, actForUser, { user: caller }, { signal });
    kept.keep(caller, token, Date.parse(expiresAt) - MARGIN_MS);
    return token;
  };
  return async (calling, contract, request, tokens) => {
    const userToken = await tokenOf(calling);
    const { correlationId, signal, timeLeftMs: timeoutMs } = calling;
    const about = { userToken, correlationId, signal, timeoutMs };
    return call(bus, contract, request, tokens === undefined ? about : { ...about, tokens });
  };
}

/** An error of a service, as the model reads it. Anything else is a fault. */
export function asToolError(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code === "internal") throw error;
  throw new ToolError(error.message);
}

import type { ServiceError } from "@switchyard/contracts/errors";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { RunTokenClaims } from "@switchyard/contracts/policy/run-token";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { RunTokenError } from "@switchyard/service/run-token";
import { compileToolLayers, type ToolLayers } from "@switchyard/rules/layers/tool-layers";

export interface Identity {
  readonly principal: Principal;
  readonly layers: ToolLayers | null;
  /** The time at which the token expires, in milliseconds since the Unix epoch; Infinity without a token. */
  readonly expiresAt: number;
  /** The epoch of the claim that the token was minted for. */
  readonly epoch?: number | undefined;
}

/**
 * Identifies the principal of a request: from the token, or, without one, from the caller that the tool provider vouches for. A
 * request with an invalid token is refused; it is never treated as one without a token.
 */
export type Identify = (
  request: { readonly onBehalfOf: string; readonly token?: string | undefined },
  context: {
    /** The NATS user that calls the policy. */
    readonly provider: string;
    readonly invalidToken: (message: string, data: { reason: string }) => ServiceError;
    /** The call that it is about, when it is one. */
    readonly about?: CallInQuestion;
  },
) => Promise<Identity>;

export interface CallInQuestion {
  readonly tool: ToolRef;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A refused token, with the call that it came with. */
export interface RefusedToken {
  readonly provider: string;
  readonly caller: string;
  readonly reason: string;
  readonly about?: CallInQuestion;
}

export function createIdentify(parts: {
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly onRefused: (refused: RefusedToken) => void;
}): Identify {
  // The verifier returns the same frozen claims for the same token, so their patterns are parsed once.
  const parsedLayers = new WeakMap<RunTokenClaims["tools"], ToolLayers>();
  const layersOf = (tools: RunTokenClaims["tools"]): ToolLayers => {
    const known = parsedLayers.get(tools) ?? compileToolLayers(tools);
    parsedLayers.set(tools, known);
    return known;
  };

  return async ({ onBehalfOf, token }, { provider, invalidToken, about }) => {
    if (token === undefined) {
      const principal = { user: onBehalfOf, agent: null, runId: null };
      return { principal, layers: null, expiresAt: Number.POSITIVE_INFINITY };
    }
    try {
      const { requester, holder, sub, run, tools, roles, approval, context, ...claims } =
        await parts.verify(token);
      const principal = {
        user: requester,
        agent: sub,
        runId: run,
        ...(roles && { roles }),
        ...(approval && { approval }),
        ...(context && { context }),
      };
      if (holder !== undefined && holder !== onBehalfOf) throw notTheHolder(holder, onBehalfOf);
      if (claims.handsDown === true) throw forRunsBelow(run);
      const { exp, epoch } = claims;
      return { principal, layers: layersOf(tools), expiresAt: exp * 1000, epoch };
    } catch (error) {
      if (!(error instanceof RunTokenError)) throw error;
      const { reason } = error;
      parts.onRefused({ provider, caller: onBehalfOf, reason, ...(about && { about }) });
      throw invalidToken(error.message, { reason: error.reason });
    }
  };
}

/** A token is useless to a user who obtained it by other means. */
function notTheHolder(holder: string, caller: string): RunTokenError {
  return new RunTokenError(
    "holder",
    `the run token was given to user ${holder}, and user ${caller} presents it: call without a token, as yourself`,
  );
}

/** The holder of a run that works for another one may not act as the other one. */
function forRunsBelow(runId: string): RunTokenError {
  return new RunTokenError(
    "claims",
    `the token carries what run ${runId} hands down; no call is made with it`,
  );
}

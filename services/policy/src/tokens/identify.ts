import type { ServiceError } from "@switchyard/contracts/errors";
import type { Principal } from "@switchyard/contracts/policy";
import type { RunTokenClaims } from "@switchyard/contracts/run-token";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { RunTokenError } from "@switchyard/service/run-token";
import { compileToolLayers, type ToolLayers } from "@switchyard/rules/layers/tool-layers";

export interface Identity {
  readonly principal: Principal;
  readonly layers: ToolLayers | null;
  /** When the token ends, in milliseconds since the Unix epoch; never without one. */
  readonly expiresAt: number;
  /** Of the claim that the token was minted for. */
  readonly epoch?: number | undefined;
}

/**
 * Who a request is about: what the token says, or, without one, the caller that the tool provider
 * vouches for. A request with a token that is not good is refused; it is never treated as one without.
 */
export type Identify = (
  request: { readonly onBehalfOf: string; readonly token?: string | undefined },
  context: {
    /** The NATS user that asks the policy. */
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

/** A token that was refused, and whose call came with it. */
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

/** Whoever got hold of a token by other means has nothing of it. */
function notTheHolder(holder: string, caller: string): RunTokenError {
  return new RunTokenError(
    "holder",
    `the run token was given to user ${holder}, and user ${caller} presents it: call without a token, as yourself`,
  );
}

/** Whoever holds a run that works for another one may not act as the other one. */
function forRunsBelow(runId: string): RunTokenError {
  return new RunTokenError(
    "claims",
    `the token says what run ${runId} hands down; no call is made with it`,
  );
}

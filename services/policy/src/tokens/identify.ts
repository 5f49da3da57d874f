import type { ServiceError } from "@switchyard/contracts/errors";
import type { Principal } from "@switchyard/contracts/policy";
import type { RunTokenClaims } from "@switchyard/contracts/run-token";
import { keyIdOf, RunTokenError } from "@switchyard/service/run-token";
import type { StopList } from "../budgets/stop-list.ts";
import { compileToolLayers, type ToolLayers } from "../engine/tool-layers.ts";

export interface Identity {
  readonly principal: Principal;
  readonly layers: ToolLayers | null;
  /** When the token ends, in milliseconds since the Unix epoch; never without one. */
  readonly expiresAt: number;
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
  },
) => Promise<Identity>;

/** A token that was refused, and whose call came with it. */
export interface RefusedToken {
  readonly provider: string;
  readonly caller: string;
  readonly reason: string;
}

export function createIdentify(parts: {
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly stops: Pick<StopList, "all">;
  readonly onRefused: (refused: RefusedToken) => void;
}): Identify {
  const isKeyStopped = (token: string): boolean => {
    const keys = parts.stops.all.filter(({ scope }) => scope.kind === "key");
    if (keys.length === 0) return false;
    const kid = keyIdOf(token);
    return keys.some(({ scope }) => scope.kind === "key" && scope.name === kid);
  };
  // The verifier returns the same frozen claims for the same token, so their patterns are parsed once.
  const parsedLayers = new WeakMap<RunTokenClaims["tools"], ToolLayers>();
  const layersOf = (tools: RunTokenClaims["tools"]): ToolLayers => {
    const known = parsedLayers.get(tools) ?? compileToolLayers(tools);
    parsedLayers.set(tools, known);
    return known;
  };

  return async ({ onBehalfOf, token }, { provider, invalidToken }) => {
    if (token === undefined) {
      const principal = { user: onBehalfOf, agent: null, runId: null };
      return { principal, layers: null, expiresAt: Number.POSITIVE_INFINITY };
    }
    try {
      const { requester, sub, run, tools, roles, context, exp } = await parts.verify(token);
      const principal = {
        user: requester,
        agent: sub,
        runId: run,
        ...(roles && { roles }),
        ...(context && { context }),
      };
      if (isKeyStopped(token)) throw keyRevoked();
      return { principal, layers: layersOf(tools), expiresAt: exp * 1000 };
    } catch (error) {
      if (!(error instanceof RunTokenError)) throw error;
      parts.onRefused({ provider, caller: onBehalfOf, reason: error.reason });
      throw invalidToken(error.message, { reason: error.reason });
    }
  };
}

function keyRevoked(): RunTokenError {
  return new RunTokenError(
    "revoked",
    "the key that signed the run token was revoked: the run must get a token of a newer one",
  );
}

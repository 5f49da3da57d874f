import type { Handler } from "@switchyard/bus/serve";
import type { ServiceError } from "@switchyard/contracts/errors";
import type {
  checkPolicy,
  explainPolicy,
  filterPolicy,
  grantRun,
  Principal,
  validatePolicy,
} from "@switchyard/contracts/policy";
import {
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  RUN_TOKEN_MAX_LENGTH,
  type RunTokenClaims,
} from "@switchyard/contracts/run-token";
import { RunTokenError } from "@switchyard/service/run-token";
import type { CompiledBundle } from "./bundle/compile-bundle.ts";
import type { DecisionLeases } from "./engine/decision-leases.ts";
import { decide, ignoresArguments, mayEverAllow } from "./engine/evaluate.ts";
import { decideFeature, mayEverAllowFeature } from "./engine/evaluate-feature.ts";
import { explain } from "./engine/explain.ts";
import type { PolicyMetrics } from "./policy-metrics.ts";
import { compileToolLayers, type ToolLayers } from "./engine/tool-layers.ts";
import type { PolicyTexts } from "./bundle/validate.ts";
import { MAX_VALIDATIONS, type Validator } from "./bundle/validator.ts";

export interface PolicyHandlers {
  readonly check: Handler<typeof checkPolicy>;
  readonly filter: Handler<typeof filterPolicy>;
  readonly grant: Handler<typeof grantRun>;
  readonly explain: Handler<typeof explainPolicy>;
  readonly validate: Handler<typeof validatePolicy>;
}

export function createHandlers(parts: {
  /** The bundle in force, asked anew for each request. */
  readonly bundle: () => CompiledBundle;
  /** What it was read from. */
  readonly texts: () => PolicyTexts;
  readonly validator: Validator;
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly sign: (claims: RunTokenClaims) => Promise<string>;
  readonly metrics: Pick<PolicyMetrics, "decided">;
  readonly leases: Pick<DecisionLeases, "grant">;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}): PolicyHandlers {
  const identify = createIdentifier(parts.verify);
  return {
    async check({ onBehalfOf, token, kind, tool, args }, { fail }) {
      const who = await identify({ onBehalfOf, token }, fail.invalid_token);
      const { principal, layers } = who;
      const startedAt = performance.now();
      const asked = { principal, layers, tool, args };
      const decision =
        kind === "tool"
          ? decide(parts.bundle(), asked)
          : decideFeature(parts.bundle(), { ...asked, kind });
      parts.metrics.decided(decision.effect, (performance.now() - startedAt) / 1000);
      if (kind !== "tool" || !ignoresArguments(parts.bundle(), asked))
        return { decision, principal };
      const forMs = parts.leases.grant(who.expiresAt - parts.now());
      if (forMs === null) return { decision, principal };
      return { decision, principal, cacheable: { revision: decision.policyDigest, forMs } };
    },

    async filter({ onBehalfOf, token, kind, tools }, { fail }) {
      const who = await identify({ onBehalfOf, token }, fail.invalid_token);
      const bundle = parts.bundle();
      const allowed = tools.filter((tool) =>
        kind === "tool"
          ? mayEverAllow(bundle, { ...who, tool })
          : mayEverAllowFeature(bundle, { ...who, kind, tool }),
      );
      const { principal } = who;
      return { allowed: allowed.map(({ name }) => name), policyDigest: bundle.digest, principal };
    },

    async grant({ runId, agent, requester, tools, roles = [], ttlSeconds }, { fail }) {
      const iat = Math.floor(parts.now() / 1000);
      const exp = iat + ttlSeconds;
      const identity = { sub: agent, run: runId, requester, tools };
      const claims = {
        iss: RUN_TOKEN_ISSUER,
        aud: RUN_TOKEN_AUDIENCE,
        ...identity,
        ...(roles.length === 0 ? {} : { roles }),
        iat,
        exp,
      } as const;
      const token = await parts.sign(claims).catch((error: unknown) => {
        if (!(error instanceof RunTokenError) || error.reason !== "too_large") throw error;
        throw fail.token_too_large(error.message, { limit: RUN_TOKEN_MAX_LENGTH });
      });
      const expiresAt = new Date(exp * 1000).toISOString();
      return { token, expiresAt, policyDigest: parts.bundle().digest };
    },

    explain({ user, agent, tool, args }) {
      const principal = { user, agent: agent ?? null, runId: null };
      const explanation = explain(parts.bundle(), { principal, tool, args, layers: null });
      return Promise.resolve({ ...explanation, principal, tool });
    },

    async validate(request, { fail, signal }) {
      const texts = textsOf(request, parts.texts());
      const validation = await parts.validator.validate(texts, signal);
      if (validation !== null) return validation;
      throw fail.overloaded("other policies are being checked; try again", {
        limit: MAX_VALIDATIONS,
      });
    },
  };
}

function textsOf(
  request: { bundleText?: string | undefined; testsText?: string | undefined },
  inForce: PolicyTexts,
): PolicyTexts {
  const { bundleText, testsText } = request;
  if (bundleText !== undefined) return { bundleText, testsText: testsText ?? null };
  return testsText === undefined ? inForce : { ...inForce, testsText };
}

interface Identity {
  readonly principal: Principal;
  readonly layers: ToolLayers | null;
  /** When the token ends, in milliseconds since the Unix epoch; never without one. */
  readonly expiresAt: number;
}

/**
 * Who a request is about: what the token says, or, without one, the caller that the tool provider
 * vouches for. A request with a token that is not good is refused; it is never treated as one without.
 */
function createIdentifier(verify: (token: string) => Promise<RunTokenClaims>) {
  // The verifier returns the same frozen claims for the same token, so their patterns are parsed once.
  const parsedLayers = new WeakMap<RunTokenClaims["tools"], ToolLayers>();
  const layersOf = (tools: RunTokenClaims["tools"]): ToolLayers => {
    const known = parsedLayers.get(tools) ?? compileToolLayers(tools);
    parsedLayers.set(tools, known);
    return known;
  };

  return async (
    request: { readonly onBehalfOf: string; readonly token: string | undefined },
    invalidToken: (message: string, data: { reason: string }) => ServiceError,
  ): Promise<Identity> => {
    if (request.token === undefined) {
      const principal = { user: request.onBehalfOf, agent: null, runId: null };
      return { principal, layers: null, expiresAt: Number.POSITIVE_INFINITY };
    }
    try {
      const { requester, sub, run, tools, roles, exp } = await verify(request.token);
      const principal = { user: requester, agent: sub, runId: run, ...(roles && { roles }) };
      return { principal, layers: layersOf(tools), expiresAt: exp * 1000 };
    } catch (error) {
      if (error instanceof RunTokenError) {
        throw invalidToken(error.message, { reason: error.reason });
      }
      throw error;
    }
  };
}

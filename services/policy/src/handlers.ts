import type { Handler } from "@switchyard/bus/serve";
import type {
  checkPolicy,
  explainPolicy,
  filterPolicy,
  grantRun,
  validatePolicy,
} from "@switchyard/contracts/policy";
import type { releaseCall } from "@switchyard/contracts/policy-budgets";
import type { whoCanCall } from "@switchyard/contracts/policy-bundles";
import {
  RUN_TOKEN_AUDIENCE,
  RUN_TOKEN_ISSUER,
  RUN_TOKEN_MAX_LENGTH,
  type RunTokenClaims,
} from "@switchyard/contracts/run-token";
import type { z } from "zod";
import { RunTokenError } from "@switchyard/service/run-token";
import type { CompiledBundle } from "./bundle/compile-bundle.ts";
import type { DecisionLeases } from "./engine/decision-leases.ts";
import { mayEverAllow } from "./engine/evaluate.ts";
import { mayEverAllowFeature } from "./engine/evaluate-feature.ts";
import { explainCall, judgeCall } from "./engine/judge-call.ts";
import { whoCan } from "./engine/who-can.ts";
import { createServerFactsMemory, type ServerFactsMemory } from "./layers/server-facts-memory.ts";
import type { BudgetStore } from "./budgets/budget-store.ts";
import type { StopList } from "./budgets/stop-list.ts";
import { compileToolLayers } from "./engine/tool-layers.ts";
import type { PolicyMetrics } from "./policy-metrics.ts";
import { inherit } from "./layers/inherit.ts";
import type { Identify } from "./tokens/identify.ts";
import { splitTexts, type PolicyTexts } from "./bundle/validate.ts";
import { MAX_VALIDATIONS, type Validator } from "./bundle/validator.ts";

export interface PolicyHandlers {
  readonly check: Handler<typeof checkPolicy>;
  readonly filter: Handler<typeof filterPolicy>;
  readonly grant: Handler<typeof grantRun>;
  readonly explain: Handler<typeof explainPolicy>;
  readonly validate: Handler<typeof validatePolicy>;
  readonly release: Handler<typeof releaseCall>;
  readonly whoCan: Handler<typeof whoCanCall>;
}

export function createHandlers(parts: {
  /** The bundle in force, asked anew for each request. */
  readonly bundle: () => CompiledBundle;
  /** What it was read from. */
  readonly texts: () => PolicyTexts;
  readonly validator: Validator;
  readonly identify: Identify;
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly sign: (claims: RunTokenClaims) => Promise<string>;
  readonly metrics: Pick<PolicyMetrics, "decided">;
  readonly leases: Pick<DecisionLeases, "grant">;
  readonly stops: Pick<StopList, "find">;
  readonly budgets: BudgetStore;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}): PolicyHandlers {
  const { identify } = parts;
  const facts = createServerFactsMemory();
  return {
    async check({ onBehalfOf, token, kind, tool, args, server }, { fail, caller }) {
      const asker = { provider: caller, invalidToken: fail.invalid_token };
      const who = await identify({ onBehalfOf, token }, asker);
      const { principal, layers } = who;
      facts.learn(tool, server);
      const startedAt = performance.now();
      const bundle = parts.bundle();
      const call = { principal, layers, tool, args, server };
      const judged = await judgeCall({ ...parts, bundle }, { kind, call });
      const { decision, reservation } = judged;
      parts.metrics.decided(decision.effect, (performance.now() - startedAt) / 1000);
      const reply = { decision, principal, ...(reservation === null ? {} : { reservation }) };
      // A promise is given only in the turn of the event loop that has seen the rules in force.
      if (!judged.isKeepable || parts.bundle() !== bundle) return reply;
      const forMs = parts.leases.grant(who.expiresAt - parts.now());
      if (forMs === null) return reply;
      return { ...reply, cacheable: { revision: decision.policyDigest, forMs } };
    },

    filter: createFilter({ ...parts, facts }),

    grant: createGrant(parts),

    async explain({ user, agent, roles, context, toolLayers, server, runId, tool, args }) {
      const principal = {
        user,
        agent: agent ?? null,
        runId: runId ?? null,
        ...(roles && { roles }),
        ...(context && { context }),
      };
      const layers = toolLayers === undefined ? null : compileToolLayers(toolLayers);
      const call = { principal, tool, args, layers, server: server ?? facts.of(tool) };
      const explanation = await explainCall({ ...parts, bundle: parts.bundle() }, call);
      return { ...explanation, principal, tool };
    },

    async release({ reservation }) {
      return { released: await parts.budgets.release(reservation) };
    },

    whoCan({ tool, labels }) {
      const bundle = parts.bundle();
      const known = labels ?? facts.of(tool)?.labels;
      return { ...whoCan(bundle, tool, known), tool, policyDigest: bundle.digest };
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

/** Names the tools of a list that some arguments could pass for. */
function createFilter(parts: {
  readonly bundle: () => CompiledBundle;
  readonly identify: Identify;
  readonly leases: Pick<DecisionLeases, "grant">;
  readonly stops: Pick<StopList, "find">;
  readonly facts: Pick<ServerFactsMemory, "learn">;
  readonly now: () => number;
}): Handler<typeof filterPolicy> {
  const { identify, facts, stops } = parts;
  return async ({ onBehalfOf, token, kind, tools, servers = {} }, { fail, caller }) => {
    const asker = { provider: caller, invalidToken: fail.invalid_token };
    const who = await identify({ onBehalfOf, token }, asker);
    const bundle = parts.bundle();
    let isStopped = false;
    const allowed = tools.filter((tool) => {
      const server = tool.server === null ? undefined : servers[tool.server];
      facts.learn(tool, server);
      if (stops.find({ ...who, tool }) !== null) {
        isStopped = true;
        return false;
      }
      return kind === "tool"
        ? mayEverAllow(bundle, { ...who, tool, server })
        : mayEverAllowFeature(bundle, { ...who, kind, tool, server });
    });
    const { principal } = who;
    const policyDigest = bundle.digest;
    const reply = { allowed: allowed.map(({ name }) => name), policyDigest, principal };
    // A stop may end at any moment; an empty list is not worth a promise that a change waits for.
    if (isStopped || tools.length === 0) return reply;
    const forMs = parts.leases.grant(who.expiresAt - parts.now());
    return forMs === null ? reply : { ...reply, cacheable: { revision: policyDigest, forMs } };
  };
}

/** Mints run tokens. What a run that was started by another may do is taken from the other's token. */
function createGrant(parts: {
  readonly verify: (token: string) => Promise<RunTokenClaims>;
  readonly sign: (claims: RunTokenClaims) => Promise<string>;
  readonly bundle: () => CompiledBundle;
  readonly now: () => number;
}): Handler<typeof grantRun> {
  return async (request, { fail }) => {
    const { runId, agent, requester, roles = [], ttlSeconds } = request;
    const inherited = await inherit(parts.verify, request);
    if (inherited.kind === "refused")
      throw fail.invalid_parent(inherited.message, { reason: inherited.reason });
    const { tools, context } = inherited;
    const iat = Math.floor(parts.now() / 1000);
    const exp = iat + ttlSeconds;
    const identity = { sub: agent, run: runId, requester, tools };
    const claims = {
      iss: RUN_TOKEN_ISSUER,
      aud: RUN_TOKEN_AUDIENCE,
      ...identity,
      ...(roles.length === 0 ? {} : { roles }),
      ...(context && { context }),
      iat,
      exp,
    } as const;
    const token = await parts.sign(claims).catch((error: unknown) => {
      if (!(error instanceof RunTokenError) || error.reason !== "too_large") throw error;
      throw fail.token_too_large(error.message, { limit: RUN_TOKEN_MAX_LENGTH });
    });
    const expiresAt = new Date(exp * 1000).toISOString();
    return { token, expiresAt, policyDigest: parts.bundle().digest };
  };
}

function textsOf(request: ValidationRequest, inForce: PolicyTexts): PolicyTexts {
  const { bundleText, testsText, files } = request;
  if (files !== undefined) return splitTexts(files);
  const tests = testsText === undefined ? null : [{ name: "tests", text: testsText }];
  if (bundleText !== undefined)
    return { files: [{ name: "policy", text: bundleText }], tests: tests ?? [] };
  return tests === null ? inForce : { ...inForce, tests };
}

type ValidationRequest = z.output<typeof validatePolicy.request>;

import type { Handler } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import { checkPolicy, filterPolicy } from "@switchyard/contracts/policy/policy";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { grantRun, listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { releaseCall } from "@switchyard/contracts/policy/policy-budgets";
import { listPolicyRules, whoCanCall } from "@switchyard/contracts/policy/policy-bundles";
import { replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { auditKeyId } from "@switchyard/audit/audit-keys";
import { storeFailureAs } from "@switchyard/service/store-error";
import type { z } from "zod";
import type { DecisionAudit } from "./audit/decision-audit.ts";
import { type BudgetStore } from "./budgets/budget-store.ts";
import { createReplayHandler, type ReplayOptions } from "./audit/replayer.ts";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import type { DecisionLeases } from "./calls/decision-leases.ts";
import { mayEverAllow } from "@switchyard/rules/engine/evaluate";
import { mayEverAllowFeature } from "@switchyard/rules/engine/evaluate-feature";
import { createExplain } from "./calls/explain-handler.ts";
import { judgeCall } from "./calls/judge-call.ts";
import { resultsInWords, rulesInWords } from "@switchyard/rules/engine/rule-words";
import { whoCan } from "@switchyard/rules/engine/who-can";
import { hasRight } from "@switchyard/rules/rights/has-right";
import type { ServerFactsMemory } from "./calls/server-facts-memory.ts";
import { stopInForce, STOPS_UNKNOWN, type StopList } from "./stops/stop-list.ts";
import type { PolicyMetrics } from "./policy-metrics.ts";
import type { RunRecords } from "./runs/run-records.ts";
import { createGrant } from "./tokens/grant-handler.ts";
import type { Identify } from "./tokens/identify.ts";
import type { KeyRing } from "./tokens/key-ring.ts";
import { splitTexts, type PolicyTexts } from "@switchyard/rules/engine/validate";
import { MAX_VALIDATIONS, type Validator } from "./versions/validator.ts";

export interface PolicyHandlers {
  readonly check: Handler<typeof checkPolicy>;
  readonly filter: Handler<typeof filterPolicy>;
  readonly grant: Handler<typeof grantRun>;
  readonly keys: Handler<typeof listTokenKeys>;
  readonly explain: Handler<typeof explainPolicy>;
  readonly validate: Handler<typeof validatePolicy>;
  readonly release: Handler<typeof releaseCall>;
  readonly whoCan: Handler<typeof whoCanCall>;
  readonly rules: Handler<typeof listPolicyRules>;
  readonly replay: Handler<typeof replayDecisions>;
}

export function serveHandlers(service: Service, handlers: PolicyHandlers): void {
  service.handle(checkPolicy, handlers.check);
  service.handle(filterPolicy, handlers.filter);
  service.handle(grantRun, handlers.grant);
  service.handle(listTokenKeys, handlers.keys);
  service.handle(explainPolicy, handlers.explain);
  service.handle(validatePolicy, handlers.validate);
  service.handle(releaseCall, handlers.release);
  service.handle(whoCanCall, handlers.whoCan);
  service.handle(listPolicyRules, handlers.rules);
  service.handle(replayDecisions, handlers.replay);
}

export function createHandlers(parts: {
  /** Returns the bundle in force; call it for each request. */
  readonly bundle: () => CompiledBundle;
  /** Returns the texts of the bundle in force. */
  readonly texts: () => PolicyTexts;
  readonly validator: Validator;
  readonly identify: Identify;
  readonly keyRing: Pick<KeyRing, "verify" | "sign" | "keys" | "publicKeys">;
  readonly metrics: Pick<PolicyMetrics, "decided">;
  readonly leases: Pick<DecisionLeases, "grant">;
  readonly stops: Pick<StopList, "find" | "ofRun" | "isCurrent">;
  readonly runs: RunRecords;
  readonly budgets: BudgetStore;
  readonly audit: DecisionAudit;
  readonly replaying: Pick<ReplayOptions, "keys" | "onOpen">;
  readonly facts: ServerFactsMemory;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}): PolicyHandlers {
  const { identify, facts } = parts;
  return {
    async check(request, { fail, caller, correlationId }) {
      const { onBehalfOf, token, kind, tool, args, server } = request;
      const unrecorded = fail.audit_unavailable;
      parts.audit.admit(unrecorded);
      const about = { tool, args };
      const asker = { provider: caller, invalidToken: fail.invalid_token, about };
      const who = await identify({ onBehalfOf, token }, asker);
      const { principal, layers } = who;
      parts.audit.admit(unrecorded, principal.user);
      facts.learn(tool, server);
      const isKnown = parts.stops.isCurrent();
      if (isKnown !== true && !(await isKnown)) throw fail.stops_unknown(STOPS_UNKNOWN, null);
      const startedAt = performance.now();
      const bundle = parts.bundle();
      const call = { principal, layers, tool, args, server, facts: { nowMs: parts.now() } };
      const judged = await judgeCall({ ...parts, bundle }, { kind, call });
      const { decision, reservation } = judged;
      parts.metrics.decided(decision.effect, (performance.now() - startedAt) / 1000);
      // A lease is granted only in the turn of the event loop that has read the rules in force.
      const mayBeKept = judged.isKeepable && parts.bundle() === bundle;
      const forMs = mayBeKept ? parts.leases.grant(who.expiresAt - parts.now()) : null;
      const made = { request, provider: caller, correlationId, who, judged, forMs };
      const audit = parts.audit.decided(made);
      await parts.audit.stored(audit, unrecorded);
      const signed = (await audit?.signed) ?? null;
      return {
        decision,
        principal,
        ...(who.epoch === undefined ? {} : { epoch: who.epoch }),
        ...(reservation === null ? {} : { reservation }),
        ...(audit === null ? {} : { audit: audit.entry.ref }),
        ...(signed === null ? {} : { signed }),
        ...(forMs === null ? {} : { cacheable: { revision: decision.policyDigest, forMs } }),
      };
    },

    filter: createFilter(parts),

    grant: createGrant({ ...parts, ...parts.keyRing }),

    keys: () => listKeys(parts.keyRing),

    explain: createExplain(parts),

    release: releaseOf(parts.budgets),

    whoCan({ tool, labels }) {
      const bundle = parts.bundle();
      const known = labels ?? facts.of(tool)?.labels;
      return { ...whoCan(bundle, tool, known), tool, policyDigest: bundle.digest };
    },

    rules: (query) => listRules(parts.bundle(), query),

    replay: replayOf(parts),

    async validate(request, { caller, fail, signal }) {
      const texts = textsOf(request, parts.texts());
      const validation = await parts.validator.validate(texts, { caller, isChange: false, signal });
      if (validation !== null) return validation;
      throw fail.overloaded(
        "other policies are being checked, one for each caller at a time; try again",
        {
          limit: MAX_VALIDATIONS,
        },
      );
    },
  };
}

function replayOf(parts: {
  readonly bundle: () => CompiledBundle;
  readonly texts: () => PolicyTexts;
  readonly replaying: Pick<ReplayOptions, "keys" | "onOpen">;
}): Handler<typeof replayDecisions> {
  return createReplayHandler({
    ...parts.replaying,
    inForce: parts.texts,
    mayOpen: (user) => hasRight(parts.bundle().rights, "replay-values", user),
  });
}

function listKeys({ keys, publicKeys }: Pick<KeyRing, "keys" | "publicKeys">) {
  const named = publicKeys.map((jwk) => ({ kid: auditKeyId(jwk), x: jwk.x }));
  return { keys: [...keys], publicKeys: named };
}

function listRules(bundle: CompiledBundle, query: z.output<typeof listPolicyRules.request>) {
  const page = rulesInWords(bundle, query);
  const results = query.after === undefined ? { results: resultsInWords(bundle) } : {};
  return { ...page, ...results, policyDigest: bundle.digest };
}

/** Names the tools of a list that some arguments could pass for. */
function createFilter(parts: {
  readonly bundle: () => CompiledBundle;
  readonly identify: Identify;
  readonly leases: Pick<DecisionLeases, "grant">;
  readonly stops: Pick<StopList, "find" | "ofRun" | "isCurrent">;
  readonly facts: Pick<ServerFactsMemory, "learn">;
  readonly now: () => number;
}): Handler<typeof filterPolicy> {
  const { identify, facts, stops } = parts;
  return async ({ onBehalfOf, token, kind, tools, servers = {} }, { fail, caller }) => {
    const asker = { provider: caller, invalidToken: fail.invalid_token };
    const who = await identify({ onBehalfOf, token }, asker);
    // With an empty list a run would continue as if it had no tools.
    if (!(await stops.isCurrent())) throw fail.stops_unknown(STOPS_UNKNOWN, null);
    const bundle = parts.bundle();
    const stopped = stops.ofRun(who.principal);
    let isStopped = stopped !== null;
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
    const reply = {
      allowed: allowed.map(({ name }) => name),
      policyDigest,
      principal,
      ...(stopped !== null && { stopped: stopInForce(stopped) }),
    };
    // A stop may end at any moment; an empty list is not worth a promise that a change waits for.
    if (isStopped || tools.length === 0) return reply;
    const forMs = parts.leases.grant(who.expiresAt - parts.now());
    return forMs === null ? reply : { ...reply, cacheable: { revision: policyDigest, forMs } };
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

function releaseOf(budgets: Pick<BudgetStore, "release">): Handler<typeof releaseCall> {
  const orUnavailable = storeFailureAs(({ message, name }) =>
    failuresOf(releaseCall.errors).store_unavailable(
      `The call still counts for its limit: ${message}; try again when Redis is up.`,
      { cause: name },
    ),
  );
  return ({ reservation, isMade = true }) =>
    orUnavailable(async () => ({ released: await budgets.release(reservation, isMade) }));
}

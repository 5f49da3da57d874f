// A policy service as small as can be, for tests that need more of it than a yes or no.

import type { Bus } from "@switchyard/bus/bus";
import { serve } from "@switchyard/bus/serve";
import {
  checkPolicy,
  filterPolicy,
  type Decision,
  type Principal,
} from "@switchyard/contracts/policy/policy";
import type { z } from "zod";
import { decision } from "./test-broker.ts";

export interface PeerRules {
  /** Raw tool names that are denied. */
  readonly denied: Set<string>;
  /** The answer on caching a decision or a filtered list. */
  cacheable: { revision: string; forMs: number } | undefined;
  /** The answer to a check waits for this. */
  hold: Promise<void> | null;
  /** Raw names of the tools that were checked. */
  readonly checked: string[];
  /** The same checks, with all their fields. */
  readonly questions: z.output<typeof checkPolicy.request>[];
  readonly lists: z.output<typeof filterPolicy.request>[];
}

/** A token that the peer reads as a run of agent `demo`, by whichever name it was granted. */
export function runToken(runId: string, roles: readonly string[] = [], grant = 1): string {
  return ["run", runId, roles.join(","), grant].join(":");
}

/** Serves checks and lists; what no rule denies is allowed. */
export function servePeer(bus: Bus): PeerRules {
  const rules: PeerRules = {
    denied: new Set(),
    cacheable: undefined,
    hold: null,
    checked: [],
    questions: [],
    lists: [],
  };
  const service = serve(bus, {
    name: "policy",
    version: "0.0.0",
    description: "test",
    onFault: () => undefined,
  });
  service.handle(checkPolicy, async (question, { fail }) => {
    const { tool, onBehalfOf, token } = question;
    rules.questions.push(question);
    rules.checked.push(tool.tool);
    if (token === "forged") throw fail.invalid_token("not ours", { reason: "signature" });
    const effect: Decision["effect"] = rules.denied.has(tool.tool) ? "deny" : "allow";
    const { cacheable, hold } = rules;
    if (hold !== null) await hold;
    return {
      decision: { ...decision, effect },
      principal: principalOf(onBehalfOf, token),
      ...(cacheable && { cacheable }),
    };
  });
  service.handle(filterPolicy, (question, { fail }) => {
    const { tools, onBehalfOf, token } = question;
    rules.lists.push(question);
    if (token === "forged") throw fail.invalid_token("not ours", { reason: "signature" });
    return {
      allowed: tools.filter(({ tool }) => !rules.denied.has(tool)).map(({ name }) => name),
      policyDigest: decision.policyDigest,
      principal: principalOf(onBehalfOf, token),
      ...(rules.cacheable && { cacheable: rules.cacheable }),
    };
  });
  return rules;
}

function principalOf(user: string, token: string | undefined): Principal {
  const [kind, runId = "", roles = ""] = token?.split(":") ?? [];
  if (kind !== "run") return { user, agent: null, runId: null };
  return { user, agent: "demo", runId, ...(roles === "" ? {} : { roles: roles.split(",") }) };
}

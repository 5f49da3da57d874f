import type { Handler } from "@switchyard/bus/handler";
import type { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import type { ServerFactsMemory } from "./server-facts-memory.ts";
import { explainCall, type Circumstances } from "./judge-call.ts";
import { compileToolLayers } from "@switchyard/rules/layers/tool-layers";

/** Returns how any call would be decided; it counts nothing and prompts no person. */
export function createExplain(
  parts: Omit<Circumstances, "bundle"> & {
    readonly bundle: () => CompiledBundle;
    readonly facts: Pick<ServerFactsMemory, "of">;
    readonly now: () => number;
  },
): Handler<typeof explainPolicy> {
  return async ({ user, agent, runId, roles, context, approval, ...question }) => {
    const { toolLayers, server, tool, args } = question;
    const principal = {
      user,
      agent: agent ?? null,
      runId: runId ?? null,
      ...(roles && { roles }),
      ...(approval && { approval }),
      ...(context && { context }),
    };
    const layers = toolLayers === undefined ? null : compileToolLayers(toolLayers);
    const facts = { nowMs: parts.now() };
    const call = { principal, tool, args, layers, server: server ?? parts.facts.of(tool), facts };
    const explanation = await explainCall({ ...parts, bundle: parts.bundle() }, call);
    return { ...explanation, principal, tool };
  };
}

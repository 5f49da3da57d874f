import { matchesGlob } from "@switchyard/contracts/glob";
import type { Decision } from "@switchyard/contracts/policy";
import type { CompiledBundle, CompiledRule } from "../bundle/compile-bundle.ts";
import type { FeatureKind } from "../bundle/feature-patterns.ts";
import { isConsistent, matchConditions, nameOf, selectsPrincipal, type Call } from "./evaluate.ts";
import { refusingLayer, type ToolLayer } from "./tool-layers.ts";

/**
 * A question about something that is no tool call. In `tool` stand the server and the resource's
 * URI, the prompt's name, or the kind itself.
 */
export interface FeatureCall extends Call {
  readonly kind: FeatureKind;
}

/**
 * As `decide`, in the same order: a contradiction denies, then any deny rule, then the run token,
 * then any allow rule allows. A rule about tools, or about everything, allows no feature; a deny
 * rule that names nothing denies them all.
 */
export function decideFeature(bundle: CompiledBundle, call: FeatureCall): Decision {
  const answer = (
    effect: Decision["effect"],
    rule: CompiledRule | null,
    why: string,
  ): Decision => ({
    effect,
    rule: rule?.id ?? null,
    reason: why,
    policyDigest: bundle.digest,
  });
  if (call.tool.server === null || !isConsistent(call.tool))
    return answer("deny", null, `the reference ${call.tool.name} contradicts its server and name`);
  const denying = firstRule(bundle, call, "deny", (rule) => holds(rule, call));
  if (denying !== null) return answer("deny", denying, reasonOf(denying, call));
  if (keptOut(call) !== null)
    return answer(
      "deny",
      null,
      `the run token of ${nameOf(call.principal)} leaves out ${shown(call)}`,
    );
  const allowing = firstRule(bundle, call, "allow", (rule) => holds(rule, call));
  if (allowing !== null) return answer("allow", allowing, reasonOf(allowing, call));
  return answer("deny", null, `no rule allows ${shown(call)} for ${nameOf(call.principal)}`);
}

/** True when some arguments could make {@link decideFeature} allow it. */
export function mayEverAllowFeature(
  bundle: CompiledBundle,
  asked: Omit<FeatureCall, "args">,
): boolean {
  const call = { ...asked, args: {} };
  if (call.tool.server === null || !isConsistent(call.tool) || keptOut(call) !== null) return false;
  if (firstRule(bundle, call, "allow", () => true) === null) return false;
  return firstRule(bundle, call, "deny", ({ conditions }) => conditions.length === 0) === null;
}

/** The rules are in the order of their ids, so of several matching ones the same one is named always. */
function firstRule(
  bundle: CompiledBundle,
  call: FeatureCall,
  effect: CompiledRule["effect"],
  wanted: (rule: CompiledRule) => boolean,
): CompiledRule | null {
  const found = bundle.rules.find(
    (rule) =>
      rule.effect === effect &&
      selectsFeature(rule, call) &&
      selectsPrincipal(rule, call.principal) &&
      wanted(rule),
  );
  return found ?? null;
}

function selectsFeature(rule: CompiledRule, { kind, tool }: FeatureCall): boolean {
  if (rule.isAboutEverything) return true;
  const name = tool.tool.normalize("NFC"); // rules are written in NFC
  return rule.features.some(
    (pattern) =>
      pattern.kind === kind &&
      matchesGlob(pattern.server, tool.server ?? "") &&
      matchesGlob(pattern.name, name),
  );
}

function holds(rule: CompiledRule, call: FeatureCall): boolean {
  return matchConditions(rule, call.args) !== null;
}

/**
 * The layer of the run token that keeps the feature out. Its patterns are about tools: a resource
 * or a prompt has to fit one (`docs.*` does), and what a server asks for itself passes where any
 * tool of that server passes.
 */
function keptOut({ layers, kind, tool }: FeatureCall): ToolLayer | null {
  if (layers === null) return null;
  if (kind === "resource" || kind === "prompt") return refusingLayer(layers, tool);
  const ofServer = (layer: ToolLayer): boolean =>
    layer.patterns.some(
      (pattern) =>
        pattern.kind === "everything" ||
        (pattern.kind === "server" && matchesGlob(pattern.server, tool.server ?? "")),
    );
  return layers.find((layer) => !ofServer(layer)) ?? null;
}

function reasonOf(rule: CompiledRule, call: FeatureCall): string {
  const verb = rule.effect === "allow" ? "allows" : "denies";
  return `rule ${rule.id} ${verb} ${shown(call)}${rule.note === null ? "" : `: ${rule.note}`}`;
}

const MAX_SHOWN = 200;

function shown({ kind, tool }: FeatureCall): string {
  if (kind !== "resource" && kind !== "prompt") return `${kind} by MCP server ${tool.server}`;
  const name = tool.tool.length <= MAX_SHOWN ? tool.tool : `${tool.tool.slice(0, MAX_SHOWN - 1)}…`;
  return `${kind} ${name} of MCP server ${tool.server}`;
}

import { cutForReader } from "@switchyard/contracts/cut-text";
import { matchesGlob } from "@switchyard/contracts/glob";
import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import type { Decision } from "@switchyard/contracts/policy/policy";
import {
  selectsLabels,
  tierOf,
  type CompiledBundle,
  type CompiledRule,
} from "../bundle/compile-bundle.ts";
import type { ToolPattern } from "@switchyard/contracts/tool-patterns";
import type { FeatureKind } from "../bundle/feature-patterns.ts";
import { labelsOf } from "../layers/labels.ts";
import { firstRefusal, nameOf } from "../layers/narrowing.ts";
import { isConsistent, type Call } from "./evaluate.ts";
import { strictestResults } from "./inspection.ts";
import { matchConditions } from "./match-conditions.ts";
import { selectsPrincipal } from "./select-principal.ts";
import { isPlainUri, looseUri } from "../values/resource-uri.ts";
import { refusingLayer, type ToolLayer } from "../layers/tool-layers.ts";

/**
 * A decision request about a feature that is not a tool call. `tool` holds the server and the resource's URI, the prompt's name,
 * or the kind itself.
 */
export interface FeatureCall extends Call {
  readonly kind: FeatureKind;
}

/**
 * Decides like `decide`, in the same order: a contradiction or an ambiguous URI denies, then any deny rule, then the run token
 * and the layers, then the strictest of the matching allow rules. A rule about tools, or about everything, allows no feature; a
 * deny rule that names nothing denies all features.
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
  if (!isPlain(call))
    return answer("deny", null, `${shown(call)} does not say where it leads: ${PLAINLY}`);
  const denying = firstRule(bundle, call, "deny", (rule) => holds(rule, call));
  if (denying !== null) return answer("deny", denying, reasonOf(denying, call));
  const refusal = refusalOf(bundle, call);
  if (refusal !== null) return answer("deny", null, refusal);
  const allowing = (tier: ApprovalTier) =>
    firstRule(
      bundle,
      call,
      "allow",
      (rule) => tierOf(bundle, rule, null) === tier && holds(rule, call),
    );
  for (const tier of ["always", "session"] as const) {
    const asking = allowing(tier);
    if (asking === null) continue;
    const reason = `${reasonOf(asking, call)}; it needs an approval, which only tool calls can get`;
    return { ...answer("ask", asking, reason), tier };
  }
  const rule = allowing("auto");
  if (rule !== null)
    return {
      ...answer("allow", rule, reasonOf(rule, call)),
      tier: "auto",
      ...inspectionOfFeature(bundle, call),
    };
  return answer("deny", null, `no rule allows ${shown(call)} for ${nameOf(call.principal)}`);
}

/** Returns what the broker does with findings in a resource or a prompt; no masks are turned back in their requests. */
function inspectionOfFeature(
  bundle: CompiledBundle,
  call: FeatureCall,
): Pick<Decision, "inspection"> {
  if (bundle.results.length === 0 || (call.kind !== "resource" && call.kind !== "prompt"))
    return {};
  const { kind, tool } = call;
  const name = tool.tool.normalize("NFC");
  const loose = kind === "resource" ? looseUri(name) : null;
  const named = { kind, server: tool.server ?? "", name, loose };
  const labels = labelsOf(bundle.labels, call.tool, call.server?.labels);
  const results = strictestResults(
    bundle.results.filter(
      ({ selector }) =>
        selectsFeature(selector, named) &&
        selectsLabels(selector, labels) &&
        selectsPrincipal(selector, call.principal),
    ),
  );
  return Object.keys(results).length === 0 ? {} : { inspection: { results, unmask: [] } };
}

/** True when some arguments could make {@link decideFeature} allow it. */
export function mayEverAllowFeature(
  bundle: CompiledBundle,
  question: Omit<FeatureCall, "args">,
): boolean {
  const call = { ...question, args: {} };
  if (call.tool.server === null || !isConsistent(call.tool) || !isPlain(call)) return false;
  if (refusalOf(bundle, call) !== null) return false;
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
  const { kind, tool } = call;
  const name = tool.tool.normalize("NFC"); // rules are written in NFC
  const loose = effect === "deny" && kind === "resource" ? looseUri(name) : null;
  const found = bundle.rules.find(
    (rule) =>
      rule.effect === effect &&
      selectsFeature(rule, { kind, server: tool.server ?? "", name, loose }) &&
      selectsLabels(rule, labelsOf(bundle.labels, call.tool, call.server?.labels)) &&
      selectsPrincipal(rule, call.principal) &&
      wanted(rule),
  );
  return found ?? null;
}

interface NamedFeature {
  readonly kind: FeatureKind;
  readonly server: string;
  readonly name: string;
  /** The loose form of a resource URI, which deny rules compare; null for other features. */
  readonly loose: string | null;
}

function selectsFeature(rule: CompiledRule, { kind, server, name, loose }: NamedFeature): boolean {
  if (rule.isAboutEverything) return true;
  return rule.features.some(
    (pattern) =>
      pattern.kind === kind &&
      matchesGlob(pattern.server, server) &&
      (matchesGlob(pattern.name, name) || (loose !== null && matchesGlob(pattern.loose, loose))),
  );
}

const PLAINLY =
  "write it without . and .. in its path, without \\ and with no more percent-encoding than it needs";

function isPlain({ kind, tool }: FeatureCall): boolean {
  return kind !== "resource" || isPlainUri(tool.tool);
}

function holds(rule: CompiledRule, call: FeatureCall): boolean {
  return matchConditions(rule, call) !== null;
}

/** Returns why a narrowing outside the rules denies the feature. Layers of the bundle are about tools, and so apply to resources and prompts. */
function refusalOf(bundle: CompiledBundle, call: FeatureCall): string | null {
  if (keptOut(call) !== null)
    return `the run token of ${nameOf(call.principal)} leaves out ${shown(call)}`;
  if (call.kind !== "resource" && call.kind !== "prompt") return null;
  // The token's layers were checked above, and `enabledTools` applies to tools alone.
  const { enabledTools: _, ...server } = call.server ?? {};
  const refusal = firstRefusal(bundle.narrowings, { ...call, layers: null, server });
  return refusal?.detail ?? null;
}

/**
 * Returns the layer of the run token that denies the feature. Its patterns are about tools: a resource or a prompt has to match
 * one (`docs.*` does), and a request of the server itself passes where any tool of that server passes.
 */
function keptOut({ layers, kind, tool }: FeatureCall): ToolLayer | null {
  if (layers === null) return null;
  if (kind === "resource" || kind === "prompt") return refusingLayer(layers, tool, undefined);
  const isOfServer = (pattern: ToolPattern): boolean =>
    pattern.kind === "everything" ||
    (pattern.kind === "server" && matchesGlob(pattern.server, tool.server ?? ""));
  const ofServer = ({ patterns, excluded }: ToolLayer): boolean =>
    patterns.some(isOfServer) && !excluded.some((pattern) => isOfServer(pattern) && isAll(pattern));
  return layers.find((layer) => !ofServer(layer)) ?? null;
}

/** True for a pattern that is about every tool of its servers. */
function isAll(pattern: ToolPattern): boolean {
  return pattern.kind === "everything" || (pattern.kind === "server" && pattern.tool === "*");
}

function reasonOf(rule: CompiledRule, call: FeatureCall): string {
  const verb = rule.effect === "allow" ? "allows" : "denies";
  return `rule ${rule.id} ${verb} ${shown(call)}${rule.note === null ? "" : `: ${rule.note}`}`;
}

const MAX_SHOWN = 200;

function shown({ kind, tool }: FeatureCall): string {
  if (kind !== "resource" && kind !== "prompt") return `${kind} by MCP server ${tool.server}`;
  const name = cutForReader(tool.tool, MAX_SHOWN);
  return `${kind} ${name} of MCP server ${tool.server}`;
}

import { looseUri } from "../values/resource-uri.ts";
import type { AccessKind } from "@switchyard/contracts/policy/policy";
import type { Rule } from "../schema/bundle.ts";

/** An MCP feature, other than a tool, that a server offers or requests. */
export type FeatureKind = Exclude<AccessKind, "tool">;

/** One selector of a rule, parsed: globs over the server's id and the URI or name. */
export interface FeaturePattern {
  readonly kind: FeatureKind;
  readonly server: string;
  readonly name: string;
  /** The loose form of a resource URI pattern (see `looseUri`); deny rules compare it with the URI in the same form. */
  readonly loose: string;
}

/** The key of `what` that selects features of each kind. */
export const FEATURE_KEYS = {
  resource: "resources",
  prompt: "prompts",
  sampling: "sampling",
  elicitation: "elicitation",
  logging: "logging",
} as const satisfies Record<FeatureKind, keyof NonNullable<Rule["what"]>>;

/** Everything beside tools that a rule selects. */
export function featurePatternsOf(what: Rule["what"]): readonly FeaturePattern[] {
  // The keys of the table are the kinds; `Object.entries` forgets that.
  const kinds = Object.entries(FEATURE_KEYS) as [FeatureKind, (typeof FEATURE_KEYS)[FeatureKind]][];
  return kinds.flatMap(([kind, key]) => (what?.[key] ?? []).map((text) => parsed(kind, text)));
}

function parsed(kind: FeatureKind, text: string): FeaturePattern {
  const dot = text.indexOf(".");
  // A server's id has no dot, so the first one ends it; sampling, elicitation and logging name only the server.
  const [server, name] = dot === -1 ? [text, "*"] : [text.slice(0, dot), text.slice(dot + 1)];
  return { kind, server, name, loose: kind === "resource" ? looseUri(name) : name };
}

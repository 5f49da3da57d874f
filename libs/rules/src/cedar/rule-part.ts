import type { Condition } from "../schema/condition-schema.ts";
import type { ToolOfAction } from "./tool-of-action.ts";

/** A part of a rule that is a literal of a policy. */
export interface RulePart {
  readonly users?: string;
  readonly agents?: string;
  readonly channels?: string;
  readonly groups?: string;
  readonly roles?: readonly string[];
  readonly server?: string;
  readonly tool?: string;
  readonly tools?: readonly ToolOfAction[];
  readonly labels?: { readonly any?: readonly string[]; readonly not?: readonly string[] };
  readonly when?: readonly Condition[];
  /** Set where the rule is stricter than the policy. */
  readonly stricter?: string;
}

/** A literal that no rule expresses. */
export interface Untranslated {
  readonly reason: string;
}

/** A literal that is false for every request, so that its alternative is left out. */
export const NEVER = "never";

export interface Context {
  readonly isPermit: boolean;
  /** The resource that stands for this installation, as written in a policy; null: none. */
  readonly resource: string | null;
  /** The tools of the policy, for conditions on earlier calls of them. */
  readonly ownTools: readonly ToolOfAction[] | null;
}

export type Translated = RulePart | Untranslated | typeof NEVER;

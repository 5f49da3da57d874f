/** An expression of a policy, as far as it is read: parts that no rule can express are `other`. */
export type Expression =
  | { readonly kind: "literal"; readonly value: string | number | boolean }
  | { readonly kind: "entity"; readonly type: string; readonly id: string }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "attribute"; readonly of: Expression; readonly name: string }
  | { readonly kind: "has"; readonly of: Expression; readonly path: readonly string[] }
  | { readonly kind: "like"; readonly of: Expression; readonly parts: readonly string[] }
  | { readonly kind: "is"; readonly of: Expression; readonly type: string }
  | { readonly kind: "in"; readonly of: Expression; readonly set: Expression }
  | {
      readonly kind: "compare";
      readonly op: Comparison;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "and" | "or";
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "not"; readonly of: Expression }
  | { readonly kind: "set"; readonly items: readonly Expression[] }
  | {
      readonly kind: "call";
      readonly of: Expression | null;
      readonly name: string;
      readonly args: readonly Expression[];
    }
  | { readonly kind: "history"; readonly history: History }
  | { readonly kind: "other"; readonly what: string };

export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** A condition on earlier calls: their number, the sum of an argument, or the number of its different values. */
export interface History {
  readonly measure: "calls" | "count" | "sum" | "distinct";
  /** The argument that is summed, or whose different values count; null for counts of calls. */
  readonly argument: string | null;
  readonly withinMs: number;
  readonly event: CedarEvent;
  /** `calls` is compared with at least one; the others as written. */
  readonly op: Comparison;
  readonly limit: number;
}

/** The earlier events that a condition of Dogwood is about. */
export interface CedarEvent {
  readonly action: Expression & { readonly kind: "entity" };
  readonly kind: string;
  /** Fields that have to have a value; a condition of a rule has none. */
  readonly filters: readonly string[];
}

export interface CedarPolicy {
  readonly line: number;
  readonly effect: "permit" | "forbid";
  readonly annotations: ReadonlyMap<string, string>;
  /** The scope and the clauses, all of which have to hold. */
  readonly conditions: readonly Expression[];
}

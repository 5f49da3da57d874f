/** The type of a scalar, as rules distinguish them. */
export type ScalarKind = "string" | "number" | "boolean" | "null";

/** A value of a past call of which only the type and, where it has one, the digest is known. */
export interface RecordedValue {
  readonly kind: ScalarKind;
  /** Null: nothing but the type is known. */
  readonly digest: string | null;
}

/**
 * Returns the stand-in for such a value in the arguments of a call. It is a symbol, because no argument that came as JSON is one. Conditions
 * treat it as different from each value that they compare with: the caller puts in the value itself where it is one of those.
 */
export function recordedValue({ kind, digest }: RecordedValue): symbol {
  return Symbol(`${kind}:${digest ?? ""}`);
}

/** Returns the value behind a stand-in; null for any other argument. */
export function readRecordedValue(value: unknown): RecordedValue | null {
  if (typeof value !== "symbol") return null;
  const [kind, digest] = (value.description ?? "").split(":");
  return { kind: kind as ScalarKind, digest: digest === "" ? null : (digest ?? null) }; // as made above
}

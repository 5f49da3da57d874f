/** An object of JSON whose members are not checked yet. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** True for an object of JSON: neither null nor an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

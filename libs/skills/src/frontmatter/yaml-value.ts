export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMapping;
export interface YamlMapping {
  [key: string]: YamlValue;
}

export function isMapping(value: YamlValue | undefined): value is YamlMapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The mapping has no prototype, so a key can never resolve to an inherited property. */
export function emptyMapping(): YamlMapping {
  return Object.create(null) as YamlMapping;
}

/** Keys that mean something to JavaScript. */
export const FORBIDDEN_KEYS: ReadonlySet<string> = new Set([
  "__proto__",
  "constructor",
  "prototype",
]);

import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";

/** Fields whose keys are changed one by one: a client cannot send them whole without the secrets in them. */
const BY_KEY = new Set(["env", "headers"]);

/**
 * A declaration with some fields changed: a value replaces the field, null removes it. `env` and `headers` are changed in the
 * same way key by key. The id stays what it is.
 */
export function mergeDeclaration(declaration: JsonRecord, changes: JsonRecord): JsonRecord {
  const { id } = declaration;
  const merged = patched(declaration, changes, (field, before, after) =>
    BY_KEY.has(field) && isRecord(after)
      ? patched(isRecord(before) ? before : {}, after, (_key, _before, value) => value)
      : after,
  );
  return { ...merged, id };
}

function patched(
  before: JsonRecord,
  changes: JsonRecord,
  change: (key: string, before: unknown, after: unknown) => unknown,
): JsonRecord {
  const kept = Object.entries(before).filter(([key]) => !Object.hasOwn(changes, key));
  const changed = Object.entries(changes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => [key, change(key, before[key], value)] as const);
  return Object.fromEntries([...kept, ...changed]);
}

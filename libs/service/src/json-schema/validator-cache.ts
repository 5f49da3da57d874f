import type { JsonRecord } from "@switchyard/contracts/json-record";
import { compileSchema, type Validate } from "./compile-schema.ts";

/** A compiled schema takes 10 to 100 KB. */
const MAX_VALIDATORS = 1_000;

/** Caches compiled schemas by the digest of the schema, or another text that names it; the least recently used are dropped. */
export function createValidatorCache(
  limit = MAX_VALIDATORS,
  compile: (schema: JsonRecord) => Validate = compileSchema,
): (digest: string, schema: JsonRecord) => Validate {
  const kept = new Map<string, Validate>();
  return (digest, schema) => {
    const validate = kept.get(digest) ?? compile(schema);
    kept.delete(digest);
    kept.set(digest, validate);
    const [oldest] = kept.keys();
    if (kept.size > limit && oldest !== undefined) kept.delete(oldest);
    return validate;
  };
}

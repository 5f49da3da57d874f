import type { JsonRecord } from "@switchyard/contracts/json-record";
import { compileSchema, type Validate } from "./compile-schema.ts";

/** A compiled schema takes 10 to 100 KB. */
const MAX_VALIDATORS = 1_000;

/** Gives compiled schemas by the digest of the schema, and keeps them; those that were not used for longest go first. */
export function createValidatorCache(
  limit = MAX_VALIDATORS,
): (digest: string, schema: JsonRecord) => Validate {
  const kept = new Map<string, Validate>();
  return (digest, schema) => {
    const validate = kept.get(digest) ?? compileSchema(schema);
    kept.delete(digest);
    kept.set(digest, validate);
    const [oldest] = kept.keys();
    if (kept.size > limit && oldest !== undefined) kept.delete(oldest);
    return validate;
  };
}

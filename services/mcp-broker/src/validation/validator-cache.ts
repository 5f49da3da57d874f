import type { JsonRecord } from "../json/json-record.ts";
import { compileSchema, type Validate } from "./compile-schema.ts";

/** Compiled schemas, by the digest of the schema; those that were not used for longest go first. */
export interface ValidatorCache {
  get(digest: string, schema: JsonRecord): Validate;
}

/** A compiled schema takes 10 to 100 KB. */
const MAX_VALIDATORS = 1_000;

export function createValidatorCache(limit = MAX_VALIDATORS): ValidatorCache {
  const kept = new Map<string, Validate>();
  return {
    get(digest, schema) {
      const known = kept.get(digest);
      if (known !== undefined) {
        kept.delete(digest);
        kept.set(digest, known);
        return known;
      }
      const validate = compileSchema(schema);
      kept.set(digest, validate);
      const [oldest] = kept.keys();
      if (kept.size > limit && oldest !== undefined) kept.delete(oldest);
      return validate;
    },
  };
}

import type { z } from "zod";

/**
 * What a command prints with --json: `data` of its one document, or each line of its stream. With both, its options say
 * which. Scripts rely on it: what changes in a schema changes `schemaVersion`.
 */
export interface JsonOutput {
  readonly document?: z.ZodType;
  readonly line?: z.ZodType;
}

export type JsonOutputs = Readonly<Record<string, JsonOutput>>;

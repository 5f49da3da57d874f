import type { z } from "zod";

/**
 * The output of a command with --json: `data` of its one document, or each line of its stream. With both, its options select one.
 * Scripts rely on it: a change of a schema changes `schemaVersion`.
 */
export interface JsonOutput {
  readonly document?: z.ZodType;
  readonly line?: z.ZodType;
}

export type JsonOutputs = Readonly<Record<string, JsonOutput>>;

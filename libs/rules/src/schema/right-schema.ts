import { z } from "zod";
import { EntryId, listOf, NameGlob, objectError } from "./selector-schema.ts";

/**
 * Rights of a NATS user beside calling tools. `replay`: start a run that plays a recording, and so dictate what an agent calls.
 * `approve-own`: approve calls that it dictated. `share-memory`: have its runs read and write the memory of agents that share
 * theirs. `replay-values`: replay rules on arguments that the audit has encrypted.
 */
export const RIGHTS = ["replay", "approve-own", "share-memory", "replay-values"] as const;

export const Right = z.strictObject(
  {
    id: EntryId,
    right: z.enum(RIGHTS, { error: `must be ${RIGHTS.join(" or ")}` }),
    users: listOf(NameGlob),
  },
  { error: objectError("must be a mapping with id, right and users") },
);
export type Right = z.infer<typeof Right>;

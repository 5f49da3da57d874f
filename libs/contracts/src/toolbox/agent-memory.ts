import { z } from "zod";
import { rpc } from "../define.ts";
import { storeUnavailable } from "../skill-importer/definition-store.ts";
import { AgentName } from "../ids.ts";
import { RunToken } from "../policy/run-token.ts";

/** An agent's memories, stored with `memory_write`, become part of the system prompt of its new runs. */

/** Room for memories in a system prompt, in bytes: the least that is of use, and the most that is sensible. */
export const MEMORY_ROOM = { least: 256, most: 32_768 } as const;

/** The number of memories that are read, the first by name. */
export const MAX_RECALLED = 64;

export const RecalledMemory = z.object({
  name: z.string(),
  /** Null: there was no room for it, or the policy does not let the run read it. */
  text: z.string().nullable(),
  /** Size of the whole text; null when the run may not read it. */
  bytes: z.int().nonnegative().nullable(),
});
export type RecalledMemory = z.infer<typeof RecalledMemory>;

/**
 * The same reads as `memory_read` makes: the policy decides about the list of names and about each text, and each is recorded. No person is
 * prompted to approve one: a read that is not plainly allowed is left out.
 */
export const recallMemory = rpc({
  subject: "yard.rpc.{caller}.toolbox.recall",
  summary: "Reads what the agent of a run kept, as far as the policy lets the run read it.",
  request: z.strictObject({
    token: RunToken,
    /** The limit for all names and texts together. */
    maxBytes: z.int().min(MEMORY_ROOM.least).max(MEMORY_ROOM.most),
  }),
  reply: z.object({
    /** Sorted by name. */
    memories: z.array(RecalledMemory).max(MAX_RECALLED),
    /** The number of all names, those that are not in the list included. */
    kept: z.int().nonnegative(),
    /** The reason why the run may not even read the names; null when it may. */
    refused: z.string().nullable(),
  }),
  errors: {
    invalid_token: { data: z.object({ reason: z.string() }) },
    policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
    store_unavailable: storeUnavailable,
  },
});

/** The most memories of one agent and user. */
export const MAX_MEMORIES = 500;

/**
 * A person's view of what an agent stores for them. It is no tool call: agents read with `memory_read`, which the policy decides about, and
 * users read what their own runs stored. Shared memory belongs to no user and is not listed.
 */
export const listMemories = rpc({
  subject: "yard.rpc.{caller}.toolbox.memories",
  summary: "Lists what an agent stored in its memory for the caller.",
  role: "viewer",
  request: z.strictObject({
    agent: AgentName,
    /** Returns only memories that have this text in their name or content; upper and lower case are the same. */
    search: z.string().min(1).max(200).optional(),
  }),
  reply: z.object({
    /** Sorted by name. */
    memories: z
      .array(
        z.object({
          name: z.string(),
          /** Size of the content. */
          bytes: z.int().nonnegative(),
          /** The line that has the text searched for, else the first one; cut to 200 characters. */
          preview: z.string(),
        }),
      )
      .max(MAX_MEMORIES),
  }),
  errors: { store_unavailable: storeUnavailable },
});

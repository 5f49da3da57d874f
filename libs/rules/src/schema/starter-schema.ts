import { z } from "zod";
import { EntryId, isSound, listOf, NameGlob, objectError } from "./selector-schema.ts";

/** A starter entry: which users may start which agents. A selector that an entry omits matches anything; all given selectors must match. */
export const Starter = z
  .strictObject(
    {
      id: EntryId,
      /** The agents that may be started. */
      agents: listOf(NameGlob).optional(),
      /** The NATS users that may start the agents: those whose command started the run, or the first run of its family. */
      users: listOf(NameGlob).optional(),
      /** The agents whose runs may start the agents as sub-agents; with this selector no command may. */
      parents: listOf(NameGlob).optional(),
    },
    { error: objectError("must be a mapping with id and agents, users or parents") },
  )
  .refine(({ agents, users, parents }) => (agents ?? users ?? parents) !== undefined, {
    error: 'selects nothing; to let everybody start everything say agents: ["*"]',
    when: isSound,
  });
export type Starter = z.infer<typeof Starter>;

/** The users who are trusted about where a run comes from. */
export const Origins = z.strictObject(
  { users: listOf(NameGlob) },
  { error: objectError("must be a mapping of users") },
);
export type Origins = z.infer<typeof Origins>;

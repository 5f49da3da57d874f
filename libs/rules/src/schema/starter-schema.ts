import { z } from "zod";
import { EntryId, isSound, listOf, NameGlob, objectError } from "./selector-schema.ts";

/** Who may start which agents. What is left out of an entry is any; all that is given must fit. */
export const Starter = z
  .strictObject(
    {
      id: EntryId,
      /** The agents that may be started. */
      agents: listOf(NameGlob).optional(),
      /** The NATS users that may: those whose command started the run, or the first run of its family. */
      users: listOf(NameGlob).optional(),
      /** Agents whose runs may, as sub-agents; with it nobody may by a command. */
      parents: listOf(NameGlob).optional(),
    },
    { error: objectError("must be a mapping with id and agents, users or parents") },
  )
  .refine(({ agents, users, parents }) => (agents ?? users ?? parents) !== undefined, {
    error: 'selects nothing; to let everybody start everything say agents: ["*"]',
    when: isSound,
  });
export type Starter = z.infer<typeof Starter>;

/** Who is believed about where a run comes from. */
export const Origins = z.strictObject(
  { users: listOf(NameGlob) },
  { error: objectError("must be a mapping of users") },
);
export type Origins = z.infer<typeof Origins>;

import { ToolLabel } from "@switchyard/contracts/policy/policy";
import { z } from "zod";
import { EntryId, hasSelector, isSound, listOf, NameGlob, objectError } from "./selector-schema.ts";

/** The calls that an entry is about. All given selectors must match. */
export const CallsOf = z
  .strictObject(
    {
      /** The NATS users for whom the calls are made. */
      users: listOf(NameGlob).optional(),
      /** The agents that make them; a call by hand has none. */
      agents: listOf(NameGlob).optional(),
      /** The labels that this policy gives to the tools; one of them is enough. */
      labels: listOf(ToolLabel).optional(),
    },
    { error: objectError("must be a mapping of users, agents and labels") },
  )
  .refine(hasSelector, {
    error: 'selects nothing; for all calls say users: ["*"]',
    when: isSound,
  });

/** Gives users the right to decide about some calls, and about no others. */
export const Approver = z.strictObject(
  { id: EntryId, users: listOf(NameGlob), callsOf: CallsOf },
  { error: objectError("must be a mapping with id, users and callsOf") },
);
export type Approver = z.infer<typeof Approver>;

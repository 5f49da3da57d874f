import { z } from "zod";
import { Duration } from "./budget-schema.ts";
import { Unmask } from "./result-schema.ts";
import { EntryId, isSound, listOf, NameGlob, objectError } from "./selector-schema.ts";

/** The people who have to approve the calls of a rule, and the groups, persons and deputies that such lists name. */

const GROUP = "group:";

/** A glob over user names, or `group:` and the id of an entry of `groups`. */
const ApproverName = z
  .string({ error: "must be a text" })
  .refine(
    (text) =>
      text.startsWith(GROUP)
        ? EntryId.safeParse(text.slice(GROUP.length)).success
        : NameGlob.safeParse(text).success,
    {
      error:
        "must be the name of a user (* and ? stand for others), or group: and the id of a group",
    },
  );

export const Escalate = z.strictObject(
  { after: Duration, to: listOf(ApproverName) },
  { error: objectError("must be a mapping with after and to") },
);

/** `approve` of a rule. */
export const Approve = z
  .strictObject(
    {
      from: listOf(ApproverName).optional(),
      /** Distinct people. */
      count: z
        .int({ error: "must be a whole number" })
        .min(1, "must be at least 1")
        .max(10, "must be at most 10")
        .optional(),
      notRequester: z.literal(true, { error: "must be true; leave it out otherwise" }).optional(),
      within: Duration.optional(),
      escalate: Escalate.optional(),
      /** The kinds of masked values that those who may decide are shown. */
      unmask: Unmask.optional(),
      edit: z.literal(false, { error: "must be false; leave it out otherwise" }).optional(),
      reason: z
        .enum(["required", "approvals", "denials"], {
          error: "must be required, or approvals or denials for one of the two",
        })
        .optional(),
    },
    {
      error: objectError(
        "must be a mapping of from, count, notRequester, within, escalate, unmask, edit and reason",
      ),
    },
  )
  .refine((approve) => Object.keys(approve).length > 0, {
    error: "requires nothing; leave it out",
    when: isSound,
  })
  .refine(({ from, escalate }) => escalate === undefined || from !== undefined, {
    path: ["escalate"],
    error: "goes only with from: it adds people to those",
    when: isSound,
  })
  .refine(
    ({ within, escalate }) =>
      within === undefined || escalate === undefined || escalate.after < within,
    { path: ["escalate", "after"], error: "must be shorter than within", when: isSound },
  );
export type Approve = z.infer<typeof Approve>;

const UserName = z
  .string({ error: "must be a text" })
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be the name of one user: a-z 0-9 -");

/** People that rules name together as `group:ID`. */
export const Group = z.strictObject(
  { id: EntryId, users: listOf(NameGlob) },
  { error: objectError("must be a mapping with id and users") },
);

/** One person with several user names; the id is one of them. */
export const Person = z.strictObject(
  { id: EntryId, users: listOf(UserName) },
  { error: objectError("must be a mapping with id and users") },
);

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const Day = z
  .string({ error: "must be a text" })
  .refine((text) => DAY.test(text) && !Number.isNaN(Date.parse(text)), {
    error: "must be a day such as 2026-12-24",
  });

/** The users of `by` may approve for the user of `for`, from the beginning of `since` to the end of `until`, in UTC. */
export const Deputy = z
  .strictObject(
    {
      id: EntryId,
      for: UserName,
      by: listOf(UserName),
      since: Day.optional(),
      until: Day.optional(),
    },
    { error: objectError("must be a mapping with id, for, by, since and until") },
  )
  .refine(({ since, until }) => since === undefined || until === undefined || since <= until, {
    path: ["until"],
    error: "is before since",
    when: isSound,
  })
  .refine((entry) => !entry.by.includes(entry.for), {
    path: ["by"],
    error: "names the user of for",
    when: isSound,
  });

/** The id of the group that an entry of `from` names; null for a user. */
export function groupNamed(name: string): string | null {
  return name.startsWith(GROUP) ? name.slice(GROUP.length) : null;
}

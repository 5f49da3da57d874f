import { Finding, ResultEffect } from "@switchyard/contracts/policy/findings";
import { z } from "zod";
import { EntryId, isSound, listOf, objectError, What, Who } from "./selector-schema.ts";
import { selectsResults } from "./tool-selectors.ts";

const KINDS = Finding.options.join(", ");

/** The kinds of content that inspectors look for. */
export const Finds = listOf(z.enum(Finding.options, { error: `must be one of ${KINDS}` }));

/** The kinds whose masks a rule turns back. The text of an injection is not stored. */
export const Unmask = listOf(
  z.enum(Finding.exclude(["injection"]).options, {
    error: `must be one of ${KINDS.replace(", injection", "")}`,
  }),
);

/** Masks or withholds the results of calls in which something is found. */
export const ResultRule = z
  .strictObject(
    {
      id: EntryId,
      who: Who.optional(),
      what: What.optional(),
      finds: Finds,
      effect: z.enum(ResultEffect.options, { error: "must be mask or deny" }),
    },
    { error: objectError("must be a mapping with id, finds and effect") },
  )
  .refine(({ what }) => what === undefined || selectsResults(what), {
    path: ["what"],
    error:
      "has to select tools, resources or prompts, and nothing else: only their results are inspected",
    when: isSound,
  })
  .refine(({ who }) => who?.replayed === undefined, {
    path: ["who", "replayed"],
    error: "does not go with results: such a rule is about replayed runs as it is about others",
    when: isSound,
  });
export type ResultRule = z.infer<typeof ResultRule>;

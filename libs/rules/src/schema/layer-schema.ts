import { z } from "zod";
import { EntryId, For, listOf, NameGlob, objectError, ToolGlob } from "./selector-schema.ts";
import { ToolLabel } from "@switchyard/contracts/policy/policy";
import { toolProfileNames } from "./tool-profiles.ts";

/** The sections of a policy file that narrow what rules allow. None of them allows anything. */

const ProfileName = z
  .string({ error: "must be a text" })
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be 1-32 characters of a-z 0-9 -");

const Tools = listOf(ToolGlob);

/** One step of narrowing, for the principals that it selects. */
export const Layer = z
  .strictObject(
    {
      id: EntryId,
      for: For.optional(),
      profile: ProfileName.optional(),
      alsoAllow: Tools.optional(),
      allow: Tools.optional(),
      deny: Tools.optional(),
    },
    { error: objectError("must be a mapping with id and profile, allow or deny") },
  )
  .refine(
    ({ profile, allow, deny }) =>
      profile !== undefined || allow !== undefined || deny !== undefined,
    { error: "narrows nothing; give it a profile, allow or deny" },
  )
  .refine(({ profile, alsoAllow }) => alsoAllow === undefined || profile !== undefined, {
    path: ["alsoAllow"],
    error: "goes only with a profile, whose tools it adds to",
  });
export type Layer = z.infer<typeof Layer>;

/** Labels that the administrator gives to tools. */
export const Labelling = z.strictObject(
  { tools: Tools, are: listOf(ToolLabel) },
  { error: objectError("must be a mapping with tools and are") },
);

export const Profiles = z.record(ProfileName, Tools, {
  error: objectError("must be a mapping of names to lists of tools"),
});

/** Tools that sub-agents may use although they are denied to sub-agents by default. */
export const SubAgents = z.strictObject(
  {
    alsoAllow: Tools.optional(),
    /** From this depth on no further sub-agent is started. */
    leafDepth: z
      .int({ error: "must be a whole number" })
      .min(1, "must be at least 1")
      .max(16, "must be at most 16")
      .optional(),
  },
  { error: objectError("must be a mapping of alsoAllow and leafDepth") },
);

/** The owners of the installation, and the tools reserved for them. */
export const Owners = z.strictObject(
  { users: listOf(NameGlob).optional(), only: Tools.optional() },
  { error: objectError("must be a mapping of users and only") },
);

/** Returns names of profiles that layers use and that are not defined, with the index of the layer. */
export function unknownProfiles(
  layers: readonly Layer[],
  defined: readonly string[],
): { readonly index: number; readonly name: string }[] {
  const known = new Set([...toolProfileNames, ...defined]);
  return layers.flatMap(({ profile }, index) =>
    profile === undefined || known.has(profile) ? [] : [{ index, name: profile }],
  );
}

import { ScanSuppression } from "@switchyard/contracts/skill-scan";
import { AgentName, SkillName } from "@switchyard/contracts/ids";
import { z } from "zod";
import { parseStrictly, readAtMost } from "./strict-file.ts";

const MAX_BYTES = 256 * 1024;
const Entry = z
  .looseObject({ skill: SkillName.optional(), agent: AgentName.optional() })
  .refine(({ skill, agent }) => (skill === undefined) !== (agent === undefined), {
    error: "names either a skill or an agent",
  })
  .transform(({ skill, agent, ...suppression }) => ({ skill, agent, suppression }))
  .pipe(
    z.object({
      skill: z.string().or(z.undefined()),
      agent: z.string().or(z.undefined()),
      suppression: ScanSuppression,
    }),
  );
/** A suppression and the one skill or agent that it is about: a path alone would be about every file of that name. */
export type Suppression = z.infer<typeof Entry>;
const SuppressionFile = z.strictObject({ suppressions: z.array(Entry).max(1_000) });

/**
 * Reads the operator's file of suppressions. Rejects for the smallest mistake, naming it: a suppression that is
 * not understood must not look like one that works.
 */
export async function readSuppressions(path: string): Promise<Suppression[]> {
  return path === "" ? [] : parseSuppressions(await readAtMost(path, MAX_BYTES), path);
}

/** As {@link readSuppressions}; `path` is for messages. */
export function parseSuppressions(text: string, path: string): Suppression[] {
  return parseStrictly(SuppressionFile, text, path).suppressions;
}

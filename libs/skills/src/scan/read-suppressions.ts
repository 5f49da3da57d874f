import { ScanSuppression } from "@switchyard/contracts/skill-importer/skill-scan";
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
/** A suppression with the skill or agent that it is about: a path alone would match every file of that name. */
export type Suppression = z.infer<typeof Entry>;
const SuppressionFile = z.strictObject({ suppressions: z.array(Entry).max(1_000) });

/**
 * Reads the operator's file of suppressions. Rejects on the smallest mistake and names it: an invalid suppression must not look
 * like an effective one.
 */
export async function readSuppressions(path: string): Promise<Suppression[]> {
  return path === "" ? [] : parseSuppressions(await readAtMost(path, MAX_BYTES), path);
}

/** As {@link readSuppressions}; `path` is for messages. */
export function parseSuppressions(text: string, path: string): Suppression[] {
  return parseStrictly(SuppressionFile, text, path).suppressions;
}

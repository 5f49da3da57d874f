import { open } from "node:fs/promises";
import { ScanSuppression } from "@switchyard/contracts/skill-scan";
import { AgentName, SkillName } from "@switchyard/contracts/ids";
import { z } from "zod";
import { parseYamlByLibrary } from "../frontmatter/safe-yaml.ts";

/** A suppression and the one skill or agent that it is about: a path alone would be about every file of that name. */
export interface Suppression {
  readonly skill?: string | undefined;
  readonly agent?: string | undefined;
  readonly suppression: ScanSuppression;
}

const MAX_BYTES = 256 * 1024;
const Entry = z
  .looseObject({ skill: SkillName.optional(), agent: AgentName.optional() })
  .refine(({ skill, agent }) => (skill === undefined) !== (agent === undefined), {
    error: "names either a skill or an agent",
  })
  .transform(({ skill, agent, ...suppression }) => ({
    skill,
    agent,
    suppression,
  }))
  .pipe(
    z.object({
      skill: z.string().or(z.undefined()),
      agent: z.string().or(z.undefined()),
      suppression: ScanSuppression,
    }),
  );
const SuppressionFile = z.strictObject({ suppressions: z.array(Entry).max(1_000) });

/**
 * Reads the operator's file of suppressions. Rejects for the smallest mistake, naming it: a suppression that is
 * not understood must not look like one that works.
 */
export async function readSuppressions(path: string): Promise<Suppression[]> {
  if (path === "") return [];
  await using file = await open(path);
  const { size } = await file.stat();
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, the limit is ${MAX_BYTES}`);
  return parseSuppressions(await file.readFile("utf8"), path);
}

/** As {@link readSuppressions}; `path` is for messages. */
export function parseSuppressions(text: string, path: string): Suppression[] {
  const parsed = parseYamlByLibrary(text, { schema: "core" });
  if ("problem" in parsed) {
    const { message, line } = parsed.problem;
    throw new Error(`${path}:${line ?? 1}: ${message}`);
  }
  const read = SuppressionFile.safeParse(parsed.values);
  if (read.success) return read.data.suppressions;
  const problems = read.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new Error(`${path}: ${problems.join("; ")}`);
}

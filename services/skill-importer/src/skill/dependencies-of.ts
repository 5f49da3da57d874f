import type { SkillDependencies } from "@switchyard/contracts/skills";
import { checkDependencies } from "./check-dependencies.ts";
import { readRequirements } from "./skill-requirements.ts";

/** What a skill needs, as this process finds it now; null when its metadata says nothing of needs. */
export async function dependenciesOf(
  metadata: Readonly<Record<string, unknown>> | null,
): Promise<SkillDependencies | null> {
  const requirements = metadata === null ? null : readRequirements(metadata).requirements;
  if (requirements === null) return null;
  return checkDependencies(requirements, { env: process.env, platform: process.platform });
}

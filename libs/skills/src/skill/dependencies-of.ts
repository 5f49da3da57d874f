import type { SkillDependencies } from "@switchyard/contracts/skill-importer/skills";
import { checkDependencies, type Machine } from "./check-dependencies.ts";
import { readRequirements } from "./skill-requirements.ts";

/** The needs of a skill, and which of them this machine meets now; null when its metadata names none. */
export async function dependenciesOf(
  metadata: Readonly<Record<string, unknown>> | null,
  machine: Machine,
): Promise<SkillDependencies | null> {
  const requirements = metadata === null ? null : readRequirements(metadata).requirements;
  if (requirements === null) return null;
  return checkDependencies(requirements, machine);
}

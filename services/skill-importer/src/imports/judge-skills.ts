import type { ImportCounts, ImportedSkill } from "@switchyard/contracts/skill-store";
import type { SkillTarget } from "@switchyard/contracts/skills";
import type { Analyzer } from "../analysis/analyze.ts";
import type { Package } from "../source/package.ts";
import { IMPORTED_ROOT } from "../store/definition.ts";
import { importedSkill } from "./import-sent.ts";
import { countsOf, planSent } from "./plan-sent.ts";
import { readDefinition } from "./read-definition.ts";

/**
 * What a dry run would say of these skills, worked out without a store. What is listed is not known, so nothing is new,
 * changed or hidden, and of trust there is none.
 */
export async function judgeSkills(
  packages: readonly Package[],
  options: {
    readonly analyzer: Analyzer;
    readonly now: () => Date;
    readonly targets: readonly SkillTarget[];
    readonly withReports: boolean;
  },
): Promise<{ counts: ImportCounts; skills: ImportedSkill[] }> {
  const { analyzer, now } = options;
  const origin = { root: IMPORTED_ROOT, scope: "imported", needsTrust: false } as const;
  const reading = { analyzer, now, scans: true };
  const read = await Promise.all(packages.map((pkg) => readDefinition(pkg, origin, reading)));
  const none = { listed: [], imported: [], size: 0 };
  const { outcomes } = planSent(
    "skill",
    {
      current: { skill: none, agent: none, withheld: [], trust: [] },
      limits: { roots: [], maxNames: Infinity },
    },
    read,
  );
  const skills = await Promise.all(
    outcomes.map((outcome) => importedSkill({ ...outcome, change: null }, options)),
  );
  return { counts: countsOf(outcomes), skills };
}

import type { uploadSkills } from "@switchyard/contracts/skill-importer/skill-store";
import type { SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import type { z } from "zod";
import type { Machine } from "../skill/check-dependencies.ts";
import type { Package } from "../source/package.ts";
import { countsOf, planSent } from "./plan-sent.ts";
import { readSent, type Reading } from "./read-definition.ts";
import { importedSkill } from "./sent-reply.ts";

/**
 * Computes the result of a dry run for these skills without a store. The listed entries are unknown, so no skill is reported as
 * new, changed or hidden, and none is trusted.
 */
export async function judgeSkills(
  packages: readonly Package[],
  options: Omit<Reading, "scans"> & {
    readonly targets: readonly SkillTarget[];
    readonly withReports: boolean;
    readonly machine: Machine;
  },
): Promise<Omit<z.output<typeof uploadSkills.reply>, "diagnostics">> {
  const read = await readSent(packages, options);
  const none = { listed: [], imported: [], size: 0 };
  const current = { skill: none, agent: none, withheld: [], trust: [] };
  const limits = { roots: [], maxNames: Infinity };
  const { outcomes } = planSent("skill", { current, limits }, read);
  const skills = await Promise.all(
    outcomes.map((outcome) => importedSkill({ ...outcome, change: null }, options)),
  );
  return { counts: countsOf(outcomes), skills };
}

import type { ScanReport } from "@switchyard/contracts/skill-scan";
import { writtenOf } from "../judge/judge-skill.ts";
import { scanSkill } from "../scan/scan-skill.ts";
import type { ParsedSkill } from "../skill/skill-file.ts";
import type { SkillPackage } from "./skill-package.ts";

/** Judges the files of a skill that can be read. `version` is what the verdict is bound to. */
export type ScanPackage = (
  pkg: SkillPackage,
  parsed: ParsedSkill,
  version: string,
) => Promise<ScanReport>;

/** Scans in this thread. */
export function scanHere(now: () => Date): ScanPackage {
  return ({ files, skillFile }, { skill, metadata }, version) => {
    // The skill's own file first, as the scanner wants it.
    const own = [...files].toSorted(
      ([a], [b]) => Number(b === skillFile) - Number(a === skillFile),
    );
    return Promise.resolve(
      scanSkill({
        files: own.map(([path, content]) => ({ path, content })),
        skill,
        metadata,
        ...(skill === null ? {} : { written: writtenOf(skill) }),
        digest: version,
        now: now(),
      }),
    );
  };
}

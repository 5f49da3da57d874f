import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { Indicators } from "../scan/indicators.ts";
import type { Suppression } from "../scan/read-suppressions.ts";
import { scannerOf } from "./suppressing-judges.ts";
import { scanSkill } from "../scan/scan-skill.ts";
import { parseSkill } from "../skill/parse-skill.ts";
import type { SkillContent } from "../skill/skill-content.ts";
import type { ParsedSkill } from "../skill/skill-file.ts";

/** Everything about one skill that costs time for what its files hold. Can be sent to another thread. */
export interface JudgeJob {
  readonly directoryName: string;
  /** One of `files`. */
  readonly skillFile: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What the scanner's verdict is bound to; null: no scan. */
  readonly version: string | null;
  readonly now: Date;
  /** Of all skills; those of others do nothing here. */
  readonly suppressions?: readonly Suppression[];
  /** What the operator knows of places and files. */
  readonly indicators?: Indicators | null;
}

export interface Judgement {
  readonly parsed: ParsedSkill;
  /** Null when no scan was asked for, or when the skill does not load. */
  readonly report: ScanReport | null;
}

/** Parses, judges and scans a skill. */
export function judgeSkill(job: JudgeJob): Judgement {
  const {
    directoryName,
    skillFile,
    files,
    version,
    now,
    suppressions = [],
    indicators = null,
  } = job;
  const bytes = files.get(skillFile);
  if (bytes === undefined) throw new Error(`the skill file ${skillFile} is not among the files`);
  const parsed = parseSkill({ skillFile, files }, directoryName);
  if (parsed.skill === null || version === null) return { parsed, report: null };
  const others = [...files].filter(([path]) => path !== skillFile);
  const report = scanSkill({
    files: [[skillFile, bytes] as const, ...others].map(([path, content]) => ({ path, content })),
    skill: parsed.skill,
    metadata: parsed.metadata,
    written: writtenOf(parsed.skill),
    digest: version,
    now,
    indicators,
    suppressions: suppressionsFor(parsed.skill.name, suppressions),
  });
  return { parsed, report: { ...report, scanner: scannerOf({ suppressions, indicators }) } };
}

function suppressionsFor(name: string, all: readonly Suppression[]) {
  return all.filter(({ skill }) => skill === name).map(({ suppression }) => suppression);
}

/** What the scanner wants to know beside the skill's fields. */
export function writtenOf({ record }: SkillContent): { name: string | null; hasHooks: boolean } {
  const hasHooks = record !== undefined && record.hooks !== null;
  return { name: record?.displayName ?? null, hasHooks };
}

import { basename } from "node:path/posix";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { SkillFileFacts } from "@switchyard/contracts/skill-store";
import {
  SkillSummary,
  type Conformance,
  type Diagnostic,
  type SkillScope,
} from "@switchyard/contracts/skills";
import { MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import type { Finding } from "../finding.ts";
import type { Judgement, JudgeJob } from "../judge/judge-skill.ts";
import { parseSkill } from "../skill/parse-skill.ts";
import type { ParsedSkill } from "../skill/skill-file.ts";
import type { SkillEntry, StoredSkill } from "../store/definition.ts";
import { fileFacts, versionOf, type SkillPackage } from "./skill-package.ts";

export interface FoundSkill {
  readonly entry: SkillEntry;
  readonly stored: StoredSkill;
}

/** A package after everything that can be said of it without looking at any other. */
export interface ReadPackage {
  /** The skill file as it is shown; the directory when there is none. */
  readonly file: string;
  /** Null when the skill cannot be used; then one of the diagnostics is an error. */
  readonly found: FoundSkill | null;
  readonly pkg: SkillPackage;
  readonly parsed: ParsedSkill;
  readonly facts: readonly SkillFileFacts[];
  readonly diagnostics: readonly Diagnostic[];
  readonly conformance: readonly Conformance[];
  /** Null when nobody scans, or when there is nothing to scan. */
  readonly report: ScanReport | null;
}

export interface PackagePlace {
  /** The root, or {@link IMPORTED_ROOT}. */
  readonly root: string;
  readonly scope: SkillScope;
  /** What `{baseDir}` stands for. */
  readonly baseDirectory: string | ((name: string) => string);
  /** The name of a skill that has none and whose directory has none either. */
  readonly fallbackName: string;
  readonly needsTrust: boolean;
  /** True when the scanner is to judge it, too. */
  readonly scans: boolean;
  /** Parses and scans, where it can be ended. */
  readonly judge: (job: Omit<JudgeJob, "now">) => Promise<Judgement>;
}

/** Reads a skill from its files. Never throws for what the files hold, and runs nothing of it. */
export async function readPackage(pkg: SkillPackage, place: PackagePlace): Promise<ReadPackage> {
  const { directory, skillFile } = pkg;
  const file = skillFile === null ? directory : joined(directory, skillFile);
  const directoryName = basename(directory) === "." ? place.fallbackName : basename(directory);
  const facts = fileFacts(pkg.files);
  const version = versionOf(facts);
  const { parsed, report: given } = await judged(pkg, { directoryName, place, version });
  const diagnostics = locatedAt(file, [...pkg.findings, ...parsed.findings]);
  const isUsable =
    parsed.skill !== null && pkg.findings.every(({ severity }) => severity !== "error");
  const report = isUsable ? given : null;
  const found = isUsable ? foundSkill({ pkg, parsed, place, facts, report, diagnostics }) : null;
  const { conformance } = parsed;
  return { file, found, pkg, parsed, facts, diagnostics, conformance, report };
}

/** Findings as they leave the parser, with the file that they are about. */
export function locatedAt(file: string, findings: readonly Finding[]): Diagnostic[] {
  return findings.map((finding) => ({ ...finding, file }));
}

/** Nobody needs to be asked where there is no file that could be parsed. */
async function judged(
  { skillFile, files }: SkillPackage,
  given: { directoryName: string; place: PackagePlace; version: string },
): Promise<Judgement> {
  const { directoryName, place, version } = given;
  const size = skillFile === null ? Infinity : (files.get(skillFile)?.length ?? Infinity);
  if (skillFile === null || size > MAX_FILE_BYTES) {
    return { parsed: parseSkill({ skillFile, files }, directoryName), report: null };
  }
  const scannedAs = place.scans ? version : null;
  return place.judge({ directoryName, skillFile, files, version: scannedAs });
}

function foundSkill(given: {
  pkg: SkillPackage;
  parsed: ParsedSkill;
  place: PackagePlace;
  facts: readonly SkillFileFacts[];
  report: ScanReport | null;
  diagnostics: readonly Diagnostic[];
}): FoundSkill | null {
  const { pkg, parsed, place, facts, report } = given;
  if (parsed.skill === null || pkg.skillFile === null) return null;
  const { root, scope, baseDirectory, needsTrust } = place;
  const skill = {
    ...parsed.skill,
    path: pkg.directory,
    version: versionOf(facts),
    scope,
    diagnostics: [...given.diagnostics],
  };
  return {
    entry: {
      root,
      file: joined(pkg.directory, pkg.skillFile),
      summary: SkillSummary.parse(skill),
      ...(needsTrust ? { needsTrust } : {}),
      ...(report?.verdict === "blocked" ? { blocked: true } : {}),
    },
    stored: {
      skill,
      directory: typeof baseDirectory === "string" ? baseDirectory : baseDirectory(skill.name),
      metadata: parsed.metadata,
      conformance: [...parsed.conformance],
    },
  };
}

function joined(directory: string, file: string): string {
  return directory === "." ? file : `${directory}/${file}`;
}

import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { Provenance } from "@switchyard/contracts/definition-store";
import type { FoundSkill, ReadPackage } from "../source/read-package.ts";
import type { Judges } from "../judge/judge-job.ts";
import { errorFinding, type Finding } from "../finding.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { versionOfEntry } from "./definition.ts";
import { saveVersion } from "./save-version.ts";
import type { VersionStore } from "./version-store.ts";

export interface Keeping {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly judges: Judges;
  /** What its verdicts are called; see `scannerOf`. */
  readonly scanner: string;
  readonly now: () => Date;
  readonly provenance: Provenance;
  readonly dryRun: boolean;
}

/**
 * Stores a skill of a root, and returns it with the scanner's verdict. A version that this scanner
 * has judged before is not judged again: an import at every change of a file must stay cheap. A finding
 * says why the scanner came to no end; then the skill is not stored.
 */
export async function keepVersion(
  keeping: Keeping,
  read: ReadPackage,
  found: FoundSkill,
): Promise<FoundSkill | Finding> {
  const { store, versions, provenance, dryRun } = keeping;
  const { name } = found.entry.summary;
  const version = versionOfEntry(found.entry);
  const before = await versions.record(name, version);
  if (before?.verdict?.scanner === keeping.scanner && before.supersededAt === null) {
    if (!dryRun) await store.refreshSkill(found.stored);
    return withVerdict(found, before.verdict.verdict === "blocked");
  }
  const report = await scan(keeping, read, { name, version });
  if ("problem" in report) return report.problem;
  if (!dryRun) await saveVersion({ store, versions }, { ...read, report }, provenance);
  return withVerdict(found, report.verdict === "blocked");
}

/** The file was read before, within its time; this is about the scanner, and all files. */
async function scan(
  { judges, now }: Keeping,
  { pkg }: ReadPackage,
  { name, version }: { name: string; version: string },
): Promise<ScanReport | { readonly problem: Finding }> {
  const { files, skillFile } = pkg;
  if (skillFile === null) throw new Error("a skill was found without a skill file");
  const job = { directoryName: name, skillFile, files, version, now: now() };
  const { report, parsed } = await judges.skill(job);
  if (report !== null) return report;
  const problem = parsed.findings.find(({ severity }) => severity === "error");
  return { problem: problem ?? errorFinding("not_judged", "the scanner gave no verdict") };
}

function withVerdict(found: FoundSkill, isBlocked: boolean): FoundSkill {
  return isBlocked ? { ...found, entry: { ...found.entry, blocked: true } } : found;
}

import type { SkillProvenance } from "@switchyard/contracts/skill-store";
import { SCANNER_VERSION } from "../scan/scanner-version.ts";
import type { FoundSkill, ReadPackage } from "../source/read-package.ts";
import type { ScanPackage } from "../source/scan-package.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { versionOfEntry } from "./definition.ts";
import { saveVersion } from "./save-version.ts";
import type { VersionStore } from "./version-store.ts";

export interface Keeping {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly scan: ScanPackage;
  readonly provenance: SkillProvenance;
  readonly dryRun: boolean;
}

/**
 * Stores a skill of a root, and returns it with the scanner's verdict. A version that this scanner
 * has judged before is not judged again: an import at every change of a file must stay cheap.
 */
export async function keepVersion(
  keeping: Keeping,
  read: ReadPackage,
  found: FoundSkill,
): Promise<FoundSkill> {
  const { store, versions, provenance, dryRun } = keeping;
  const { name } = found.entry.summary;
  const version = versionOfEntry(found.entry);
  const before = await versions.record(name, version);
  if (before?.verdict?.scanner === SCANNER_VERSION && before.supersededAt === null) {
    if (!dryRun) await store.saveSkill(found.stored);
    return withVerdict(found, before.verdict.verdict === "blocked");
  }
  const report = await keeping.scan(read.pkg, read.parsed, version);
  if (!dryRun) await saveVersion({ store, versions }, { ...read, report }, provenance);
  return withVerdict(found, report.verdict === "blocked");
}

function withVerdict(found: FoundSkill, isBlocked: boolean): FoundSkill {
  return isBlocked ? { ...found, entry: { ...found.entry, blocked: true } } : found;
}

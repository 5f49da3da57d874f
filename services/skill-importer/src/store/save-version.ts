import type { Provenance } from "@switchyard/contracts/definition-store";
import type { ReadPackage } from "../source/read-package.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { versionOfEntry } from "./definition.ts";
import type { VersionStore } from "./version-store.ts";

/** Stores a package that can be used; nobody sees it before it becomes current. */
export async function saveVersion(
  { store, versions }: { store: CatalogueStore; versions: VersionStore },
  { found, pkg, facts, report }: Pick<ReadPackage, "found" | "pkg" | "facts" | "report">,
  provenance: Provenance,
): Promise<void> {
  if (found === null) return;
  const { name, digest } = found.stored.skill;
  const version = versionOfEntry(found.entry);
  await store.saveSkill(found.stored);
  const before = await versions.record(name, version);
  const isWhole = before !== null && before.supersededAt === null;
  if (isWhole && before.verdict?.scanner === report?.scanner) return;
  const verdict = report === null ? null : { scanner: report.scanner, verdict: report.verdict };
  await versions.save(name, {
    record: { version, digest, provenance, verdict, files: [...facts], supersededAt: null },
    files: pkg.files,
    report,
  });
}

import type { SkillTarget } from "@switchyard/contracts/skills";
import type { ImportCounts, ImportedSkill } from "@switchyard/contracts/skill-store";
import type { Provenance } from "@switchyard/contracts/definition-store";
import type { Finding } from "../finding.ts";
import type { Judges } from "../judge/judge-job.ts";
import { dependenciesOf } from "../skill/dependencies-of.ts";
import { locatedAt, readPackage, type ReadPackage } from "../source/read-package.ts";
import type { SkillPackage } from "../source/skill-package.ts";
import { announceSkills } from "../store/announce-skills.ts";
import type { Announcement } from "../store/catalogue-commit.ts";
import type { Catalogue } from "../store/catalogue.ts";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import { IMPORTED_ROOT, versionOfEntry } from "../store/definition.ts";
import { saveVersion } from "../store/save-version.ts";
import type { VersionStore } from "../store/version-store.ts";
import { countsOf, planUpload, type UploadLimits, type UploadOutcome } from "./plan-upload.ts";

export interface UploadParts {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly limits: UploadLimits;
  readonly judges: Judges;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Called after each commit. */
  readonly announce: () => Promise<void>;
}

export interface Upload {
  readonly packages: readonly SkillPackage[];
  /** About the source as a whole. */
  readonly findings: readonly Finding[];
  readonly provenance: Omit<Provenance, "at">;
  readonly dryRun: boolean;
  /** Of an import that comes in parts. */
  readonly importId?: string | undefined;
  readonly targets: readonly SkillTarget[];
  readonly withReports: boolean;
}

export interface UploadReport {
  readonly counts: ImportCounts;
  readonly skills: ImportedSkill[];
  readonly diagnostics: ImportedSkill["diagnostics"];
}

/** More of them in one file say nothing new, and a reply has to fit into a message. */
const MAX_DIAGNOSTICS = 20;
const MAX_ATTEMPTS = 20;

/**
 * Imports packages that a client sent. Versions are written first, each in one step; then one commit
 * makes them current. An importer that dies in between has added versions that nobody sees, and the
 * same upload again completes them.
 */
export async function uploadSkills(parts: UploadParts, upload: Upload): Promise<UploadReport> {
  // All are in memory already; the thread that judges them takes a few at a time.
  const read = await Promise.all(
    upload.packages.map(async (pkg) => {
      const one = await readPackage(pkg, {
        root: IMPORTED_ROOT,
        scope: "imported",
        baseDirectory: (name) => `skill://${name}`,
        fallbackName: "skill",
        needsTrust: false,
        scans: true,
        judge: (job) => parts.judges.skill({ ...job, now: parts.now() }),
      });
      return broughtBy(upload.importId, one);
    }),
  );
  const limits = { ...parts.limits, importId: upload.importId };
  const names = [...new Set(read.flatMap(({ found }) => found?.entry.summary.name ?? []))];
  const outcomes = upload.dryRun
    ? planUpload(await load(parts.store, names), read, limits).outcomes
    : await store({ ...parts, limits }, { read, names, upload });
  const skills: ImportedSkill[] = [];
  for (const outcome of outcomes) skills.push(await describe(outcome, upload));
  const diagnostics = locatedAt(upload.provenance.label, upload.findings);
  return { counts: countsOf(skills), skills, diagnostics };
}

function broughtBy(importId: string | undefined, read: ReadPackage): ReadPackage {
  const { found } = read;
  if (found === null || importId === undefined) return read;
  return { ...read, found: { ...found, entry: { ...found.entry, importId } } };
}

async function store(
  parts: UploadParts,
  { read, names, upload }: { read: readonly ReadPackage[]; names: string[]; upload: Upload },
): Promise<readonly UploadOutcome[]> {
  const at = parts.now().toISOString();
  const provenance = { ...upload.provenance, at };
  const saved = new Set<ReadPackage>();
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    // Each try plans against what another import may have written since.
    const current = await load(parts.store, names);
    const plan = planUpload(current, read, parts.limits);
    for (const { read: one, entry } of plan.outcomes) {
      if (entry === null || saved.has(one)) continue;
      await saveVersion(parts, one, provenance);
      saved.add(one);
    }
    const announcements = await announcementsOf(parts, { plan, at, upload });
    const change = {
      ...plan,
      agents: { set: [], remove: [], announce: [], hidden: [] },
      announcements,
    };
    if (await parts.store.commit(current, change)) {
      await parts.announce();
      return plan.outcomes;
    }
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one import`);
}

async function load(
  catalogue: CatalogueStore,
  names: readonly string[],
): Promise<Catalogue & { readonly size: number }> {
  return catalogue.loadSkills(names.length === 0 ? ["-"] : names);
}

async function announcementsOf(
  parts: UploadParts,
  given: { plan: ReturnType<typeof planUpload>; at: string; upload: Upload },
): Promise<Announcement[]> {
  const { plan, at, upload } = given;
  const found = plan.outcomes.flatMap((outcome) => outcome.read.found ?? []);
  const read = new Map(found.map(({ entry, stored }) => [entry, stored]));
  const announcements = await announceSkills(parts, plan.skills.announce, { at, read });
  const failed = plan.outcomes.filter(({ entry }) => entry === null).length;
  announcements.push({
    id: parts.newId(),
    at,
    kind: "import",
    label: upload.provenance.label,
    by: upload.provenance.by,
    imported: plan.outcomes.length - failed,
    failed,
    totalScanned: plan.outcomes.length,
  });
  return announcements;
}

async function describe(
  { read, entry, change, withheld, diagnostics }: UploadOutcome,
  { targets, withReports }: Upload,
): Promise<ImportedSkill> {
  const summary = entry?.summary ?? null;
  const dependencies =
    entry === null || read.found === null ? null : await dependenciesOf(read.found.stored.metadata);
  return {
    file: read.file,
    name: summary?.name ?? null,
    description: summary?.description ?? "",
    version: entry === null ? null : versionOfEntry(entry),
    outcome: summary === null ? "skipped" : summary.repaired === true ? "repaired" : "loaded",
    change,
    withheld,
    dependenciesMet: dependencies?.met ?? null,
    dependencyWarnings: dependencies?.warnings ?? [],
    diagnostics: worstFirst([...diagnostics, ...read.diagnostics]).slice(0, MAX_DIAGNOSTICS),
    ...(targets.length === 0
      ? {}
      : { conformance: read.conformance.filter(({ target }) => targets.includes(target)) }),
    ...(withReports && read.report !== null ? { scan: read.report } : {}),
  };
}

/** So that what is cut off is never the reason why a file was skipped. */
function worstFirst(diagnostics: ImportedSkill["diagnostics"]): ImportedSkill["diagnostics"] {
  const ranks = { error: 0, warning: 1, info: 2 };
  return diagnostics.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]);
}

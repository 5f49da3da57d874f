import type { ImportCounts, ImportedSkill } from "@switchyard/contracts/skill-store";
import type { WithheldReason } from "@switchyard/contracts/definition-store";
import { errorFinding, infoFinding } from "../finding.ts";
import type { ReadPackage } from "../source/read-package.ts";
import { admit, type WithheldEntry } from "../store/admission.ts";
import { planCatalogue, type CataloguePlan } from "../store/catalogue-plan.ts";
import type { Catalogue } from "../store/catalogue.ts";
import { IMPORTED_ROOT, versionOfEntry, type SkillEntry } from "../store/definition.ts";
import { duplicateName, takenBefore } from "./duplicate-name.ts";

export interface UploadLimits {
  /** Paths of the roots, the first first: what lies there goes before what clients send. */
  readonly roots: readonly string[];
  /** Names that clients may have brought in all. */
  readonly maxSkills: number;
  /** Of an import that comes in parts. */
  readonly importId?: string | undefined;
}

/** What is to be written, and what became of each package. */
export interface UploadPlan {
  readonly skills: CataloguePlan<SkillEntry["summary"]>;
  readonly imported: { readonly set: SkillEntry[]; readonly remove: string[] };
  readonly withheld: { readonly set: WithheldEntry[]; readonly remove: WithheldEntry[] };
  readonly outcomes: readonly UploadOutcome[];
}

export interface UploadOutcome {
  readonly read: ReadPackage;
  /** Null when the skill is not stored. */
  readonly entry: SkillEntry | null;
  readonly change: ImportedSkill["change"];
  readonly withheld: WithheldReason | null;
  /** Remarks beyond those of the package. */
  readonly diagnostics: ImportedSkill["diagnostics"];
}

/** Decides what an upload does to the catalogue. `current` holds at least the names of the packages. */
export function planUpload(
  current: Pick<Catalogue, "skills" | "imported" | "withheld" | "trust"> & { size: number },
  packages: readonly ReadPackage[],
  limits: UploadLimits,
): UploadPlan {
  const judge = new Judge(current, limits);
  const outcomes = packages.map((read) => judge.next(read));
  const stored = outcomes.filter(({ entry }) => entry !== null);
  const set = stored.flatMap(({ entry, withheld }) =>
    entry === null || withheld !== null ? [] : [entry],
  );
  const names = new Set(stored.map(({ entry }) => entry?.summary.name));
  const setNames = new Set(set.map(({ summary }) => summary.name));
  return {
    skills: planCatalogue({
      current: current.skills.filter(({ summary }) => setNames.has(summary.name)),
      found: set,
      isInScope: ({ root }) => root === IMPORTED_ROOT,
      roots: limits.roots,
    }),
    imported: { set, remove: [] },
    withheld: {
      set: stored.flatMap(({ entry, withheld }) =>
        entry === null || withheld === null
          ? []
          : [{ kind: "skill" as const, reason: withheld, entry }],
      ),
      // What waited under these names is replaced by what came now.
      remove: current.withheld.filter(
        ({ kind, entry }) =>
          kind === "skill" && entry.root === IMPORTED_ROOT && names.has(entry.summary.name),
      ),
    },
    outcomes,
  };
}

/** Counts that add up: `found` = `loaded` + `skipped`, and the reasons are as many as were skipped. */
export function countsOf(skills: readonly ImportedSkill[]): ImportCounts {
  const failed = skills.filter(({ outcome }) => outcome === "skipped");
  const reasons: Record<string, number> = {};
  for (const { diagnostics } of failed) {
    const code = diagnostics.find(({ severity }) => severity === "error")?.code ?? "unknown";
    reasons[code] = (reasons[code] ?? 0) + 1;
  }
  return {
    found: skills.length,
    loaded: skills.length - failed.length,
    repaired: skills.filter(({ outcome }) => outcome === "repaired").length,
    skipped: failed.length,
    withheld: skills.filter(({ withheld }) => withheld !== null).length,
    reasons,
  };
}

class Judge {
  readonly #listed: ReadonlyMap<string, SkillEntry>;
  /** Names that clients have brought in, listed or waiting for trust. */
  readonly #known: ReadonlySet<string>;
  readonly #trust: Catalogue["trust"];
  readonly #limits: UploadLimits;
  /** Names that this upload has, and those of earlier parts of the same import, each with its file. */
  readonly #taken = new Map<string, string>();
  readonly #takenBefore: ReadonlyMap<string, string>;
  #size: number;

  constructor(
    current: Pick<Catalogue, "skills" | "imported" | "withheld" | "trust"> & { size: number },
    limits: UploadLimits,
  ) {
    this.#listed = byName(current.skills);
    const waiting = current.withheld.filter(
      ({ kind, entry }) => kind === "skill" && entry.root === IMPORTED_ROOT,
    );
    const names = [...current.imported, ...waiting.map(({ entry }) => entry)];
    this.#known = new Set(names.map(({ summary }) => summary.name));
    this.#takenBefore = takenBefore(names, limits.importId);
    this.#trust = current.trust;
    this.#limits = limits;
    this.#size = current.size;
  }

  next(read: ReadPackage): UploadOutcome {
    if (read.found === null) return skipped(read);
    const { entry } = read.found;
    const { name } = entry.summary;
    const before = this.#takenBefore.get(name);
    // The same file again is the same part again.
    const first = this.#taken.get(name) ?? (before === read.file ? undefined : before);
    if (first !== undefined) {
      return skipped(read, duplicateName(name, first));
    }
    if (!this.#known.has(name) && this.#size >= this.#limits.maxSkills) {
      const message = `the importer holds ${this.#limits.maxSkills} imported skills, those that wait for trust included, its limit; remove some`;
      return skipped(read, { code: "catalogue_full", message });
    }
    if (!this.#known.has(name)) this.#size += 1;
    this.#taken.set(name, read.file);
    const withheld = admit("skill", entry, this.#trust);
    const listed = this.#listed.get(name);
    const isHidden = listed !== undefined && listed.root !== IMPORTED_ROOT;
    return {
      read,
      entry,
      withheld,
      change: isHidden ? "hidden" : changeOf(entry, listed),
      diagnostics: isHidden
        ? [
            {
              ...infoFinding(
                "shadowed",
                `${listed.file} in ${listed.root} has the name ${name}; the imported one is listed when that goes`,
              ),
              file: read.file,
            },
          ]
        : [],
    };
  }
}

function changeOf(entry: SkillEntry, listed: SkillEntry | undefined): "new" | "changed" | "same" {
  if (listed === undefined) return "new";
  return versionOfEntry(listed) === versionOfEntry(entry) ? "same" : "changed";
}

function skipped(read: ReadPackage, why?: { code: string; message: string }): UploadOutcome {
  const diagnostics =
    why === undefined ? [] : [{ ...errorFinding(why.code, why.message), file: read.file }];
  return { read, entry: null, change: null, withheld: null, diagnostics };
}

function byName(entries: readonly SkillEntry[]): ReadonlyMap<string, SkillEntry> {
  return new Map(entries.map((entry) => [entry.summary.name, entry]));
}

import type { WithheldReason } from "@switchyard/contracts/skill-importer/definition-store";
import type { ImportCounts, ImportedSkill } from "@switchyard/contracts/skill-importer/skill-store";
import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import { admit, admitAll } from "../catalogue/admission.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { planCatalogue, type PlannedChange } from "../catalogue/plan-catalogue.ts";
import { errorFinding, infoFinding, type Finding } from "../finding.ts";
import { locatedAt } from "./located-at.ts";
import {
  BUILT_IN_ROOT,
  IMPORTED_ROOT,
  isOfAFile,
  versionOfEntry,
  type Definition,
  type Entry,
  type Kind,
} from "../catalogue/definition.ts";
import type { ReadDefinition } from "./read-definition.ts";

export interface SentLimits {
  /** Paths of the roots in order: definitions found there take precedence over those that clients send. */
  readonly roots: readonly string[];
  /** Names that clients may have brought in all. */
  readonly maxNames: number;
  /** Set for an import that is sent in parts. */
  readonly importId?: string | undefined;
}

export interface SentOutcome {
  readonly read: ReadDefinition;
  /** Null when it is not stored. */
  readonly definition: Definition | null;
  readonly outcome: "loaded" | "repaired" | "skipped" | "not_an_agent";
  readonly change: ImportedSkill["change"];
  readonly withheld: WithheldReason | null;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Decides how definitions of one kind that a client sent change the catalogue, and the outcome of each. `current` holds at least
 * their names.
 */
export function planSent(
  kind: Kind,
  { current, limits }: { current: Omit<Catalogue, "revision">; limits: SentLimits },
  sent: readonly ReadDefinition[],
): { change: PlannedChange; outcomes: SentOutcome[] } {
  const taken = new SentNames(kind, current, limits);
  const outcomes = sent.map((read): SentOutcome => {
    const { definition, isNotAnAgent, file } = read;
    if (isNotAnAgent) return { ...skipped(read), outcome: "not_an_agent" };
    const problem = definition === null ? null : taken.take(definition.name, file);
    if (definition === null || problem !== null) return skipped(read, problem);
    const listed = current[kind].listed.find(({ summary }) => summary.name === definition.name);
    const repaired = definition.kind === "skill" && definition.stored.skill.repaired === true;
    return {
      read,
      definition,
      outcome: repaired ? "repaired" : "loaded",
      change: changeOf(definition, listed),
      withheld: admit(kind, definition.entry, current.trust),
      diagnostics: [...locatedAt(file, remarksOn(definition, listed)), ...read.diagnostics],
    };
  });
  const loaded = outcomes.flatMap(({ definition }) => definition?.entry ?? []);
  const { admitted, withheld } = admitAll(kind, loaded, current.trust);
  const plan = planCatalogue({
    current: current[kind].listed.filter(isAbout(admitted)),
    found: admitted,
    isInScope: isSent,
    roots: limits.roots,
  });
  const isReplaced = isAbout(loaded);
  // A definition that waited under one of these names is replaced by the new one.
  const remove = current.withheld.filter(
    ({ kind: other, entry }) => other === kind && isSent(entry) && isReplaced(entry),
  );
  return {
    change: {
      listed: { [kind]: plan },
      imported: { [kind]: { set: admitted, remove: [] } },
      withheld: { set: withheld, remove },
    },
    outcomes,
  };
}

function isAbout(entries: readonly Entry[]): (entry: Entry) => boolean {
  const names = new Set(entries.map(({ summary }) => summary.name));
  return ({ summary }) => names.has(summary.name);
}

/** Counts that add up: `found` = `loaded` + `skipped`, and the reasons are as many as were skipped. */
export function countsOf(all: readonly SentOutcome[]): ImportCounts {
  const outcomes = all.filter(({ outcome }) => outcome !== "not_an_agent");
  const failed = outcomes.filter(({ outcome }) => outcome === "skipped");
  const reasons: Record<string, number> = {};
  for (const { diagnostics } of failed) {
    const code = diagnostics.find(({ severity }) => severity === "error")?.code ?? "unknown";
    reasons[code] = (reasons[code] ?? 0) + 1;
  }
  return {
    found: outcomes.length,
    loaded: outcomes.length - failed.length,
    repaired: outcomes.filter(({ outcome }) => outcome === "repaired").length,
    skipped: failed.length,
    withheld: outcomes.filter(({ withheld }) => withheld !== null).length,
    reasons,
  };
}

/** Assigns names: the first of two sent definitions gets the name, up to the limit of names. */
class SentNames {
  readonly #kind: Kind;
  /** Names that clients have brought in, listed or waiting for trust. */
  readonly #known: ReadonlySet<string>;
  /** Names that this upload has, each with its file. */
  readonly #taken = new Map<string, string>();
  /** The same of earlier parts of the same import. */
  readonly #takenBefore: ReadonlyMap<string, string>;
  readonly #maxNames: number;
  #size: number;

  constructor(
    kind: Kind,
    current: Omit<Catalogue, "revision">,
    { maxNames, importId }: SentLimits,
  ) {
    const waiting = current.withheld.filter((item) => item.kind === kind && isSent(item.entry));
    const entries = [...current[kind].imported, ...waiting.map(({ entry }) => entry)];
    const before = entries.filter((one) => importId !== undefined && one.importId === importId);
    this.#kind = kind;
    this.#known = new Set(entries.map(({ summary }) => summary.name));
    this.#takenBefore = new Map(before.map(({ summary, file }) => [summary.name, file]));
    this.#maxNames = maxNames;
    this.#size = current[kind].size;
  }

  /** Reserves a name for a file; returns the reason when that is not possible. */
  take(name: string, file: string): Finding | null {
    const before = this.#takenBefore.get(name);
    // The same file again is the same part again.
    const first = this.#taken.get(name) ?? (before === file ? undefined : before);
    if (first !== undefined) {
      const message = `the name ${name} belongs to ${first}, which comes first; rename one of them`;
      return errorFinding("duplicate_name", message);
    }
    if (!this.#known.has(name) && this.#size >= this.#maxNames) {
      const message = `the importer holds ${this.#maxNames} imported ${this.#kind}s, those that wait for trust included, its limit; remove some`;
      return errorFinding("catalogue_full", message);
    }
    if (!this.#known.has(name)) this.#size += 1;
    this.#taken.set(name, file);
    return null;
  }
}

function skipped(read: ReadDefinition, problem: Finding | null = null): SentOutcome {
  const diagnostics = problem === null ? [] : locatedAt(read.file, [problem]);
  return {
    read,
    definition: null,
    outcome: "skipped",
    change: null,
    withheld: null,
    diagnostics: [...diagnostics, ...read.diagnostics],
  };
}

function changeOf({ version }: Definition, listed: Entry | undefined): ImportedSkill["change"] {
  if (listed === undefined) return "new";
  if (isOfAFile(listed)) return "hidden";
  return versionOfEntry(listed) === version ? "same" : "changed";
}

function remarksOn({ name }: Definition, listed: Entry | undefined): Finding[] {
  if (listed?.root === BUILT_IN_ROOT) return [overridesBuiltIn(name)];
  if (listed === undefined || !isOfAFile(listed)) return [];
  const message = `${listed.file} in ${listed.root} has the name ${name}; the imported one is listed when that goes`;
  return [infoFinding("shadowed", message)];
}

function isSent({ root }: Entry): boolean {
  return root === IMPORTED_ROOT;
}

/** Applies to every source of the definition. */
export function overridesBuiltIn(name: string): Finding {
  return infoFinding("overrides_built_in", `takes the place of the built-in agent ${name}`);
}

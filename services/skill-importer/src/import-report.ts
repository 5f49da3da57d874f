import type { Diagnostic } from "@switchyard/contracts/skills";
import type { Definitions } from "./source/read-definitions.ts";
import type { WithheldEntry } from "./store/admission.ts";
import type { CatalogueChange } from "./store/catalogue-commit.ts";
import { BUILT_IN_ROOT, IMPORTED_ROOT, type Entry } from "./store/definition.ts";

export interface ImportReport {
  readonly skills: Counts & { readonly repaired: number };
  readonly agents: Counts;
  readonly diagnostics: Diagnostic[];
  /** Real paths of every directory that was read. */
  readonly directories: string[];
  /** Roots that may be there later. */
  readonly missing: string[];
  /** What is stored and not listed. */
  readonly withheld: readonly WithheldEntry[];
  /** True when the import changed what is listed. */
  readonly hasChanged: boolean;
}

/** `found` is always `loaded` + `skipped`. */
export interface Counts {
  readonly found: number;
  readonly loaded: number;
  readonly skipped: number;
}

type Named = { name: string; digest: string };

/** Not on the disk, so every import has them. */
export function isOurs({ root }: { readonly root: string }): boolean {
  return root === BUILT_IN_ROOT || root === IMPORTED_ROOT;
}

/** What an import found, and what became of it. */
export function reportOf(
  found: Definitions,
  change: Planned,
): Omit<ImportReport, "directories" | "missing"> {
  const { skills, agents } = change;
  const counts = countsOfAll(found, change);
  const withheld = change.withheld?.set ?? [];
  return {
    withheld,
    hasChanged: [skills, agents].some(({ set, remove }) => set.length + remove.length > 0),
    skills: { ...counts.skills, repaired: repairedOf(found, change) },
    agents: counts.agents,
    diagnostics: [
      ...found.diagnostics,
      ...change.skills.hidden.map(({ entry, by }) => duplicateName(entry, by)),
      ...withheld.map((item) => notListed(item)),
      ...change.agents.hidden.map(({ entry, by }) =>
        entry.root === BUILT_IN_ROOT ? overridesBuiltIn(by) : duplicateName(entry, by),
      ),
    ],
  };
}

/** Skills and agents in one, as the event of an import's end has them. */
export function totalsOf(
  found: Definitions,
  change: Planned,
): { imported: number; failed: number; totalScanned: number } {
  const { skills, agents } = countsOfAll(found, change);
  return {
    imported: skills.loaded + agents.loaded,
    failed: skills.skipped + agents.skipped,
    totalScanned: skills.found + agents.found,
  };
}

type Planned = Pick<CatalogueChange, "skills" | "agents" | "withheld">;

function countsOfAll(found: Definitions, change: Planned): { skills: Counts; agents: Counts } {
  const hiddenSkills = change.skills.hidden.filter(({ entry }) => !isOurs(entry)).length;
  const hiddenAgents = change.agents.hidden.filter(({ entry }) => !isOurs(entry)).length;
  const agents = found.agents.filter(({ entry }) => !isOurs(entry)).length;
  return {
    skills: countsOf(found.skills.length, hiddenSkills, found.skipped.skills),
    agents: countsOf(agents, hiddenAgents, found.skipped.agents),
  };
}

function repairedOf(found: Definitions, change: Planned): number {
  const hidden = new Set(change.skills.hidden.map(({ entry }) => entry));
  const loaded = found.skills.filter(({ entry }) => !hidden.has(entry));
  return loaded.filter(({ entry }) => entry.summary.repaired === true).length;
}

function countsOf(read: number, hidden: number, unread: number): Counts {
  return { found: read + unread, loaded: read - hidden, skipped: unread + hidden };
}

function duplicateName(entry: Entry<Named>, by: Entry<Named>): Diagnostic {
  const { name } = entry.summary;
  const isOverride = entry.root !== by.root;
  return {
    severity: "warning",
    code: isOverride ? "overridden" : "duplicate_name",
    message: isOverride
      ? `${name} is overridden by ${by.file} in ${by.root}, which goes before ${entry.root}`
      : `the name ${name} belongs to ${by.file}, which comes first; rename one of them`,
    file: entry.file,
    line: null,
    column: null,
  };
}

function notListed({ kind, reason, entry }: WithheldEntry): Diagnostic {
  const { name } = entry.summary;
  const why = {
    untrusted: "its project was found, not named, and nobody trusts it yet",
    changed: "it changed since somebody trusted it",
    blocked: "the scanner blocks it",
  }[reason];
  const flags = kind === "agent" ? " --agent" : "";
  return {
    severity: "warning",
    code: `withheld_${reason}`,
    message: `the ${kind} ${name} is not listed: ${why}; look at it, then: yard skills trust ${name}${flags}`,
    file: entry.file,
    line: null,
    column: null,
  };
}

function overridesBuiltIn(by: Entry<Named>): Diagnostic {
  return {
    severity: "info",
    code: "overrides_built_in",
    message: `takes the place of the built-in agent ${by.summary.name}`,
    file: by.file,
    line: null,
    column: null,
  };
}

import type { Diagnostic, importSkills } from "@switchyard/contracts/skill-importer/skills";
import type { z } from "zod";
import { warningFinding } from "@switchyard/skills/finding";
import { overridesBuiltIn } from "@switchyard/skills/imports/plan-sent";
import { locatedAt } from "@switchyard/skills/imports/located-at";
import type { Batch } from "../catalogue/change-catalogue.ts";
import type { CataloguePlan } from "@switchyard/skills/catalogue/plan-catalogue";
import {
  BUILT_IN_ROOT,
  isOfAFile,
  type Entry,
  type Kind,
  type WithheldEntry,
} from "@switchyard/skills/catalogue/definition";
import type { Definitions } from "./read-definitions.ts";

type Reply = z.output<typeof importSkills.reply>;

export interface ImportReport extends Reply {
  /** Real paths of every directory that was read. */
  readonly directories: string[];
  /** Roots that may be there later. */
  readonly missing: string[];
  /** The entries that are stored and not listed. */
  readonly withheld: readonly WithheldEntry[];
  /** The files that cannot be used, below their roots. */
  readonly bad: readonly string[];
  /** The errors of agent files that cannot be used. */
  readonly unusableAgents: readonly Diagnostic[];
  /** True when the import changed the listed entries. */
  readonly hasChanged: boolean;
}

/** Summarises an import's definitions and their outcome. */
export function reportOf(
  read: Definitions,
  change: Planned,
): Omit<ImportReport, "directories" | "missing"> {
  const { skill, agent } = change.listed;
  const withheld = change.withheld.set;
  const hiddenSkills = new Set(skill.hidden.map(({ entry }) => entry));
  const repaired = read.found.filter(
    (one) =>
      one.kind === "skill" && one.stored.skill.repaired === true && !hiddenSkills.has(one.entry),
  );
  return {
    withheld,
    bad: read.bad.flatMap(({ isError, file }) => (isError ? [file] : [])),
    unusableAgents: errorsOf("agent", read),
    hasChanged: [skill, agent].some(({ set, remove }) => set.length + remove.length > 0),
    skills: { ...countsOf("skill", read, change), repaired: repaired.length },
    agents: countsOf("agent", read, change),
    diagnostics: [
      ...read.diagnostics,
      ...skill.hidden.flatMap(({ entry, by }) => duplicateName(entry, by)),
      ...withheld.flatMap((item) => notListed(item)),
      ...change.kept.flatMap((entry) => lastGood(entry)),
      ...agent.hidden.flatMap(({ entry, by }) =>
        entry.root === BUILT_IN_ROOT
          ? locatedAt(by.file, [overridesBuiltIn(by.summary.name)])
          : duplicateName(entry, by),
      ),
    ],
  };
}

/** Skills and agents in one, as the event of an import's end has them. */
export function totalsOf(
  read: Definitions,
  change: Planned,
): Pick<Batch, "imported" | "failed" | "totalScanned"> {
  const [skills, agents] = [countsOf("skill", read, change), countsOf("agent", read, change)];
  return {
    imported: skills.loaded + agents.loaded,
    failed: skills.skipped + agents.skipped,
    totalScanned: skills.found + agents.found,
  };
}

interface Planned {
  readonly listed: Readonly<Record<Kind, CataloguePlan>>;
  readonly withheld: { readonly set: readonly WithheldEntry[] };
  /** Entries of files that cannot be used, whose last good version stays listed. */
  readonly kept: readonly Entry[];
}

function countsOf(
  kind: Kind,
  { found, skipped }: Definitions,
  { listed }: Planned,
): Reply["agents"] {
  const read = found.filter((one) => one.kind === kind && isOfAFile(one.entry)).length;
  const hidden = listed[kind].hidden.filter(({ entry }) => isOfAFile(entry)).length;
  const unread = skipped[kind];
  return { found: read + unread, loaded: read - hidden, skipped: unread + hidden };
}

function errorsOf(kind: Kind, { bad, diagnostics }: Definitions): Diagnostic[] {
  const files = new Set(bad.flatMap((one) => (one.isError && one.kind === kind ? [one.file] : [])));
  return diagnostics.filter(({ severity, file }) => severity === "error" && files.has(file));
}

function duplicateName(entry: Entry, by: Entry): Diagnostic[] {
  const { name } = entry.summary;
  const finding =
    entry.root === by.root
      ? warningFinding(
          "duplicate_name",
          `the name ${name} belongs to ${by.file}, which comes first; rename one of them`,
        )
      : warningFinding(
          "overridden",
          `${name} is overridden by ${by.file} in ${by.root}, which goes before ${entry.root}`,
        );
  return locatedAt(entry.file, [finding]);
}

function lastGood({ file, summary: { name } }: Entry): Diagnostic[] {
  const message = `the last good version of ${name} stays listed until this file is corrected or deleted`;
  return locatedAt(file, [warningFinding("last_good", message)]);
}

function notListed({ kind, reason, entry }: WithheldEntry): Diagnostic[] {
  const { name } = entry.summary;
  const why = {
    untrusted: "its project was found, not named, and is not trusted yet",
    changed: "it changed since it was trusted",
    blocked: "the scanner blocks it",
  }[reason];
  const flags = kind === "agent" ? " --agent" : "";
  const message = `the ${kind} ${name} is not listed: ${why}; look at it, then: yard skills trust ${name}${flags}`;
  return locatedAt(entry.file, [warningFinding(`withheld_${reason}`, message)]);
}

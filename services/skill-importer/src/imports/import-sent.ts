import type { ImportedAgent, uploadAgents } from "@switchyard/contracts/agent-store";
import type { importOptions, Provenance } from "@switchyard/contracts/definition-store";
import type { ImportedSkill, uploadSkills } from "@switchyard/contracts/skill-store";
import type { Diagnostic, SkillTarget } from "@switchyard/contracts/skills";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { z } from "zod";
import { changeCatalogue, type ChangeParts } from "../catalogue/change-catalogue.ts";
import type { Finding } from "../finding.ts";
import { locatedAt } from "./located-at.ts";
import type { Analyzer } from "../analysis/analyze.ts";
import type { Machine } from "../skill/check-dependencies.ts";
import { dependenciesOf } from "../skill/dependencies-of.ts";
import type { Package } from "../source/package.ts";
import { IMPORTED_ROOT, type Definition, type Kind } from "../store/definition.ts";
import { countsOf, planSent, type SentOutcome } from "./plan-sent.ts";
import { versionBytes, versionThing } from "../store/version-store.ts";
import { readDefinition, type ReadDefinition, type Reading } from "./read-definition.ts";

export interface SendParts extends ChangeParts {
  readonly analyzer: Analyzer;
  readonly storage: Pick<OwnerStorage, "reserve" | "set">;
  /** Names that clients may bring in, in all. */
  readonly maxNames: Readonly<Record<Kind, number>>;
}

interface Sent extends z.output<z.ZodObject<typeof importOptions>> {
  readonly source: Provenance["source"];
  /** NATS user. */
  readonly by: string;
  /** Of one kind. */
  readonly packages: readonly Package[];
  /** About the source as a whole. */
  readonly findings: readonly Finding[];
}

/** More of them in one file say nothing new, and a reply has to fit into a message. */
const MAX_DIAGNOSTICS = 20;

/** Imports skills that a client sent. */
export async function importSkills(
  parts: SendParts,
  sent: Sent & { readonly targets: readonly SkillTarget[] },
): Promise<z.output<typeof uploadSkills.reply>> {
  const outcomes = await importSent(parts, "skill", sent);
  const skills: ImportedSkill[] = [];
  for (const outcome of outcomes)
    skills.push(await importedSkill(outcome, { ...sent, machine: parts.machine }));
  return { counts: countsOf(outcomes), skills, diagnostics: locatedAt(sent.label, sent.findings) };
}

/** Imports agents that a client sent. */
export async function importAgents(
  parts: SendParts,
  sent: Sent,
): Promise<z.output<typeof uploadAgents.reply>> {
  const outcomes = await importSent(parts, "agent", sent);
  const { repaired: _, ...counts } = countsOf(outcomes);
  const agents = outcomes.map((outcome) => importedAgent(outcome, sent));
  return { counts, agents, diagnostics: locatedAt(sent.label, sent.findings) };
}

async function importSent(
  parts: SendParts,
  kind: Kind,
  sent: Sent,
): Promise<readonly SentOutcome[]> {
  const { importId, dryRun: isDryRun, source, label, by, git } = sent;
  const read = await readSent(sent.packages, { ...parts, importId });
  const names = [...new Set(read.flatMap(({ definition }) => definition?.name ?? []))];
  const provenance = { source, label, by, at: parts.now().toISOString(), git };
  const limits = { roots: parts.roots, maxNames: parts.maxNames[kind], importId };
  const importAll = () =>
    changeCatalogue(parts, { about: { kind, names }, isDryRun }, (current) => {
      const { change, outcomes } = planSent(kind, { current, limits }, read);
      const { found, loaded, skipped } = countsOf(outcomes);
      return {
        result: outcomes,
        change,
        definitions: outcomes.flatMap(({ definition }) => definition ?? []),
        provenance,
        batch: { label, by, imported: loaded, failed: skipped, totalScanned: found },
      };
    });
  if (isDryRun) return importAll();
  const definitions = read.flatMap(({ definition }) => definition ?? []);
  return withRoom(parts, { by, definitions }, importAll);
}

/** Counts the definitions for their sender before they are stored, and corrects the count afterwards: some may not have been stored, or before. */
async function withRoom<T>(
  { storage, versions }: Pick<SendParts, "storage" | "versions">,
  { by, definitions }: { readonly by: string; readonly definitions: readonly Definition[] },
  work: () => Promise<T>,
): Promise<T> {
  const reserved = definitions.map((one) => ({
    thing: versionThing(one),
    bytes: versionBytes(one),
  }));
  try {
    await Promise.all(reserved.map((one) => storage.reserve(by, one)));
    return await work();
  } finally {
    await Promise.all(
      reserved.map(async ({ thing }) => {
        const holding = await versions.holding(by, thing);
        storage.set(by, thing, holding ?? { bytes: 0, ends: null });
      }),
      // A count that could not be corrected is corrected by its look-up a day later.
    ).catch(() => undefined);
  }
}

/** Reads what a client sent, and scans it. */
export function readSent(
  packages: readonly Package[],
  options: Omit<Reading, "scans"> & { readonly importId?: string | undefined },
): Promise<ReadDefinition[]> {
  const { analyzer, now, importId } = options;
  const origin = { root: IMPORTED_ROOT, scope: "imported", needsTrust: false, importId } as const;
  const reading = { analyzer, now, scans: true };
  // All are in memory already; the thread that analyzes them takes a few at a time.
  return Promise.all(packages.map((pkg) => readDefinition(pkg, origin, reading)));
}

/** What is said of one skill. */
export async function importedSkill(
  outcome: SentOutcome,
  {
    targets,
    withReports,
    machine,
  }: {
    readonly targets: readonly SkillTarget[];
    readonly withReports: boolean;
    readonly machine: Machine;
  },
): Promise<ImportedSkill> {
  const { definition, read } = outcome;
  const dependencies =
    definition?.kind === "skill" ? await dependenciesOf(definition.stored.metadata, machine) : null;
  const { conformance } = read;
  return {
    ...importedItem(outcome, withReports),
    version: definition?.version ?? null,
    outcome: outcome.outcome === "not_an_agent" ? "skipped" : outcome.outcome,
    dependenciesMet: dependencies?.met ?? null,
    dependencyWarnings: dependencies?.warnings ?? [],
    ...(targets.length === 0
      ? {}
      : { conformance: conformance.filter(({ target }) => targets.includes(target)) }),
  };
}

function importedAgent(outcome: SentOutcome, { withReports }: Sent): ImportedAgent {
  return {
    ...importedItem(outcome, withReports),
    digest: outcome.definition?.version ?? null,
    outcome: outcome.outcome === "repaired" ? "loaded" : outcome.outcome,
  };
}

function importedItem(outcome: SentOutcome, withReports: boolean) {
  const { definition, read, change, withheld, diagnostics } = outcome;
  const report = definition?.report ?? null;
  return {
    file: read.file,
    name: definition?.name ?? null,
    description: definition?.entry.summary.description ?? "",
    change,
    withheld,
    diagnostics: worstFirst(diagnostics).slice(0, MAX_DIAGNOSTICS),
    ...(withReports && report !== null ? { scan: report } : {}),
  };
}

/** So that what is cut off is never the reason why a file was skipped. */
function worstFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const ranks = { error: 0, warning: 1, info: 2 };
  return diagnostics.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]);
}

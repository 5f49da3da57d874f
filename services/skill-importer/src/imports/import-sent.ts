import type { uploadAgents } from "@switchyard/contracts/skill-importer/agent-store";
import type {
  importOptions,
  Provenance,
} from "@switchyard/contracts/skill-importer/definition-store";
import type { ImportedSkill, uploadSkills } from "@switchyard/contracts/skill-importer/skill-store";
import type { SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { z } from "zod";
import { changeCatalogue, type ChangeParts } from "../catalogue/change-catalogue.ts";
import type { Finding } from "@switchyard/skills/finding";
import { locatedAt } from "@switchyard/skills/imports/located-at";
import type { Analyzer } from "@switchyard/skills/analysis/analyze";
import type { Package } from "@switchyard/skills/source/package";
import type { Definition, Kind } from "@switchyard/skills/catalogue/definition";
import { countsOf, planSent, type SentOutcome } from "@switchyard/skills/imports/plan-sent";
import { versionBytes, versionThing } from "../store/version-store.ts";
import { readSent } from "@switchyard/skills/imports/read-definition";
import { importedAgent, importedSkill } from "@switchyard/skills/imports/sent-reply";

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
  /** The packages of one kind. */
  readonly packages: readonly Package[];
  /** About the source as a whole. */
  readonly findings: readonly Finding[];
}

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
  const agents = outcomes.map((outcome) => importedAgent(outcome, sent.withReports));
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
      // A usage count that could not be corrected is recomputed a day later.
    ).catch(() => undefined);
  }
}

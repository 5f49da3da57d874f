import { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import { SkillSummary, type SkillDependencies } from "@switchyard/contracts/skill-importer/skills";
import type { Machine } from "@switchyard/skills/skill/check-dependencies";
import { dependenciesOf } from "@switchyard/skills/skill/dependencies-of";
import type { Announcement } from "../store/catalogue-commit.ts";
import type { CatalogueStore, SomeNames } from "../store/catalogue-store.ts";
import {
  Kind,
  versionOfEntry,
  type Definition,
  type Entry,
} from "@switchyard/skills/catalogue/definition";
import type { VersionStore } from "../store/version-store.ts";
import type { Catalogue } from "@switchyard/skills/catalogue/catalogue";
import type { PlannedChange } from "@switchyard/skills/catalogue/plan-catalogue";
import { supersededBy } from "./superseded.ts";

export interface ChangeParts {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  /** Paths of the roots, the first first. */
  readonly roots: readonly string[];
  readonly now: () => Date;
  readonly newId: () => string;
  /** The machine on which the required programs and variables of skills are checked. */
  readonly machine: Machine;
  /** Publishes the committed events. */
  readonly announce: () => Promise<void>;
}

export interface Decision<R> {
  readonly result: R;
  /** Undefined when nothing changes. */
  readonly change?: PlannedChange;
  /** Definitions that the change is about, as far as they are at hand. */
  readonly definitions?: readonly Definition[];
  /** The source of the definitions, which are saved with it before the change. Undefined when they are saved already. */
  readonly provenance?: Provenance;
  /** Versions that were saved before and become current again. */
  readonly restored?: readonly Definition[];
  /** The counts of an import that a user requested, for the event of its end. */
  readonly batch?: Batch;
}

export type Batch = Omit<Extract<Announcement, { kind: "import" }>, "kind" | "id" | "at">;

const MAX_ATTEMPTS = 20;

/**
 * The only way in which the catalogue changes. `decide` plans against the current catalogue; when another importer was faster, it
 * plans again. Versions are written before they become current, so that a listed one can always be read: an importer that dies in
 * between leaves versions that no entry names. Events, and the removal of versions that are no longer named, are committed with
 * the change and follow it.
 */
export async function changeCatalogue<R>(
  parts: ChangeParts,
  { about, isDryRun = false }: { about?: SomeNames; isDryRun?: boolean },
  decide: (current: Catalogue) => Decision<R> | Promise<Decision<R>>,
): Promise<R> {
  const { store, versions } = parts;
  const saved = new Set<Definition>();
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const current = await store.load(about);
    const decision = await decide(current);
    const { result, change, definitions = [], provenance, restored = [] } = decision;
    if (change === undefined || isDryRun) return result;
    for (const definition of definitions) {
      if (provenance === undefined) break;
      if (!saved.has(definition)) await versions.save(definition, provenance);
      saved.add(definition);
    }
    for (const definition of restored) {
      const { kind, name, version } = definition;
      await versions.refresh(definition);
      await versions.restore(kind, name, version);
    }
    const outbox = [
      ...(await eventsOf(parts, current, decision)),
      ...supersededBy(current, change),
    ];
    if (!(await store.commit(current, change, outbox))) continue;
    await parts.announce();
    return result;
  }
  throw new Error(
    `the catalogue changed ${MAX_ATTEMPTS} times during one change; is another importer in a loop?`,
  );
}

async function eventsOf(
  parts: ChangeParts,
  current: Catalogue,
  { change, definitions = [], batch }: Decision<unknown>,
): Promise<Announcement[]> {
  const at = parts.now().toISOString();
  const fresh = () => ({ id: parts.newId(), at });
  const events: Announcement[] = [];
  const known = new Map(definitions.map((definition) => [definition.entry, definition]));
  for (const kind of Kind.options) {
    const { announce = [], remove = [] } = change?.listed[kind] ?? {};
    for (const entry of announce) {
      if (kind === "agent") {
        events.push({ ...fresh(), kind, summary: AgentSummary.parse(entry.summary) });
        continue;
      }
      const summary = SkillSummary.parse(entry.summary);
      const dependencies = await dependenciesOfEntry(parts, entry, known.get(entry));
      const { met: dependenciesMet = null, warnings = [] } = dependencies ?? {};
      events.push({ ...fresh(), kind, summary, dependenciesMet, warnings });
    }
    for (const name of remove) {
      const entry = current[kind].listed.find(({ summary }) => summary.name === name);
      const version = entry === undefined ? null : versionOfEntry(entry);
      events.push(
        kind === "skill"
          ? { ...fresh(), kind: "skill-removed", name, version }
          : { ...fresh(), kind: "agent-removed", name, digest: version },
      );
    }
  }
  if (batch !== undefined) events.push({ ...fresh(), kind: "import", ...batch });
  return events;
}

/** Returns a skill's requirements, and which of them this machine meets; null when it declares none. */
async function dependenciesOfEntry(
  { store, machine }: ChangeParts,
  entry: Entry,
  known: Definition | undefined,
): Promise<SkillDependencies | null> {
  const stored =
    known?.kind === "skill"
      ? known.stored
      : await store.read("skill", entry.summary.name, versionOfEntry(entry));
  return dependenciesOf(stored?.metadata ?? null, machine);
}

import { AgentSummary } from "@switchyard/contracts/agents";
import { readGitOrigin } from "@switchyard/service/git-origin";
import { presentRoots, type Root } from "./source/allowed-roots.ts";
import { builtInAgents } from "./agents/built-in-agents.ts";
import { planCatalogue, type CatalogueInput } from "./store/catalogue-plan.ts";
import type { Announcement, CatalogueChange } from "./store/catalogue-commit.ts";
import type { Catalogue } from "./store/catalogue.ts";
import type { CatalogueStore } from "./store/catalogue-store.ts";
import { isOurs, reportOf, totalsOf, type ImportReport } from "./import-report.ts";
import { admitAll, type WithheldEntry } from "./store/admission.ts";
import { BUILT_IN_ROOT, IMPORTED_ROOT, versionOfEntry, type Entry } from "./store/definition.ts";
import type { Judges } from "./judge/judge-job.ts";
import { announceSkills } from "./store/announce-skills.ts";
import { keepVersion } from "./store/keep-version.ts";
import { saveAgentVersion } from "./store/save-agent-version.ts";
import type { AgentVersionStore } from "./store/agent-version-store.ts";
import type { VersionStore } from "./store/version-store.ts";
import { readDefinitions, type Definitions, type FoundAgent } from "./source/read-definitions.ts";
import { isWithin, scanDirectory } from "./source/scan-directory.ts";

export interface ImporterOptions {
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly agentVersions: AgentVersionStore;
  readonly judges: Judges;
  /** What their verdicts are called; see `scannerOf`. */
  readonly scanner: string;
  readonly roots: readonly Root[];
  readonly now: () => Date;
  readonly newId: () => string;
  /** Called after each commit. */
  readonly announce: () => Promise<void>;
}

/** A part of the disk to import: real paths, the directory at or below the root. */
export interface Scope {
  readonly root: string;
  readonly directory: string;
}

/** Imports one after the other; what is written comes from one look at the disk. */
export class Importer {
  readonly #options: ImporterOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ImporterOptions) {
    this.#options = options;
  }

  /** Real paths of every directory that an import would read now, and of the roots that may come. */
  async places(): Promise<{ directories: string[]; missing: string[] }> {
    const { present, missing } = await presentRoots(this.#options.roots);
    const directories: string[] = [];
    for (const { path } of present) {
      directories.push(...(await scanDirectory(path, path)).directories);
    }
    return { directories, missing };
  }

  /** Imports every root; entries of a root that is no longer configured, or that is gone and may be, go. */
  importAll(): Promise<ImportReport> {
    return this.#queue(async () => {
      const { present, missing } = await presentRoots(this.#options.roots);
      const scopes = present.map(({ path }) => ({ root: path, directory: path }));
      const work = { scopes, covers: () => true, by: "importer", batch: null, dryRun: false };
      return { ...(await this.#import(work)), missing };
    });
  }

  /** Imports one directory; what is listed from elsewhere stays. */
  importDirectory(
    scope: Scope,
    { by, dryRun }: { by: string; dryRun: boolean },
  ): Promise<ImportReport> {
    const covers = (entry: Place) => isBelow(entry, scope);
    const batch = { label: scope.directory, by };
    return this.#queue(() => this.#import({ scopes: [scope], covers, by, batch, dryRun }));
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {}); // the caller has the rejection; the next import does not care
    return result;
  }

  async #import({ scopes, covers, by, batch, dryRun }: Work): Promise<ImportReport> {
    const directories: string[] = [];
    const parts: Definitions[] = [];
    const { store, versions, agentVersions, judges, scanner, now, roots } = this.#options;
    const at = this.#options.now().toISOString();
    for (const scope of scopes) {
      // Roots are few, and one at a time their diagnostics keep their order.
      const scan = await scanDirectory(scope.root, scope.directory);
      directories.push(...scan.directories);
      const root = roots.find(({ path }) => path === scope.root);
      const git = await readGitOrigin(scope.directory, scope.root);
      const provenance = { source: "root" as const, label: scope.directory, by, at, git };
      const keeping = { store, versions, judges, scanner, now, provenance, dryRun };
      const found = await readDefinitions(scope.root, scan, {
        scope: root?.scope ?? "project",
        needsTrust: root?.needsTrust ?? false,
        judges,
        scannedAt: now(),
        keep: (read, skill) => keepVersion(keeping, read, skill),
      });
      parts.push(found);
      if (dryRun) continue;
      for (const { stored, report } of found.agents) {
        const both = { store, versions: agentVersions };
        await saveAgentVersion(both, { agent: stored, report }, provenance);
      }
    }
    const found = joined(parts);
    const agents = [...found.agents, ...BUILT_INS];
    if (!dryRun) await Promise.all(BUILT_INS.map(({ stored }) => store.saveAgent(stored)));
    const isInScope = (entry: Place) => isOurs(entry) || covers(entry);
    const change = await this.#commit({ ...found, agents }, { isInScope, batch, dryRun });
    if (!dryRun) await this.#options.announce();
    return { ...reportOf(found, change), directories, missing: [] };
  }

  async #commit(
    found: Definitions,
    {
      isInScope,
      batch,
      dryRun,
    }: Pick<Work, "batch" | "dryRun"> & { isInScope: (entry: Place) => boolean },
  ): Promise<CatalogueChange> {
    const { store, roots } = this.#options;
    const places = { isInScope, roots: roots.map((root) => root.path) };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      // Each try plans against what another importer may have written since.
      const current = await store.load();
      const planned = this.#plan(current, found, places);
      if (dryRun) return { ...planned, announcements: [] };
      const announcements = await this.#announcements(current, found, { ...planned, batch });
      const change = { ...planned, announcements };
      if (await store.commit(current, change)) return change;
    }
    throw new Error(
      `the catalogue changed ${MAX_ATTEMPTS} times during one import; is another importer in a loop?`,
    );
  }

  #plan(
    current: Catalogue,
    found: Definitions,
    places: Pick<CatalogueInput<Named>, "isInScope" | "roots">,
  ): Planned {
    const entries = found.skills.map(({ entry }) => entry);
    const skillsFound = admitAll("skill", entries, current.trust);
    const agentsFound = admitAll(
      "agent",
      found.agents.map(({ entry }) => entry),
      current.trust,
    );
    const skills = planCatalogue({
      ...places,
      current: current.skills,
      // What clients sent is listed again when the file that hid it is gone.
      found: [...skillsFound.admitted, ...current.imported],
    });
    const agents = planCatalogue({
      ...places,
      current: current.agents,
      found: [...agentsFound.admitted, ...current.importedAgents],
    });
    const withheld: WithheldEntry[] = [
      ...skillsFound.withheld.map(({ entry, reason }) => ({
        kind: "skill" as const,
        entry,
        reason,
      })),
      ...agentsFound.withheld.map(({ entry, reason }) => ({
        kind: "agent" as const,
        entry,
        reason,
      })),
    ];
    return { skills, agents, withheld: changedWithheld(current, withheld, places) };
  }

  async #announcements(
    current: Catalogue,
    found: Definitions,
    { batch, ...planned }: Planned & Pick<Work, "batch">,
  ): Promise<Announcement[]> {
    const { skills, agents } = planned;
    const { now, newId } = this.#options;
    const at = now().toISOString();
    const before = new Map(current.skills.map((entry) => [entry.summary.name, entry]));
    const read = new Map(found.skills.map(({ entry, stored }) => [entry, stored]));
    return [
      ...(await announceSkills(this.#options, skills.announce, { at, read })),
      ...skills.remove.map((name) => {
        const entry = before.get(name);
        const version = entry === undefined ? null : versionOfEntry(entry);
        return { id: newId(), at, kind: "skill-removed" as const, name, version };
      }),
      ...agents.announce.map(({ summary }) => ({
        id: newId(),
        at,
        kind: "agent" as const,
        summary,
      })),
      ...agents.remove.map((name) => {
        const entry = current.agents.find(({ summary }) => summary.name === name);
        const digest = entry?.summary.digest ?? null;
        return { id: newId(), at, kind: "agent-removed" as const, name, digest };
      }),
      ...(batch === null
        ? []
        : [{ id: newId(), at, kind: "import" as const, ...batch, ...totalsOf(found, planned) }]),
    ];
  }
}

interface Work {
  readonly scopes: readonly Scope[];
  /** True for a place that this import looks at. */
  readonly covers: (entry: Place) => boolean;
  /** NATS user. */
  readonly by: string;
  /** What the event of its end is told about; null for an import that nobody asked for, which has none. */
  readonly batch: { readonly label: string; readonly by: string } | null;
  readonly dryRun: boolean;
}

/** A change before it is known what is to be told of it. */
type Planned = Omit<CatalogueChange, "announcements">;

type Named = { name: string; digest: string };
type Place = Pick<Entry<Named>, "root" | "file">;

const MAX_ATTEMPTS = 10;

const BUILT_INS: readonly FoundAgent[] = builtInAgents.map((stored) => ({
  entry: { root: BUILT_IN_ROOT, file: stored.name, summary: AgentSummary.parse(stored) },
  stored,
  report: null,
}));

function isBelow(entry: Place, scope: Scope): boolean {
  return entry.root === scope.root && isWithin(scope.directory, `${scope.root}/${entry.file}`);
}

function joined(parts: readonly Definitions[]): Definitions {
  return {
    skills: parts.flatMap((part) => part.skills),
    agents: parts.flatMap((part) => part.agents),
    skipped: {
      skills: parts.reduce((sum, part) => sum + part.skipped.skills, 0),
      agents: parts.reduce((sum, part) => sum + part.skipped.agents, 0),
    },
    diagnostics: parts.flatMap((part) => part.diagnostics),
  };
}

/** What waits from the places that were looked at is replaced by what was found there now. */
function changedWithheld(
  current: Catalogue,
  found: readonly WithheldEntry[],
  { isInScope }: Pick<CatalogueInput<Named>, "isInScope">,
): NonNullable<CatalogueChange["withheld"]> {
  const old = current.withheld.filter(
    ({ entry }) => entry.root !== IMPORTED_ROOT && isInScope(entry),
  );
  const before = new Set(old.map((item) => JSON.stringify(item)));
  const now = new Set(found.map((item) => JSON.stringify(item)));
  return {
    remove: old.filter((item) => !now.has(JSON.stringify(item))),
    set: found.filter((item) => !before.has(JSON.stringify(item))),
  };
}

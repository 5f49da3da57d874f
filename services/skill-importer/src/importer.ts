import { AgentSummary } from "@switchyard/contracts/agents";
import type { Diagnostic } from "@switchyard/contracts/skills";
import type { Root } from "./source/allowed-roots.ts";
import { builtInAgents } from "./agents/built-in-agents.ts";
import { planCatalogue, type CatalogueInput } from "./store/catalogue-plan.ts";
import type {
  Announcement,
  Catalogue,
  CatalogueChange,
  CatalogueStore,
} from "./store/catalogue-store.ts";
import { BUILT_IN_ROOT, type Entry } from "./store/definition.ts";
import { readDefinitions, type Definitions, type FoundAgent } from "./source/read-definitions.ts";
import { isWithin, scanDirectory } from "./source/scan-directory.ts";

export interface ImportReport {
  readonly skills: Counts & { readonly repaired: number };
  readonly agents: Counts;
  readonly diagnostics: Diagnostic[];
  /** Real paths of every directory that was read. */
  readonly directories: string[];
}

/** `found` is always `loaded` + `skipped`. */
export interface Counts {
  readonly found: number;
  readonly loaded: number;
  readonly skipped: number;
}

export interface ImporterOptions {
  readonly store: CatalogueStore;
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

  /** Imports every root; entries of a root that is no longer configured go. */
  importAll(): Promise<ImportReport> {
    const scopes = this.#options.roots.map((root) => ({ root: root.path, directory: root.path }));
    return this.#queue(() => this.#import(scopes, () => true));
  }

  /** Imports one directory; what is listed from elsewhere stays. */
  importDirectory(scope: Scope): Promise<ImportReport> {
    return this.#queue(() => this.#import([scope], (entry) => isBelow(entry, scope)));
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {}); // the caller has the rejection; the next import does not care
    return result;
  }

  async #import(
    scopes: readonly Scope[],
    covers: (entry: Place) => boolean,
  ): Promise<ImportReport> {
    const directories: string[] = [];
    const parts: Definitions[] = [];
    for (const scope of scopes) {
      // Roots are few, and one at a time their diagnostics keep their order.
      const scan = await scanDirectory(scope.root, scope.directory);
      directories.push(...scan.directories);
      parts.push(await readDefinitions(scope.root, scan));
    }
    const found = joined(parts);
    const agents = [...found.agents, ...BUILT_INS];
    const { store } = this.#options;
    await Promise.all([
      ...found.skills.map(({ stored }) => store.saveSkill(stored)),
      ...agents.map(({ stored }) => store.saveAgent(stored)),
    ]);
    const change = await this.#commit({ ...found, agents }, covers);
    await this.#options.announce();
    return { ...reportOf(found, change), directories };
  }

  async #commit(found: Definitions, covers: (entry: Place) => boolean): Promise<CatalogueChange> {
    const { store, roots } = this.#options;
    const isInScope = (entry: Place) => entry.root === BUILT_IN_ROOT || covers(entry);
    const places = { isInScope, roots: roots.map((root) => root.path) };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      // Each try plans against what another importer may have written since.
      const current = await store.load();
      const change = this.#plan(current, found, places);
      if (await store.commit(current.revision, change)) {
        await this.#retire(current, change);
        return change;
      }
    }
    throw new Error(
      `the catalogue changed ${MAX_ATTEMPTS} times during one import; is another importer in a loop?`,
    );
  }

  #plan(
    current: Catalogue,
    found: Definitions,
    places: Pick<CatalogueInput<Named>, "isInScope" | "roots">,
  ): CatalogueChange {
    const skills = planCatalogue({
      ...places,
      current: current.skills,
      found: found.skills.map(({ entry }) => entry),
    });
    const agents = planCatalogue({
      ...places,
      current: current.agents,
      found: found.agents.map(({ entry }) => entry),
    });
    const at = this.#options.now().toISOString();
    const announcements: Announcement[] = [
      ...skills.announce.map(({ summary }) => ({
        id: this.#options.newId(),
        at,
        kind: "skill" as const,
        summary,
      })),
      ...agents.announce.map(({ summary }) => ({
        id: this.#options.newId(),
        at,
        kind: "agent" as const,
        summary,
      })),
    ];
    return { skills, agents, announcements };
  }

  async #retire(before: Catalogue, change: CatalogueChange): Promise<void> {
    const { store } = this.#options;
    await Promise.all([
      ...replaced(before.skills, change.skills).map(({ name, digest }) =>
        store.retire("skill", name, digest),
      ),
      ...replaced(before.agents, change.agents).map(({ name, digest }) =>
        store.retire("agent", name, digest),
      ),
    ]);
  }
}

type Named = { name: string; digest: string };
type Place = Pick<Entry<Named>, "root" | "file">;

const MAX_ATTEMPTS = 10;

const BUILT_INS: readonly FoundAgent[] = builtInAgents.map((stored) => ({
  entry: { root: BUILT_IN_ROOT, file: stored.name, summary: AgentSummary.parse(stored) },
  stored,
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

/** Versions that were current and no longer are. */
function replaced(
  before: readonly Entry<Named>[],
  plan: CatalogueChange["skills" | "agents"],
): Named[] {
  const removed = new Set(plan.remove);
  const announced = new Set(plan.announce.map(({ summary }) => summary.name));
  return before
    .map(({ summary }) => summary)
    .filter(({ name }) => removed.has(name) || announced.has(name));
}

function reportOf(found: Definitions, change: CatalogueChange): Omit<ImportReport, "directories"> {
  const hiddenAgents = change.agents.hidden.filter(({ entry }) => entry.root !== BUILT_IN_ROOT);
  return {
    skills: {
      ...countsOf(found.skills.length, change.skills.hidden.length, found.skipped.skills),
      repaired: repairedOf(found, change),
    },
    agents: countsOf(found.agents.length, hiddenAgents.length, found.skipped.agents),
    diagnostics: [
      ...found.diagnostics,
      ...change.skills.hidden.map(({ entry, by }) => duplicateName(entry, by)),
      ...change.agents.hidden.map(({ entry, by }) =>
        entry.root === BUILT_IN_ROOT ? overridesBuiltIn(by) : duplicateName(entry, by),
      ),
    ],
  };
}

function repairedOf(found: Definitions, change: CatalogueChange): number {
  const hidden = new Set(change.skills.hidden.map(({ entry }) => entry));
  const loaded = found.skills.filter(({ entry }) => !hidden.has(entry));
  return loaded.filter(({ entry }) => entry.summary.repaired === true).length;
}

function countsOf(read: number, hidden: number, unread: number): Counts {
  return { found: read + unread, loaded: read - hidden, skipped: unread + hidden };
}

function duplicateName(entry: Entry<Named>, by: Entry<Named>): Diagnostic {
  return {
    severity: "warning",
    code: "duplicate_name",
    message: `the name ${entry.summary.name} belongs to ${by.file}, which comes first; rename one of them`,
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

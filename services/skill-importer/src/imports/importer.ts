import { SerialQueue } from "@switchyard/contracts/serial-queue";
import { readGitOrigin } from "@switchyard/service/git-origin";
import { admitAll } from "@switchyard/skills/catalogue/admission";
import { builtInDefinitions } from "@switchyard/skills/catalogue/built-in-agents";
import { changeCatalogue, type ChangeParts } from "../catalogue/change-catalogue.ts";
import { planCatalogue, type PlannedChange } from "@switchyard/skills/catalogue/plan-catalogue";
import type { Analyzer } from "@switchyard/skills/analysis/analyze";
import { presentRoots, type Root } from "@switchyard/skills/source/allowed-roots";
import { isWithin, scanDirectory } from "@switchyard/skills/source/scan-directory";
import type { Catalogue } from "@switchyard/skills/catalogue/catalogue";
import {
  IMPORTED_ROOT,
  isOfAFile,
  type Entry,
  type Kind,
  type WithheldEntry,
} from "@switchyard/skills/catalogue/definition";
import { reportOf, totalsOf, type ImportReport } from "./import-report.ts";
import { readDefinitions, type Definitions } from "./read-definitions.ts";

export interface ImporterOptions extends Omit<ChangeParts, "roots"> {
  readonly analyzer: Analyzer;
  /** The version of the scanner's verdicts; see `scannerOf`. */
  readonly scanner: string;
  readonly roots: readonly Root[];
}

/** A part of the disk to import: real paths, the directory at or below the root. */
export interface Scope {
  readonly root: string;
  readonly directory: string;
}

/** Runs imports one after the other; each writes the result of a single scan of the disk. */
export class Importer {
  readonly #options: ImporterOptions;
  readonly #queue = new SerialQueue();

  constructor(options: ImporterOptions) {
    this.#options = options;
  }

  /** Returns the real paths of every directory that an import would read now, and of the roots that may be created later. */
  async places(): Promise<{ directories: string[]; missing: string[] }> {
    const { present, missing } = await presentRoots(this.#options.roots);
    const directories: string[] = [];
    for (const { path } of present) {
      directories.push(...(await scanDirectory(path, path)).directories);
    }
    return { directories, missing };
  }

  /** Imports every root; entries of a root that is no longer configured, or that is missing and optional, are removed. */
  importAll(): Promise<ImportReport> {
    return this.#queue.run(async () => {
      const { present, missing } = await presentRoots(this.#options.roots);
      const scopes = present.map(({ path }) => ({ root: path, directory: path }));
      const work = { scopes, covers: () => true, by: "importer", label: null, isDryRun: false };
      return { ...(await this.#import(work)), missing };
    });
  }

  /** Imports one directory; entries from other directories stay. */
  importDirectory(
    scope: Scope,
    { by, dryRun: isDryRun }: { by: string; dryRun: boolean },
  ): Promise<ImportReport> {
    const covers = ({ root, file }: Entry) =>
      root === scope.root && isWithin(scope.directory, `${scope.root}/${file}`);
    const label = scope.directory;
    return this.#queue.run(() => this.#import({ scopes: [scope], covers, by, label, isDryRun }));
  }

  async #import(work: Work): Promise<ImportReport> {
    const { scopes, covers, by, label, isDryRun } = work;
    const directories: string[] = [];
    const read: Definitions = {
      found: [...builtInDefinitions],
      skipped: { skill: 0, agent: 0 },
      diagnostics: [],
      bad: [],
    };
    for (const scope of scopes) {
      // Roots are few, and reading them one at a time keeps the order of their diagnostics.
      const part = await this.#read(scope, work);
      directories.push(...part.directories);
      read.found.push(...part.found);
      read.skipped.skill += part.skipped.skill;
      read.skipped.agent += part.skipped.agent;
      read.diagnostics.push(...part.diagnostics);
      read.bad.push(...part.bad);
    }
    const roots = this.#options.roots.map(({ path }) => path);
    const isInScope = (entry: Entry) => !isOfAFile(entry) || covers(entry);
    const change = await changeCatalogue({ ...this.#options, roots }, { isDryRun }, (current) => {
      const planned = planRead(current, read, { isInScope, roots });
      return {
        result: planned,
        change: planned,
        definitions: read.found,
        restored: builtInDefinitions,
        ...(label === null ? {} : { batch: { label, by, ...totalsOf(read, planned) } }),
      };
    });
    return { ...reportOf(read, change), directories, missing: [] };
  }

  async #read(
    { root, directory }: Scope,
    { by, isDryRun }: Work,
  ): Promise<Definitions & { readonly directories: readonly string[] }> {
    const { versions, analyzer, scanner, now, roots } = this.#options;
    const scan = await scanDirectory(root, directory);
    const configured = roots.find(({ path }) => path === root);
    const at = now().toISOString();
    const git = await readGitOrigin(directory, root);
    const provenance = { source: "root" as const, label: directory, by, at, git };
    const read = await readDefinitions(root, scan, {
      scope: configured?.scope ?? "project",
      needsTrust: configured?.needsTrust ?? false,
      analyzer,
      keeping: { versions, scanner, now, provenance, isDryRun },
    });
    return { ...read, directories: scan.directories };
  }
}

interface Work {
  readonly scopes: readonly Scope[];
  /** True for an entry whose path this import reads. */
  readonly covers: (entry: Entry) => boolean;
  /** NATS user. */
  readonly by: string;
  /** The label in the event of its end; null for an automatic import, which has no such event. */
  readonly label: string | null;
  readonly isDryRun: boolean;
}

interface Places {
  readonly isInScope: (entry: Entry) => boolean;
  readonly roots: readonly string[];
}

/** Plans the catalogue after a scan of the given paths found these definitions. */
function planRead(current: Catalogue, { found, bad }: Definitions, places: Places) {
  const waiting: WithheldEntry[] = [];
  const kept: Entry[] = [];
  const plan = (kind: Kind) => {
    const entries = found.filter((one) => one.kind === kind).map(({ entry }) => entry);
    const { admitted, withheld } = admitAll(kind, entries, current.trust);
    waiting.push(...withheld);
    const { listed, imported } = current[kind];
    const stays = listed.filter((entry) => isLastGood(entry, entries, bad, kind));
    kept.push(...stays);
    // A definition that clients sent is listed again when the file that hid it is removed.
    return planCatalogue({
      ...places,
      current: listed,
      found: [...admitted, ...stays, ...imported],
    });
  };
  const listed = { skill: plan("skill"), agent: plan("agent") };
  const withheld = changedWithheld(current, waiting, places);
  return { listed, withheld, kept } satisfies PlannedChange & { kept: Entry[] };
}

/** True for the listed entry of a file that cannot be used now: its last good version stays until the file is corrected or deleted. */
function isLastGood(
  { root, file, summary }: Entry,
  found: readonly Entry[],
  bad: Definitions["bad"],
  kind: Kind,
): boolean {
  const isBad = bad.some((one) => one.kind === kind && one.root === root && one.file === file);
  return isBad && !found.some(({ summary: { name } }) => name === summary.name);
}

/** Withheld entries from the scanned paths are replaced by those that were found there now. */
function changedWithheld(
  current: Catalogue,
  found: readonly WithheldEntry[],
  { isInScope }: Places,
): NonNullable<PlannedChange["withheld"]> {
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

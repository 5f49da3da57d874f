import type { Provenance } from "@switchyard/contracts/skill-importer/definition-store";
import type { Diagnostic, SkillScope } from "@switchyard/contracts/skill-importer/skills";
import { locatedAt } from "@switchyard/skills/imports/located-at";
import { notAnAgent } from "@switchyard/skills/agents/agent-file";
import { analyzerHere, type Analyzer } from "@switchyard/skills/analysis/analyze";
import { readCandidate } from "@switchyard/skills/source/read-candidate";
import type { Candidate, Scan } from "@switchyard/skills/source/scan-directory";
import type { Definition, Kind } from "@switchyard/skills/catalogue/definition";
import type { VersionStore } from "../store/version-store.ts";
import {
  readDefinition,
  type Origin,
  type ReadDefinition,
  type Reading,
} from "@switchyard/skills/imports/read-definition";

/** The definitions in a directory. */
export interface Definitions {
  /** Without their files: those are stored. */
  readonly found: Definition[];
  /** The number of files that could not be used, each with an error among the diagnostics, and of those that a limit left out. */
  readonly skipped: Record<Kind, number>;
  readonly diagnostics: Diagnostic[];
  /** The files that make no definition now, below their root. */
  readonly bad: BadFile[];
}

export interface BadFile {
  readonly kind: Kind;
  readonly root: string;
  readonly file: string;
  /** False for a Markdown file beside the agents that is not one, such as a README. */
  readonly isError: boolean;
}

export interface ReadOptions {
  readonly scope?: Exclude<SkillScope, "imported">;
  /** True when the definitions are listed only after a user trusts them. */
  readonly needsTrust?: boolean;
  /** The analyzer for the files; when undefined, this thread analyzes them. */
  readonly analyzer?: Analyzer;
  /** Scans and stores the definitions; when undefined, they are only read. */
  readonly keeping?: Keeping;
}

export interface Keeping {
  readonly versions: VersionStore;
  /** The version of the scanner's verdicts; see `scannerOf`. */
  readonly scanner: string;
  readonly now: () => Date;
  readonly provenance: Provenance;
  readonly isDryRun: boolean;
}

/** Enough that the analysis thread never waits for the disk. */
const AT_ONCE = 8;

/** Reads every file of a scan. A file that cannot be read or parsed is skipped and never stops the others. */
export async function readDefinitions(
  root: string,
  scan: Scan,
  options: ReadOptions = {},
): Promise<Definitions> {
  const definitions: Definitions = {
    found: [],
    skipped: { skill: scan.skillsLeftOut, agent: 0 },
    diagnostics: [...scan.diagnostics],
    bad: [],
  };
  const running: Promise<ReadDefinition>[] = [];
  const add = async (one: Promise<ReadDefinition> | undefined) => {
    if (one !== undefined) enter(definitions, root, await one);
  };
  for (const candidate of scan.candidates) {
    // A few at a time, so that memory holds the files of only these.
    if (running.length === AT_ONCE) await add(running.shift());
    const one = readOne(root, candidate, options);
    one.catch(() => {}); // it is awaited in its turn: the order of the candidates is the order of the report
    running.push(one);
  }
  for (const one of running) await add(one);
  return definitions;
}

async function readOne(
  root: string,
  candidate: Candidate,
  { scope = "project", needsTrust = false, analyzer = analyzerHere, keeping }: ReadOptions,
): Promise<ReadDefinition> {
  const pkg = await readCandidate(root, candidate);
  const origin = { root, scope, needsTrust };
  const reading = { analyzer, now: keeping?.now ?? (() => new Date(0)), scans: false };
  const read = await readDefinition(pkg, origin, reading);
  return keeping === undefined ? read : keep(read, origin, { ...keeping, reading });
}

/**
 * Scans and stores the definitions. A version that this scanner version has scanned before is not scanned again: an import at
 * every change of a file must stay cheap.
 */
async function keep(
  read: ReadDefinition,
  origin: Origin,
  { versions, scanner, provenance, isDryRun, reading }: Keeping & { readonly reading: Reading },
): Promise<ReadDefinition> {
  const { definition } = read;
  if (definition === null) return read;
  const before = await versions.record(definition.kind, definition.name, definition.version);
  if (before?.verdict?.scanner === scanner && before.supersededAt === null) {
    if (!isDryRun) await versions.refresh(definition);
    if (before.verdict.verdict !== "blocked") return read;
    const entry = { ...definition.entry, blocked: true };
    return { ...read, definition: { ...definition, entry } };
  }
  const scanned = await readDefinition(read.pkg, origin, { ...reading, scans: true });
  if (scanned.definition !== null && !isDryRun) await versions.save(scanned.definition, provenance);
  return scanned;
}

function enter(definitions: Definitions, root: string, read: ReadDefinition): void {
  const { definition, file, pkg } = read;
  if (definition === null)
    definitions.bad.push({ kind: pkg.kind, root, file, isError: !read.isNotAnAgent });
  definitions.diagnostics.push(...read.diagnostics);
  if (read.isNotAnAgent) definitions.diagnostics.push(...locatedAt(file, notAnAgent(file)));
  else if (definition === null) definitions.skipped[pkg.kind] += 1;
  else definitions.found.push({ ...definition, files: new Map() });
}

import { readRequirements } from "../skill/skill-requirements.ts";
import { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import {
  SkillSummary,
  type Conformance,
  type Diagnostic,
  type SkillScope,
} from "@switchyard/contracts/skill-importer/skills";
import { locatedAt } from "./located-at.ts";
import { MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import type { Analysis, Analyzer } from "../analysis/analyze.ts";
import { parseSkill } from "../skill/parse-skill.ts";
import { fileFacts, shownFile, versionOf, type Package } from "../source/package.ts";
import { IMPORTED_ROOT, type Definition } from "../catalogue/definition.ts";

/** A package after all checks that need no other package. */
export interface ReadDefinition {
  /** The file that makes it a definition, as it is shown; the directory when there is none. */
  readonly file: string;
  readonly pkg: Package;
  /** Null when it cannot be used: then one of the diagnostics is an error, unless it is not an agent at all. */
  readonly definition: Definition | null;
  /** True for a Markdown file beside the agents that is not one, such as a README. */
  readonly isNotAnAgent: boolean;
  readonly diagnostics: readonly Diagnostic[];
  readonly conformance: readonly Conformance[];
}

export interface Origin {
  /** The root, or {@link IMPORTED_ROOT}. */
  readonly root: string;
  readonly scope: SkillScope;
  readonly needsTrust: boolean;
  /** Set for an import that is sent in parts. */
  readonly importId?: string | undefined;
}

export interface Reading {
  /** The analyzer that parses and scans the files. */
  readonly analyzer: Analyzer;
  readonly now: () => Date;
  /** True when the scanner runs, too. */
  readonly scans: boolean;
}

/** Reads a definition from its files. Never throws because of their content, and runs none of it. */
export async function readDefinition(
  pkg: Package,
  origin: Origin,
  reading: Reading,
): Promise<ReadDefinition> {
  const { kind, mainFile, files, directoryName } = pkg;
  const file = shownFile(pkg);
  const facts = fileFacts(files);
  const version = kind === "agent" ? (facts[0]?.digest ?? "") : versionOf(facts);
  const content = mainFile === null ? undefined : files.get(mainFile);
  const nothing = { file, pkg, definition: null, isNotAnAgent: false, conformance: [] };
  if (mainFile !== null && content === undefined)
    return { ...nothing, diagnostics: locatedAt(file, pkg.findings) };
  // The analyzer is not called when there is no file that could be parsed.
  const isParsed = mainFile !== null && (content?.length ?? 0) <= MAX_FILE_BYTES;
  const analysis: Analysis = isParsed
    ? await reading.analyzer.analyze({
        kind,
        mainFile,
        files,
        directoryName,
        version: reading.scans ? version : null,
        now: reading.now(),
      })
    : { parsed: parseSkill(pkg, directoryName), report: null };
  const { parsed, report } = analysis;
  if ("kind" in parsed && parsed.kind === "not-an-agent")
    return { ...nothing, isNotAnAgent: true, diagnostics: [] };
  const diagnostics = locatedAt(file, [...pkg.findings, ...parsed.findings]);
  const conformance = "conformance" in parsed ? parsed.conformance : [];
  const isUsable = pkg.findings.every(({ severity }) => severity !== "error");
  const said = isUsable ? contentOf(analysis, { pkg, origin, version, diagnostics }) : null;
  if (said === null) return { ...nothing, conformance, diagnostics };
  const entry = {
    root: origin.root,
    file,
    summary: said.summary,
    ...(origin.needsTrust ? { needsTrust: true } : {}),
    ...(report?.verdict === "blocked" ? { blocked: true } : {}),
    ...(origin.importId === undefined ? {} : { importId: origin.importId }),
  };
  const { summary, ...kindAndStored } = said;
  const kept = kind === "agent" ? [] : facts;
  const definition = { name: summary.name, version, entry, files, facts: kept, report };
  return {
    ...nothing,
    definition: { ...definition, ...kindAndStored },
    conformance,
    diagnostics,
  };
}

/** Returns the stored content and the listed summary; null when the definition does not load. */
function contentOf(
  { parsed }: Analysis,
  given: { pkg: Package; origin: Origin; version: string; diagnostics: readonly Diagnostic[] },
) {
  const { pkg, origin, version } = given;
  const { scope } = origin;
  if ("kind" in parsed) {
    if (parsed.kind !== "agent") return null;
    // The contract distinguishes agents of a project from those of the user; a workspace counts as the user's.
    const source = scope === "imported" || scope === "project" ? scope : ("user" as const);
    const stored = { ...parsed.agent, source };
    return { kind: "agent" as const, stored, summary: AgentSummary.parse(stored) };
  }
  if (parsed.skill === null) return null;
  const { metadata, conformance } = parsed;
  const diagnostics = [...given.diagnostics];
  const isOpenClaw =
    parsed.skill.dispatch !== undefined ||
    (metadata !== null && readRequirements(metadata).requirements !== null);
  const skill = {
    ...parsed.skill,
    path: pkg.directory,
    version,
    scope,
    ...(isOpenClaw && { source: "openclaw" as const }),
    diagnostics,
  };
  const directory = pkg.realDirectory ?? `skill://${skill.name}`;
  const stored = { skill, directory, metadata, conformance: [...conformance] };
  return { kind: "skill" as const, stored, summary: SkillSummary.parse(skill) };
}

/** Reads and scans the definitions that a client sent. */
export function readSent(
  packages: readonly Package[],
  options: Omit<Reading, "scans"> & { readonly importId?: string | undefined },
): Promise<ReadDefinition[]> {
  const { analyzer, now, importId } = options;
  const origin = { root: IMPORTED_ROOT, scope: "imported", needsTrust: false, importId } as const;
  const reading = { analyzer, now, scans: true };
  // All are in memory already; the analysis thread takes a few at a time.
  return Promise.all(packages.map((pkg) => readDefinition(pkg, origin, reading)));
}

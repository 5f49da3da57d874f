import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { AgentSummary } from "@switchyard/contracts/agents";
import type { Diagnostic, SkillScope } from "@switchyard/contracts/skills";
import { agentFactsOf } from "../agents/agent-facts.ts";
import { parseAgentFile, type ParsedAgent } from "../agents/agent-file.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import type { AgentEntry, StoredAgent } from "../store/definition.ts";
import { errorFinding, type Finding } from "../finding.ts";
import { directoryNameOf, type Candidate, type Scan } from "./scan-directory.ts";
import { readPackage, type FoundSkill, type ReadPackage } from "./read-package.ts";
import { readSupportingFiles } from "./supporting-files.ts";

export interface FoundAgent {
  readonly entry: AgentEntry;
  readonly stored: StoredAgent;
}

export interface Definitions {
  readonly skills: FoundSkill[];
  readonly agents: FoundAgent[];
  /** Files that could not be used; each has an error among the diagnostics. */
  readonly skipped: { skills: number; agents: number };
  readonly diagnostics: Diagnostic[];
}

export interface ReadOptions {
  readonly scope?: Exclude<SkillScope, "imported">;
  /** True when what is found is listed only after somebody trusts it. */
  readonly needsTrust?: boolean;
  /** Stores a skill with its files before the next one is read, and returns it as it is to be listed. */
  readonly keep?: (read: ReadPackage, found: FoundSkill) => Promise<FoundSkill>;
}

/** Reads every file of a scan. A file that cannot be read or parsed is skipped and never stops the others. */
export async function readDefinitions(
  root: string,
  scan: Scan,
  options: ReadOptions = {},
): Promise<Definitions> {
  const definitions: Definitions = {
    skills: [],
    agents: [],
    skipped: { skills: 0, agents: 0 },
    diagnostics: [...scan.diagnostics],
  };
  for (const candidate of scan.candidates) {
    // One at a time: what is in memory are the files of one skill, however many there are.
    const content = await readCandidate(candidate);
    const item = { root, candidate, content, options };
    if (candidate.kind === "skill") await addSkill(definitions, item);
    else addAgent(definitions, item);
  }
  return definitions;
}

interface Item {
  readonly root: string;
  readonly candidate: Candidate;
  readonly content: Uint8Array | Finding;
  readonly options: ReadOptions;
}

async function addSkill(definitions: Definitions, item: Item): Promise<void> {
  const { root, candidate, content, options } = item;
  if (!(content instanceof Uint8Array)) {
    definitions.diagnostics.push(...located([content], candidate));
    definitions.skipped.skills += 1;
    return;
  }
  const skillFile = basename(candidate.file);
  const directory = dirname(candidate.path);
  const isRoot = directory === root;
  const beside = await readSupportingFiles(directory, { isRoot, skillFile });
  const pkg = {
    directory: dirname(candidate.file),
    skillFile,
    files: new Map([[skillFile, content], ...beside.files]),
    findings: beside.findings,
  };
  const read = await readPackage(pkg, {
    root,
    scope: options.scope ?? "project",
    baseDirectory: directory,
    fallbackName: directoryNameOf(candidate, root),
    needsTrust: options.needsTrust ?? false,
    scan: null,
  });
  definitions.diagnostics.push(...read.diagnostics);
  if (read.found === null) definitions.skipped.skills += 1;
  else definitions.skills.push((await options.keep?.(read, read.found)) ?? read.found);
}

function addAgent(definitions: Definitions, { root, candidate, content, options }: Item): void {
  const parsed: ParsedAgent =
    content instanceof Uint8Array
      ? parseAgentFile(content, agentFactsOf(candidate.file, directoryNameOf(candidate, root)))
      : { kind: "skipped", findings: [content] };
  if (parsed.kind === "not-an-agent") return;
  definitions.diagnostics.push(...located(parsed.findings, candidate));
  if (parsed.kind === "skipped") {
    definitions.skipped.agents += 1;
    return;
  }
  // The contract knows a project's agents and the person's own; a workspace is the person's, too.
  const source = options.scope === undefined || options.scope === "project" ? "project" : "user";
  const agent = { ...parsed.agent, source } as const;
  definitions.agents.push({
    entry: {
      root,
      file: candidate.file,
      summary: AgentSummary.parse(agent),
      ...(options.needsTrust === true ? { needsTrust: true } : {}),
    },
    stored: agent,
  });
}

/** The bytes of a file, or why they cannot be had. */
export async function readCandidate(candidate: Candidate): Promise<Uint8Array | Finding> {
  if (candidate.problem !== null) return candidate.problem;
  try {
    await using file = await open(candidate.path);
    const { size } = await file.stat();
    return size > MAX_FILE_BYTES ? fileTooLarge(size) : await file.readFile();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return errorFinding("unreadable_file", `the file cannot be read: ${code}`);
  }
}

export function located(findings: readonly Finding[], candidate: Candidate): Diagnostic[] {
  return findings.map((finding) => ({ ...finding, file: candidate.file }));
}

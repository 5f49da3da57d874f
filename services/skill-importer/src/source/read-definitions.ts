import { open } from "node:fs/promises";
import { basename, dirname, extname } from "node:path";
import { AgentSummary } from "@switchyard/contracts/agents";
import { SkillSummary, type Diagnostic } from "@switchyard/contracts/skills";
import { parseAgentFile, type AgentFileFacts, type ParsedAgent } from "../agents/agent-file.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import type { AgentEntry, SkillEntry, StoredAgent, StoredSkill } from "../store/definition.ts";
import { errorFinding, type Finding } from "../finding.ts";
import { directoryNameOf, type Candidate, type Scan } from "./scan-directory.ts";
import { parseSkillFile } from "../skill/skill-file.ts";

export interface FoundSkill {
  readonly entry: SkillEntry;
  readonly stored: StoredSkill;
}

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

/** Reads every file of a scan. A file that cannot be read or parsed is skipped and never stops the others. */
export async function readDefinitions(root: string, scan: Scan): Promise<Definitions> {
  const definitions: Definitions = {
    skills: [],
    agents: [],
    skipped: { skills: 0, agents: 0 },
    diagnostics: [...scan.diagnostics],
  };
  for (const candidate of scan.candidates) {
    // One file at a time: what is in memory is one file, however many there are.
    const content = await readCandidate(candidate);
    if (candidate.kind === "skill") addSkill(definitions, { root, candidate, content });
    else addAgent(definitions, { root, candidate, content });
  }
  return definitions;
}

interface Item {
  readonly root: string;
  readonly candidate: Candidate;
  readonly content: Uint8Array | Finding;
}

function addSkill(definitions: Definitions, { root, candidate, content }: Item): void {
  const directoryName = directoryNameOf(candidate, root);
  const parsed =
    content instanceof Uint8Array
      ? parseSkillFile(content, directoryName)
      : { skill: null, metadata: null, findings: [content], conformance: [] };
  const diagnostics = located(parsed.findings, candidate);
  definitions.diagnostics.push(...diagnostics);
  if (parsed.skill === null) {
    definitions.skipped.skills += 1;
    return;
  }
  const skill = { ...parsed.skill, path: dirname(candidate.file), diagnostics };
  definitions.skills.push({
    entry: { root, file: candidate.file, summary: SkillSummary.parse(skill) },
    stored: {
      skill,
      directory: dirname(candidate.path),
      metadata: parsed.metadata,
      conformance: [...parsed.conformance],
    },
  });
}

function addAgent(definitions: Definitions, { root, candidate, content }: Item): void {
  const parsed: ParsedAgent =
    content instanceof Uint8Array
      ? parseAgentFile(content, agentFacts(candidate, root))
      : { kind: "skipped", findings: [content] };
  if (parsed.kind === "not-an-agent") return;
  definitions.diagnostics.push(...located(parsed.findings, candidate));
  if (parsed.kind === "skipped") {
    definitions.skipped.agents += 1;
    return;
  }
  definitions.agents.push({
    entry: { root, file: candidate.file, summary: AgentSummary.parse(parsed.agent) },
    stored: parsed.agent,
  });
}

function agentFacts(candidate: Candidate, root: string): AgentFileFacts {
  const extension = extname(candidate.file);
  const stem = basename(candidate.file, extension);
  const isOwnDirectory = stem === "agent" || stem === "AGENT";
  return {
    format: extension === ".md" ? "markdown" : "yaml",
    fallbackName: isOwnDirectory ? directoryNameOf(candidate, root) : stem,
    isCertain: isOwnDirectory || extension !== ".md",
  };
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

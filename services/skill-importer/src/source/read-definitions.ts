import { basename, dirname, join } from "node:path";
import { AgentSummary } from "@switchyard/contracts/agents";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { Diagnostic, SkillScope } from "@switchyard/contracts/skills";
import { agentFactsOf } from "../agents/agent-facts.ts";
import { fileTooLarge, MAX_FILE_BYTES } from "../frontmatter/decode-text.ts";
import { LEGACY_FILE, LEGACY_PROMPT } from "../skill/legacy-skill.ts";
import type { AgentEntry, StoredAgent } from "../store/definition.ts";
import { errorFinding, warningFinding, type Finding } from "../finding.ts";
import type { AgentJudgement } from "../judge/judge-agent.ts";
import { judgesHere, type Judges } from "../judge/judge-job.ts";
import { directoryNameOf, type Candidate, type Scan } from "./scan-directory.ts";
import { readFileIf } from "./read-file-if.ts";
import { readPackage, type FoundSkill, type ReadPackage } from "./read-package.ts";
import { readSupportingFiles } from "./supporting-files.ts";

export interface FoundAgent {
  readonly entry: AgentEntry;
  readonly stored: StoredAgent;
  /** Null when it was not scanned. */
  readonly report: ScanReport | null;
}

export interface Definitions {
  readonly skills: FoundSkill[];
  readonly agents: FoundAgent[];
  /** Files that could not be used, each with an error among the diagnostics, and what a limit left out. */
  readonly skipped: { skills: number; agents: number };
  readonly diagnostics: Diagnostic[];
}

export interface ReadOptions {
  readonly scope?: Exclude<SkillScope, "imported">;
  /** True when what is found is listed only after somebody trusts it. */
  readonly needsTrust?: boolean;
  /** When agents are scanned; they are not when it is missing. */
  readonly scannedAt?: Date;
  /** Where the files are parsed; in this thread when missing. */
  readonly judges?: Judges;
  /** Stores a skill with its files, and returns it as it is to be listed; a finding says why it cannot be. */
  readonly keep?: (read: ReadPackage, found: FoundSkill) => Promise<FoundSkill | Finding>;
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
    skipped: { skills: scan.skillsLeftOut, agents: 0 },
    diagnostics: [...scan.diagnostics],
  };
  const running: Promise<Add>[] = [];
  for (const candidate of scan.candidates) {
    // A few at a time: what is in memory are the files of these, however many there are.
    if (running.length === AT_ONCE) await running.shift()?.then((add) => add(definitions));
    const one = readOne({ root, candidate, options });
    one.catch(() => {}); // it is awaited below, in its turn
    running.push(one);
  }
  for (const one of running) (await one)(definitions);
  return definitions;
}

/** So many that the thread which judges them never waits for the disk. */
const AT_ONCE = 8;

interface Item {
  readonly root: string;
  readonly candidate: Candidate;
  readonly options: ReadOptions;
}

/** Enters what was read; the order of the candidates is the order of the report. */
type Add = (definitions: Definitions) => void;

async function readOne(item: Item): Promise<Add> {
  const content = await readCandidate(item.candidate);
  return item.candidate.kind === "skill" ? readSkill(item, content) : readAgent(item, content);
}

async function readSkill(item: Item, content: Uint8Array | Finding): Promise<Add> {
  const { root, candidate, options } = item;
  if (!(content instanceof Uint8Array)) return skipped(located([content], candidate));
  const skillFile = basename(candidate.file);
  const directory = dirname(candidate.path);
  const isRoot = directory === root;
  const beside = await readSupportingFiles(directory, {
    isRoot,
    skillFile,
    entries: candidate.beside,
  });
  const pkg = {
    directory: dirname(candidate.file),
    skillFile,
    files: new Map([[skillFile, content], ...beside.files]),
    findings: beside.findings,
  };
  const judges = options.judges ?? judgesHere;
  const read = await readPackage(pkg, {
    root,
    scope: options.scope ?? "project",
    baseDirectory: directory,
    fallbackName: directoryNameOf(candidate, root),
    needsTrust: options.needsTrust ?? false,
    scans: false,
    judge: (job) => judges.skill({ ...job, now: NEVER }),
  });
  if (read.found === null) return skipped(read.diagnostics);
  const kept = (await options.keep?.(read, read.found)) ?? read.found;
  if ("severity" in kept) return skipped([...read.diagnostics, ...located([kept], candidate)]);
  return (definitions) => {
    definitions.diagnostics.push(...read.diagnostics);
    definitions.skills.push(kept);
  };
}

function skipped(diagnostics: readonly Diagnostic[]): Add {
  return (definitions) => {
    definitions.diagnostics.push(...diagnostics);
    definitions.skipped.skills += 1;
  };
}

/** Only the scanner asks for the time. */
const NEVER = new Date(0);

async function readAgent(item: Item, content: Uint8Array | Finding): Promise<Add> {
  const { root, candidate, options } = item;
  const facts = agentFactsOf(candidate.file, directoryNameOf(candidate, root));
  const judges = options.judges ?? judgesHere;
  const { file } = candidate;
  const scan = options.scannedAt === undefined ? null : { file, now: options.scannedAt };
  const judgement: AgentJudgement =
    content instanceof Uint8Array
      ? await judges.agent({ bytes: content, facts, scan })
      : { parsed: { kind: "skipped", findings: [content] }, report: null };
  return (definitions) => addAgent(definitions, judgement, item);
}

function addAgent(
  definitions: Definitions,
  { parsed, report }: AgentJudgement,
  { root, candidate, options }: Item,
): void {
  if (parsed.kind === "not-an-agent") {
    if (basename(candidate.file).toLowerCase() === "readme.md") return;
    definitions.diagnostics.push(...located([NO_FRONTMATTER], candidate));
    return;
  }
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
      ...(report?.verdict === "blocked" ? { blocked: true } : {}),
    },
    stored: agent,
    report,
  });
}

const NO_FRONTMATTER = warningFinding(
  "not_an_agent",
  "the file is left out: it has no frontmatter, so it is not an agent; begin it with a line ---, its fields and another ---",
);

/** The bytes of a file, or why they cannot be had. */
export async function readCandidate(candidate: Candidate): Promise<Uint8Array | Finding> {
  if (candidate.problem !== null) return candidate.problem;
  try {
    let sizeBytes = 0;
    const bytes = await readFileIf(candidate.path, (size) => {
      sizeBytes = size;
      return size <= MAX_FILE_BYTES;
    });
    return bytes ?? fileTooLarge(sizeBytes);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return errorFinding("unreadable_file", `the file cannot be read: ${code}`);
  }
}

/** A skill file with what it cannot be read without; a `prompt.md` that cannot be had counts as missing. */
export async function readWithPrompt(
  { path }: Candidate,
  content: Uint8Array,
): Promise<{ skillFile: string; files: ReadonlyMap<string, Uint8Array> }> {
  const skillFile = basename(path);
  const files = new Map([[skillFile, content]]);
  if (skillFile !== LEGACY_FILE) return { skillFile, files };
  const prompt = join(dirname(path), LEGACY_PROMPT);
  const text = await readFileIf(prompt, (size) => size <= MAX_FILE_BYTES).catch(() => null);
  if (text !== null) files.set(LEGACY_PROMPT, text);
  return { skillFile, files };
}

export function located(findings: readonly Finding[], candidate: Candidate): Diagnostic[] {
  return findings.map((finding) => ({ ...finding, file: candidate.file }));
}

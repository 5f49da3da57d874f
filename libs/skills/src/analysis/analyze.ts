import type { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import { agentFactsOf } from "../agents/agent-facts.ts";
import { parseAgentFile, type ParsedAgent } from "../agents/agent-file.ts";
import type { Finding } from "../finding.ts";
import { scanSkill } from "../scan/scan-skill.ts";
import { parseSkill } from "../skill/parse-skill.ts";
import type { SkillContent } from "../skill/skill-content.ts";
import { unreadSkill, type ParsedSkill } from "../skill/skill-file.ts";
import { NO_SETTINGS, scannerOf, type ScanSettings } from "./scan-settings.ts";

/** A job: everything that costs time in proportion to the files of one definition. It can be sent to another thread. */
export interface Job<K extends JobKind = JobKind> {
  readonly kind: K;
  /** The file among `files` that makes them a skill or an agent. */
  readonly mainFile: string;
  /** The name of a definition that has none. */
  readonly directoryName: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** The version that the scan report is bound to; null disables the scan. */
  readonly version: string | null;
  readonly now: Date;
  /** The operator's settings. */
  readonly settings?: ScanSettings;
}

type JobKind = "skill" | "agent";

interface ParsedOf {
  readonly skill: ParsedSkill;
  readonly agent: ParsedAgent;
}

export interface Analysis<K extends JobKind = JobKind> {
  readonly parsed: ParsedOf[K];
  /** Null when no scan was requested, or when the definition does not load. */
  readonly report: ScanReport | null;
}

/** Reads untrusted files. The promise never rejects because of their content. */
export interface Analyzer {
  analyze<K extends JobKind>(job: Job<K>): Promise<Analysis<K>>;
}

/** Reads in the calling thread, where a parse that takes long cannot be ended: use it for trusted files, or where only the person who chose the files waits. */
export const analyzerHere: Analyzer = { analyze: (job) => Promise.resolve(analyze(job)) };

/**
 * Parses a definition, and scans it. An agent's file is scanned as the text of a skill is: its prompt is no less of an
 * instruction.
 */
export function analyze<K extends JobKind>(job: Job<K>): Analysis<K> {
  const analysis = isSkill(job) ? analyzeSkill(job) : analyzeAgent(job);
  return analysis as Analysis<K>; // of the job's own kind
}

/** The result for files that could not be read to their end. */
export function unreadable(kind: JobKind, problem: Finding): Analysis {
  const skipped = { kind: "skipped" as const, findings: [problem] };
  return { parsed: kind === "agent" ? skipped : unreadSkill(problem), report: null };
}

function analyzeSkill(job: Job): Analysis<"skill"> {
  const { version } = job;
  const parsed = parseSkill(job, job.directoryName);
  const { skill, metadata } = parsed;
  if (skill === null || version === null) return { parsed, report: null };
  return { parsed, report: scan(job, { skill, metadata, name: skill.name, version }) };
}

function analyzeAgent(job: Job): Analysis<"agent"> {
  const { mainFile, files, version } = job;
  const facts = agentFactsOf(mainFile, job.directoryName);
  const parsed = parseAgentFile(files.get(mainFile) ?? new Uint8Array(), facts);
  if (parsed.kind !== "agent" || version === null) return { parsed, report: null };
  // A skill's fields request capabilities and an agent's fields grant them, so an agent's fields are compared as fields and
  // produce no findings.
  const given = { skill: null, metadata: null, name: parsed.agent.name, version };
  return { parsed, report: scan(job, given) };
}

function scan(
  { kind, mainFile, files, now, settings = NO_SETTINGS }: Job,
  given: {
    readonly skill: SkillContent | null;
    readonly metadata: ParsedSkill["metadata"];
    readonly name: string;
    readonly version: string;
  },
): ScanReport {
  const { skill, metadata, name, version } = given;
  const main = files.get(mainFile);
  if (main === undefined) throw new Error(`${mainFile} is not among the files`);
  const others = [...files].filter(([path]) => path !== mainFile);
  const report = scanSkill({
    files: [[mainFile, main] as const, ...others].map(([path, content]) => ({ path, content })),
    skill,
    metadata,
    ...(skill === null ? {} : { written: writtenOf(skill) }),
    digest: version,
    now,
    indicators: settings.indicators,
    suppressions: settings.suppressions
      .filter((one) => one[kind] === name)
      .map((one) => one.suppression),
  });
  return { ...report, scanner: scannerOf(settings) };
}

/** Returns the frontmatter facts that the scanner needs beside the skill's fields. */
export function writtenOf({ record }: SkillContent): { name: string | null; hasHooks: boolean } {
  const hasHooks = record !== undefined && record.hooks !== null;
  return { name: record?.displayName ?? null, hasHooks };
}

function isSkill(job: Job): boolean {
  return job.kind === "skill";
}

export type Packed = Readonly<ReturnType<typeof packed>>;

/** A job and its transferable memory. The bytes are copied, since a view may be a small part of a large archive. */
export function packed(job: Job) {
  const files = new Map([...job.files].map(([path, bytes]) => [path, new Uint8Array(bytes)]));
  const memory = [...files.values()].map(({ buffer }) => buffer);
  const sizeBytes = memory.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { message: { ...job, files }, memory, sizeBytes };
}

import type { ScanReport } from "@switchyard/contracts/skill-scan";
import { parseAgentFile, type AgentFileFacts, type ParsedAgent } from "../agents/agent-file.ts";
import type { Indicators } from "../scan/indicators.ts";
import type { Suppression } from "../scan/read-suppressions.ts";
import { scanSkill } from "../scan/scan-skill.ts";
import { scannerOf } from "./suppressing-judges.ts";

/** Everything about one agent file that costs time for what it holds. Can be sent to another thread. */
export interface AgentJob {
  readonly bytes: Uint8Array;
  readonly facts: AgentFileFacts;
  /** What the report calls the file, and when it is made; null: no scan. */
  readonly scan: { readonly file: string; readonly now: Date } | null;
  /** Of all skills and agents; those of others do nothing here. */
  readonly suppressions?: readonly Suppression[];
  /** What the operator knows of places and files. */
  readonly indicators?: Indicators | null;
}

export interface AgentJudgement {
  readonly parsed: ParsedAgent;
  /** Null when no scan was asked for, or when the file does not load. */
  readonly report: ScanReport | null;
}

/** Parses an agent file, and scans it as the text of a skill is scanned: an agent's prompt is no less of an instruction. */
export function judgeAgent({
  bytes,
  facts,
  scan,
  suppressions = [],
  indicators = null,
}: AgentJob): AgentJudgement {
  const parsed = parseAgentFile(bytes, facts);
  if (parsed.kind !== "agent" || scan === null) return { parsed, report: null };
  const { name, digest } = parsed.agent;
  const report = scanSkill({
    files: [{ path: scan.file, content: bytes }],
    // What a skill's fields ask for, an agent's grant: they are compared as fields, not found as findings.
    skill: null,
    metadata: null,
    digest,
    now: scan.now,
    indicators,
    suppressions: suppressions.filter(({ agent }) => agent === name).map((one) => one.suppression),
  });
  return { parsed, report: { ...report, scanner: scannerOf({ suppressions, indicators }) } };
}

import { AgentSummary } from "@switchyard/contracts/agents";
import type { AgentImportCounts, ImportedAgent } from "@switchyard/contracts/agent-store";
import type { WithheldReason } from "@switchyard/contracts/definition-store";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { ParsedAgent } from "../agents/agent-file.ts";
import { errorFinding, infoFinding, type Finding } from "../finding.ts";
import { admit, type WithheldEntry } from "../store/admission.ts";
import { planCatalogue, type CataloguePlan } from "../store/catalogue-plan.ts";
import type { NamedAgents } from "../store/catalogue.ts";
import {
  BUILT_IN_ROOT,
  IMPORTED_ROOT,
  type AgentEntry,
  type StoredAgent,
} from "../store/definition.ts";
import { duplicateName, takenBefore } from "./duplicate-name.ts";

export interface ReadAgent {
  readonly file: string;
  readonly parsed: ParsedAgent;
  /** Null when it was not scanned. */
  readonly report: ScanReport | null;
}

export interface AgentUploadPlan {
  readonly agents: CataloguePlan<AgentEntry["summary"]>;
  /** What is to be stored; what nothing withholds becomes the current imported version of its name. */
  readonly stored: readonly PlannedAgent[];
  readonly withheld: { readonly set: WithheldEntry[]; readonly remove: WithheldEntry[] };
  readonly outcomes: readonly ImportedAgent[];
}

export interface PlannedAgent {
  readonly entry: AgentEntry;
  readonly agent: StoredAgent;
  readonly report: ScanReport | null;
  readonly withheld: WithheldReason | null;
}

export interface AgentLimits {
  /** Paths of the roots, the first first: what lies there goes before what clients send. */
  readonly roots: readonly string[];
  /** Names that clients may have brought in all. */
  readonly maxAgents: number;
  /** Adds the scanner's report to each outcome. */
  readonly withReports: boolean;
  /** Of an import that comes in parts. */
  readonly importId?: string | undefined;
}

/** Decides what an upload does to the catalogue. `current` holds at least the names of the files. */
export function planAgents(
  current: Omit<NamedAgents, "revision">,
  files: readonly ReadAgent[],
  limits: AgentLimits,
): AgentUploadPlan {
  const taken = new Map<string, string>();
  const { importId } = limits;
  const waiting = current.withheld.flatMap(({ kind, entry }) =>
    kind === "agent" && entry.root === IMPORTED_ROOT ? [entry] : [],
  );
  const before = takenBefore([...current.imported, ...waiting], importId);
  const known = new Set(current.imported.map(({ summary }) => summary.name));
  const stored: PlannedAgent[] = [];
  let size = current.size;
  const outcomes = files.map(({ file, parsed, report }): ImportedAgent => {
    if (parsed.kind === "not-an-agent") return { ...nothing(file), outcome: "not_an_agent" };
    if (parsed.kind === "skipped") return skipped(file, parsed.findings);
    const { name } = parsed.agent;
    // The same file again is the same part again.
    const first = taken.get(name) ?? (before.get(name) === file ? undefined : before.get(name));
    if (first !== undefined) return skipped(file, [duplicateName(name, first)]);
    if (!known.has(name) && size >= limits.maxAgents) {
      const message = `the importer holds ${limits.maxAgents} imported agents, its limit; remove some`;
      return skipped(file, [errorFinding("catalogue_full", message)]);
    }
    if (!known.has(name)) size += 1;
    taken.set(name, file);
    const agent: StoredAgent = { ...parsed.agent, source: "imported" };
    const blocked = report?.verdict === "blocked" ? { blocked: true } : {};
    const part = importId === undefined ? {} : { importId };
    const marks = { ...blocked, ...part };
    const entry = { root: IMPORTED_ROOT, file, summary: AgentSummary.parse(agent), ...marks };
    const withheld = admit("agent", entry, current.trust);
    stored.push({ entry, agent, report, withheld });
    const listed = current.listed.find(({ summary }) => summary.name === name);
    const scan = limits.withReports && report !== null ? { scan: report } : {};
    return { ...loaded(entry, listed, parsed.findings), withheld, ...scan };
  });
  const admitted = stored.filter(({ withheld }) => withheld === null);
  const names = new Set(admitted.map(({ agent }) => agent.name));
  const agents = planCatalogue({
    current: current.listed.filter(({ summary }) => names.has(summary.name)),
    found: admitted.map(({ entry }) => entry),
    isInScope: ({ root }) => root === IMPORTED_ROOT,
    roots: limits.roots,
  });
  const withheld = {
    set: stored.flatMap(({ entry, withheld: reason }) =>
      reason === null ? [] : [{ kind: "agent" as const, reason, entry }],
    ),
    // What waited under these names is replaced by what came now.
    remove: current.withheld.filter(
      ({ kind, entry }) =>
        kind === "agent" && entry.root === IMPORTED_ROOT && taken.has(entry.summary.name),
    ),
  };
  return { agents, stored, withheld, outcomes };
}

/** Counts that add up: `found` = `loaded` + `skipped`, and the reasons are as many as were skipped. */
export function agentCounts(agents: readonly ImportedAgent[]): AgentImportCounts {
  const failed = agents.filter(({ outcome }) => outcome === "skipped");
  const reasons: Record<string, number> = {};
  for (const { diagnostics } of failed) {
    const code = diagnostics.find(({ severity }) => severity === "error")?.code ?? "unknown";
    reasons[code] = (reasons[code] ?? 0) + 1;
  }
  const good = agents.filter(({ outcome }) => outcome === "loaded").length;
  const waiting = agents.filter(({ withheld }) => withheld !== null).length;
  return {
    found: good + failed.length,
    loaded: good,
    skipped: failed.length,
    withheld: waiting,
    reasons,
  };
}

function loaded(
  { file, summary }: AgentEntry,
  listed: AgentEntry | undefined,
  findings: readonly Finding[],
): ImportedAgent {
  const { name, description, digest } = summary;
  const isHidden = listed !== undefined && ![IMPORTED_ROOT, BUILT_IN_ROOT].includes(listed.root);
  const remarks = [...findings];
  if (isHidden) {
    const message = `${listed.file} in ${listed.root} has the name ${name}; the imported one is listed when that goes`;
    remarks.push(infoFinding("shadowed", message));
  }
  if (listed?.root === BUILT_IN_ROOT) {
    const message = `takes the place of the built-in agent ${name}`;
    remarks.push(infoFinding("overrides_built_in", message));
  }
  const change = isHidden
    ? "hidden"
    : listed === undefined
      ? "new"
      : listed.summary.digest === digest
        ? "same"
        : "changed";
  const diagnostics = located(remarks, file);
  return {
    file,
    name,
    description,
    digest,
    outcome: "loaded",
    change,
    withheld: null,
    diagnostics,
  };
}

function skipped(file: string, findings: readonly Finding[]): ImportedAgent {
  return { ...nothing(file), diagnostics: located(findings, file) };
}

function nothing(file: string): ImportedAgent {
  return {
    file,
    name: null,
    description: "",
    digest: null,
    outcome: "skipped",
    change: null,
    withheld: null,
    diagnostics: [],
  };
}

/** More of them in one file say nothing new, and a reply has to fit into a message. */
const MAX_DIAGNOSTICS = 20;

/** Errors first, so that what is cut off is never the reason why a file was skipped. */
function located(findings: readonly Finding[], file: string): ImportedAgent["diagnostics"] {
  const ranks = { error: 0, warning: 1, info: 2 };
  return findings
    .toSorted((a, b) => ranks[a.severity] - ranks[b.severity])
    .slice(0, MAX_DIAGNOSTICS)
    .map((finding) => Object.assign({ file }, finding));
}

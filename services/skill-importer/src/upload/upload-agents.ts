import { basename, dirname } from "node:path/posix";
import type { AgentImportCounts, ImportedAgent } from "@switchyard/contracts/agent-store";
import type { Provenance } from "@switchyard/contracts/definition-store";
import { agentFactsOf } from "../agents/agent-facts.ts";
import { saveAgentVersion } from "../store/save-agent-version.ts";
import { errorFinding, type Finding } from "../finding.ts";
import type { Judges } from "../judge/judge-job.ts";
import { pathProblemOf } from "../source/safe-path.ts";
import type { Announcement } from "../store/catalogue-commit.ts";
import { committedAgents, type NamedAgents } from "../store/catalogue.ts";
import type { ChangeAgentParts } from "../store/change-agent.ts";
import { agentCounts, planAgents, type AgentUploadPlan, type ReadAgent } from "./plan-agents.ts";

export interface UploadAgentsParts extends ChangeAgentParts {
  readonly judges: Judges;
}

export interface AgentUpload {
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** About the source as a whole. */
  readonly findings: readonly Finding[];
  readonly provenance: Omit<Provenance, "at">;
  readonly dryRun: boolean;
  /** Adds the scanner's whole report to each agent. */
  readonly withReports: boolean;
  /** Of an import that comes in parts. */
  readonly importId?: string | undefined;
}

export interface AgentUploadReport {
  readonly counts: AgentImportCounts;
  readonly agents: ImportedAgent[];
  readonly diagnostics: ImportedAgent["diagnostics"];
}

/** Names that clients may bring in, in all: every list of agents is one reply. */
const MAX_AGENTS = 5_000;
const MAX_ATTEMPTS = 20;

/** Imports agent files that a client sent: versions first, then one commit makes them current. */
export async function uploadAgents(
  parts: UploadAgentsParts,
  upload: AgentUpload,
): Promise<AgentUploadReport> {
  const files = await Promise.all(upload.files.map((file) => read(parts, file)));
  const names = files.flatMap(({ parsed }) => (parsed.kind === "agent" ? parsed.agent.name : []));
  const { outcomes } = upload.dryRun
    ? planned(parts, { current: await load(parts, names), files, upload })
    : await store(parts, { files, names, upload });
  const { label } = upload.provenance;
  const diagnostics = upload.findings.map((finding) => ({ ...finding, file: label }));
  return { counts: agentCounts(outcomes), agents: [...outcomes], diagnostics };
}

async function read(
  { judges, now }: UploadAgentsParts,
  { path, bytes }: AgentUpload["files"][number],
): Promise<ReadAgent> {
  const file = path.replaceAll("\\", "/");
  const problem = pathProblemOf(file);
  if (problem !== null) {
    const shown = JSON.stringify(file.slice(0, 120));
    const findings = [errorFinding(problem, `the file name ${shown} cannot be used; rename it`)];
    return { file, parsed: { kind: "skipped", findings }, report: null };
  }
  const facts = agentFactsOf(file, basename(dirname(file)));
  return { file, ...(await judges.agent({ bytes, facts, scan: { file, now: now() } })) };
}

async function store(
  parts: UploadAgentsParts,
  given: { files: readonly ReadAgent[]; names: readonly string[]; upload: AgentUpload },
): Promise<AgentUploadPlan> {
  const { files, names, upload } = given;
  const at = parts.now().toISOString();
  const provenance = { ...upload.provenance, at };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    // Each try plans against what another import may have written since.
    const current = await load(parts, names);
    const plan = planned(parts, { current, files, upload });
    for (const { agent, report } of plan.stored) {
      await saveAgentVersion(parts, { agent, report }, provenance);
    }
    const done = await parts.store.commit(committedAgents(current), {
      skills: { set: [], remove: [], announce: [], hidden: [] },
      agents: plan.agents,
      importedAgents: { set: admittedOf(plan).map(({ entry }) => entry), remove: [] },
      withheld: plan.withheld,
      announcements: announcementsOf(parts, { plan, at, upload }),
    });
    if (!done) continue;
    await parts.announce();
    return plan;
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one import`);
}

function planned(
  { roots }: UploadAgentsParts,
  given: { current: NamedAgents; files: readonly ReadAgent[]; upload: AgentUpload },
): AgentUploadPlan {
  const { current, files, upload } = given;
  const { withReports, importId } = upload;
  return planAgents(current, files, { roots, maxAgents: MAX_AGENTS, withReports, importId });
}

function admittedOf({ stored }: AgentUploadPlan): AgentUploadPlan["stored"] {
  return stored.filter(({ withheld }) => withheld === null);
}

function load({ store: catalogue }: UploadAgentsParts, names: readonly string[]) {
  return catalogue.loadAgents(names.length === 0 ? ["-"] : [...new Set(names)]);
}

function announcementsOf(
  { newId }: UploadAgentsParts,
  { plan, at, upload }: { plan: AgentUploadPlan; at: string; upload: AgentUpload },
): Announcement[] {
  const { label, by } = upload.provenance;
  const { found, loaded, skipped } = agentCounts(plan.outcomes);
  return [
    ...plan.agents.announce.map(
      ({ summary }) => ({ id: newId(), at, kind: "agent", summary }) as const,
    ),
    {
      id: newId(),
      at,
      kind: "import",
      label,
      by,
      imported: loaded,
      failed: skipped,
      totalScanned: found,
    },
  ];
}

import type { Provenance } from "@switchyard/contracts/definition-store";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { AgentVersionStore } from "./agent-version-store.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import type { StoredAgent } from "./definition.ts";

/** Stores an agent that can be used, with its record; nobody sees it before it becomes current. */
export async function saveAgentVersion(
  { store, versions }: { store: Pick<CatalogueStore, "saveAgent">; versions: AgentVersionStore },
  { agent, report }: { agent: StoredAgent; report: ScanReport | null },
  provenance: Provenance,
): Promise<void> {
  const { name, digest } = agent;
  await store.saveAgent(agent);
  const verdict = report === null ? null : { scanner: report.scanner, verdict: report.verdict };
  await versions.save(name, { digest, provenance, verdict, supersededAt: null }, report);
}

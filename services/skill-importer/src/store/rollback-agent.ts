import type { AgentVersion } from "@switchyard/contracts/agent-store";
import { AgentSummary } from "@switchyard/contracts/agents";
import { fresh, MAX_ATTEMPTS, type ChangeAgentParts } from "./change-agent.ts";
import type { Announcement } from "./catalogue-commit.ts";
import { planCatalogue } from "./catalogue-plan.ts";
import { committedAgents, type NamedAgents } from "./catalogue.ts";
import { BUILT_IN_ROOT, IMPORTED_ROOT, type AgentEntry, type StoredAgent } from "./definition.ts";

export type RollbackAgentResult =
  | { readonly kind: "rolled-back"; readonly digest: string; readonly before: string | null }
  | { readonly kind: "managed-by-files"; readonly file: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "unknown-version" }
  | { readonly kind: "blocked"; readonly digest: string };

interface Target {
  readonly digest: string;
  readonly agent: StoredAgent;
  /** What was current until now. */
  readonly before: string | null;
  readonly entry: AgentEntry;
}

/** Makes an older version the current one. It is chosen by the caller, or is the one before the current. */
export async function rollbackAgent(
  parts: ChangeAgentParts,
  name: string,
  wanted: string | undefined,
): Promise<RollbackAgentResult> {
  const { store, versions } = parts;
  const all = await versions.list(name);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const current = await store.loadAgents([name]);
    const chosen = await choose(parts, current, { name, wanted, all });
    if ("kind" in chosen) return chosen;
    const { digest, before, agent } = chosen;
    // Before it is current: what is listed never has an end.
    await store.saveAgent(agent);
    await versions.restore(name, digest);
    if (!(await commit(parts, current, chosen.entry))) continue;
    await parts.announce();
    return { kind: "rolled-back", digest, before };
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one change`);
}

async function choose(
  { store }: ChangeAgentParts,
  { listed, imported, trust }: NamedAgents,
  asked: { name: string; wanted: string | undefined; all: readonly AgentVersion[] },
): Promise<Target | RollbackAgentResult> {
  const { name, wanted, all } = asked;
  const [current] = listed;
  if (current !== undefined && ![IMPORTED_ROOT, BUILT_IN_ROOT].includes(current.root))
    return { kind: "managed-by-files", file: current.file };
  if (all.length === 0) return { kind: "unknown" };
  const [sent] = imported;
  const before = sent?.summary.digest ?? null;
  const target = all.find(({ digest, verdict }) =>
    wanted === undefined ? digest !== before && verdict?.verdict !== "blocked" : digest === wanted,
  );
  const stored = target === undefined ? null : await store.readAgent(name, target.digest);
  if (target === undefined || stored === null) return { kind: "unknown-version" };
  const { digest, verdict } = target;
  const isTrusted = trust.some(
    (record) =>
      record.kind === "agent" &&
      record.name === name &&
      record.version === digest &&
      record.blocked,
  );
  if (verdict?.verdict === "blocked" && !isTrusted) return { kind: "blocked", digest };
  const agent = { ...stored, source: "imported" as const };
  const file = sent?.file ?? `agents/${name}`;
  const entry = { root: IMPORTED_ROOT, file, summary: AgentSummary.parse(agent) };
  return { digest, agent, before, entry };
}

function commit(
  parts: ChangeAgentParts,
  current: NamedAgents,
  entry: AgentEntry,
): Promise<boolean> {
  const agents = planCatalogue({
    current: current.listed,
    found: [entry],
    isInScope: ({ root }) => root === IMPORTED_ROOT,
    roots: parts.roots,
  });
  return parts.store.commit(committedAgents(current), {
    skills: { set: [], remove: [], announce: [], hidden: [] },
    agents,
    importedAgents: { set: [entry], remove: [] },
    announcements: agents.announce.map(({ summary }): Announcement => {
      const { id, at } = fresh(parts);
      return { id, at, kind: "agent", summary };
    }),
  });
}

import { AgentSummary } from "@switchyard/contracts/agents";
import { builtInAgents } from "../agents/built-in-agents.ts";
import type { AgentVersionStore } from "./agent-version-store.ts";
import { planCatalogue } from "./catalogue-plan.ts";
import type { Announcement } from "./catalogue-commit.ts";
import { committedAgents } from "./catalogue.ts";
import type { CatalogueStore } from "./catalogue-store.ts";
import { BUILT_IN_ROOT, IMPORTED_ROOT, type AgentEntry } from "./definition.ts";

export interface ChangeAgentParts {
  readonly store: CatalogueStore;
  readonly versions: AgentVersionStore;
  /** Paths of the roots, the first first. */
  readonly roots: readonly string[];
  readonly now: () => Date;
  readonly newId: () => string;
  readonly announce: () => Promise<void>;
}

export type RemoveAgentResult =
  | { readonly kind: "removed"; readonly digest: string; readonly current: string | null }
  | { readonly kind: "managed-by-files"; readonly file: string }
  | { readonly kind: "built-in" }
  | { readonly kind: "unknown" };

export const MAX_ATTEMPTS = 20;

/** Takes an imported agent off the list; a built-in one of the name is listed again. What a file says stays. */
export async function removeAgent(
  parts: ChangeAgentParts,
  name: string,
): Promise<RemoveAgentResult> {
  const { store, roots } = parts;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const loaded = await store.loadAgents([name]);
    const { listed, imported } = loaded;
    const [sent] = imported;
    if (sent === undefined) return withoutImport(listed[0]);
    const builtIn = builtInAgents.filter((agent) => agent.name === name);
    for (const agent of builtIn) await store.saveAgent(agent);
    const agents = planCatalogue({
      current: listed,
      found: builtIn.map((agent) => ({
        root: BUILT_IN_ROOT,
        file: agent.name,
        summary: AgentSummary.parse(agent),
      })),
      isInScope: ({ root }) => root === IMPORTED_ROOT || root === BUILT_IN_ROOT,
      roots,
    });
    const { digest } = sent.summary;
    const done = await store.commit(committedAgents(loaded), {
      skills: { set: [], remove: [], announce: [], hidden: [] },
      agents,
      importedAgents: { set: [], remove: [name] },
      announcements: [
        ...agents.announce.map(({ summary }): Announcement => {
          return { ...fresh(parts), kind: "agent", summary };
        }),
        ...agents.remove.map((gone): Announcement => {
          return { ...fresh(parts), kind: "agent-removed", name: gone, digest };
        }),
      ],
    });
    if (!done) continue;
    await parts.announce();
    const now = agents.remove.length > 0 ? undefined : (agents.set[0] ?? listed[0]);
    return { kind: "removed", digest, current: now?.summary.digest ?? null };
  }
  throw new Error(`the catalogue changed ${MAX_ATTEMPTS} times during one change`);
}

function withoutImport(listed: AgentEntry | undefined): RemoveAgentResult {
  if (listed === undefined) return { kind: "unknown" };
  if (listed.root === BUILT_IN_ROOT) return { kind: "built-in" };
  return { kind: "managed-by-files", file: listed.file };
}

export function fresh({ newId, now }: ChangeAgentParts): { id: string; at: string } {
  return { id: newId(), at: now().toISOString() };
}

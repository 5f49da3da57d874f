import type { ImportedAgent } from "@switchyard/contracts/skill-importer/agent-store";
import type { ImportedSkill } from "@switchyard/contracts/skill-importer/skill-store";
import type { Diagnostic, SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import type { Machine } from "../skill/check-dependencies.ts";
import { dependenciesOf } from "../skill/dependencies-of.ts";
import type { SentOutcome } from "./plan-sent.ts";

/** More diagnostics of one file add no information, and a reply has to fit into a message. */
const MAX_DIAGNOSTICS = 20;

/** Returns the reply's entry for one skill. */
export async function importedSkill(
  outcome: SentOutcome,
  {
    targets,
    withReports,
    machine,
  }: {
    readonly targets: readonly SkillTarget[];
    readonly withReports: boolean;
    readonly machine: Machine;
  },
): Promise<ImportedSkill> {
  const { definition, read } = outcome;
  const dependencies =
    definition?.kind === "skill" ? await dependenciesOf(definition.stored.metadata, machine) : null;
  const { conformance } = read;
  return {
    ...importedItem(outcome, withReports),
    version: definition?.version ?? null,
    outcome: outcome.outcome === "not_an_agent" ? "skipped" : outcome.outcome,
    dependenciesMet: dependencies?.met ?? null,
    dependencyWarnings: dependencies?.warnings ?? [],
    ...(targets.length === 0
      ? {}
      : { conformance: conformance.filter(({ target }) => targets.includes(target)) }),
  };
}

/** Returns the reply's entry for one agent. */
export function importedAgent(outcome: SentOutcome, withReports: boolean): ImportedAgent {
  return {
    ...importedItem(outcome, withReports),
    digest: outcome.definition?.version ?? null,
    outcome: outcome.outcome === "repaired" ? "loaded" : outcome.outcome,
  };
}

function importedItem(outcome: SentOutcome, withReports: boolean) {
  const { definition, read, change, withheld, diagnostics } = outcome;
  const report = definition?.report ?? null;
  return {
    file: read.file,
    name: definition?.name ?? null,
    description: definition?.entry.summary.description ?? "",
    change,
    withheld,
    diagnostics: worstFirst(diagnostics).slice(0, MAX_DIAGNOSTICS),
    ...(withReports && report !== null ? { scan: report } : {}),
  };
}

/** Sorts the worst first, so that the limit never cuts off the reason why a file was skipped. */
function worstFirst(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const ranks = { error: 0, warning: 1, info: 2 };
  return diagnostics.toSorted((a, b) => ranks[a.severity] - ranks[b.severity]);
}

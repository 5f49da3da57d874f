import { errorFinding, type Finding } from "../finding.ts";
import type { Entry } from "../store/definition.ts";

/** The names that earlier parts of an import have brought in, each with its file. */
export function takenBefore(
  entries: readonly Entry<{ name: string; digest: string }>[],
  importId: string | undefined,
): ReadonlyMap<string, string> {
  if (importId === undefined) return new Map();
  const before = entries.filter((entry) => entry.importId === importId);
  return new Map(before.map(({ summary, file }) => [summary.name, file]));
}

/** Why the second of two definitions with one name is skipped. */
export function duplicateName(name: string, first: string): Finding {
  return errorFinding(
    "duplicate_name",
    `the name ${name} belongs to ${first}, which comes first; rename one of them`,
  );
}

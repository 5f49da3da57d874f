import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";

/**
 * Reports for each definition whether an earlier one has the same name. Dry runs need it, because they store nothing by which the
 * importer could detect repeated names.
 */
export function firstNames(): (given: { name: string | null; file: string }) => Diagnostic | null {
  const seen = new Map<string, string>();
  return ({ name, file }) => {
    if (name === null) return null;
    const first = seen.get(name);
    if (first === undefined) {
      seen.set(name, file);
      return null;
    }
    const message = `the name ${name} belongs to ${first}, which comes first; rename one of them`;
    return { severity: "error", code: "duplicate_name", message, file, line: null, column: null };
  };
}

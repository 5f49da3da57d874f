import type { z } from "zod";
import type { BundleFile } from "../schema/bundle.ts";
import { OPERATORS } from "../schema/condition-schema.ts";
import { nearestName } from "@switchyard/contracts/nearest-name";
import type { ShapeProblem } from "@switchyard/service/yaml-file";

/** Returns the keys that a mapping at a path may have. */
export type KnownKeys = (path: readonly PropertyKey[]) => readonly string[];

/** Explains a problem that a schema found. The issues must contain their input (`reportInput`). */
export function explainIssue(issue: z.core.$ZodIssue, knownKeys: KnownKeys): ShapeProblem[] {
  const label = labelOf(issue.path);
  if (issue.code === "unrecognized_keys") {
    const known = knownKeys(issue.path);
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: `unknown key ${JSON.stringify(key)}${under(label)}; ${keyHint(key, known)}`,
    }));
  }
  if (issue.path.length > 0 && isMissing(issue)) {
    return [{ path: issue.path, message: `${label} is missing` }];
  }
  if (isUnknownOperator(issue)) {
    const message = `${label} must be one of ${OPERATORS.join(", ")}${operatorHint(issue.input)}`;
    return [{ path: issue.path, message }];
  }
  return [
    { path: issue.path, message: label === "" ? issue.message : `${label} ${issue.message}` },
  ];
}

/** The sections whose entries are identified by their ids alone, so no two entries of a section may share one. */
export const WITH_IDS = [
  "rules",
  "layers",
  "budgets",
  "starters",
  "rights",
  "approvers",
  "groups",
  "people",
  "deputies",
  "results",
] as const;

export function repeatedIds(file: BundleFile): ShapeProblem[] {
  return WITH_IDS.flatMap((section) => {
    const first = new Map<string, number>();
    return (file[section] ?? []).flatMap(({ id }, index): ShapeProblem[] => {
      const earlier = first.get(id);
      if (earlier === undefined) {
        first.set(id, index);
        return [];
      }
      const message = `${section}[${index}].id ${JSON.stringify(id)} is already the id of ${section}[${earlier}]`;
      return [{ path: [section, index, "id"], message }];
    });
  });
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  const input = isUnknownOperator(issue) ? operatorOf(issue.input) : issue.input;
  return input === undefined;
}

/** zod reports it with the path of `op` and the whole condition as the input. */
function isUnknownOperator(issue: z.core.$ZodIssue): boolean {
  return issue.code === "invalid_union" && issue.path.at(-1) === "op";
}

function operatorHint(condition: unknown): string {
  const operator = operatorOf(condition);
  const nearest = typeof operator === "string" ? nearestName(operator, OPERATORS) : null;
  return nearest === null ? "" : `; did you mean "${nearest}"?`;
}

function operatorOf(condition: unknown): unknown {
  const isMapping = typeof condition === "object" && condition !== null && "op" in condition;
  return isMapping ? condition.op : undefined;
}

function keyHint(key: string, known: readonly string[]): string {
  if (known.includes(key)) return "it does not go with this operator";
  const nearest = nearestName(key, known);
  return nearest === null ? `known keys are ${known.join(", ")}` : `did you mean "${nearest}"?`;
}

function under(label: string): string {
  return label === "" ? "" : ` in ${label}`;
}

function labelOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

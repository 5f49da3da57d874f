import { Plan } from "@switchyard/contracts/agent-runner/plan";
import { errorFinding, type Finding, type Position } from "../finding.ts";
import type { YamlValue } from "../frontmatter/yaml-value.ts";

/** Reads a `plan` that was parsed with the core schema; every mistake is reported with its position. */
export function readPlan(
  value: YamlValue,
  locate: (path: readonly PropertyKey[]) => Position,
): { plan: Plan } | { problems: Finding[] } {
  const parsed = Plan.safeParse(value);
  if (parsed.success) return { plan: parsed.data };
  const problems = parsed.error.issues.map((issue) => {
    const path = ["plan", ...issue.path];
    return errorFinding("invalid_plan", `${path.join(".")}: ${issue.message}`, locate(path));
  });
  return { problems };
}

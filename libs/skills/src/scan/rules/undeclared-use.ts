import type {
  ScanFinding,
  ScanSeverity,
  SkillCapabilities,
} from "@switchyard/contracts/skill-importer/skill-scan";
import { findingIn } from "../rule.ts";

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/;
const ENV = "metadata.openclaw.requires.env";

/** A group of uses: its code and severity, the names, what they are, and where a skill declares them. */
type Used = readonly [string, ScanSeverity, readonly string[], string, string];

/**
 * Finds uses in body and scripts that the frontmatter does not declare. Most skills declare nothing, which is worth only a note;
 * a skill that declares some needs and uses others deserves a review.
 */
export function undeclaredUse(
  { env, bins, tools, hosts }: SkillCapabilities,
  { file, declaresNeeds }: { file: string; declaresNeeds: boolean },
): ScanFinding[] {
  const weight = declaresNeeds ? "low" : "info";
  const secrets = env.undeclared.filter((name) => SECRET_NAME.test(name));
  const settings = env.undeclared.filter((name) => !SECRET_NAME.test(name));
  const used: readonly Used[] = [
    ["undeclared_secret", weight, secrets, "environment variables that hold secrets", ENV],
    ["undeclared_env", "info", settings, "environment variables", ENV],
    ["undeclared_bin", weight, bins.undeclared, "programs", "metadata.openclaw.requires.bins"],
    ["undeclared_tool", "low", tools.undeclared, "tools", "allowed-tools"],
    ["undeclared_host", "info", hosts.undeclared, "hosts", "metadata.openclaw.homepage or install"],
  ];
  return used
    .filter(([, , names]) => names.length > 0)
    .map(([code, severity, names, what, where]) =>
      findingIn(file, names.slice(0, 8).join(", "), {
        code,
        owasp: "AST03",
        severity,
        confidence: "medium",
        message: `uses ${names.length} ${what} that the frontmatter does not name`,
        advice: `name them in ${where}`,
      }),
    );
}

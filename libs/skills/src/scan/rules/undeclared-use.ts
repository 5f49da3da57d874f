import type {
  ScanFinding,
  ScanSeverity,
  SkillCapabilities,
} from "@switchyard/contracts/skill-scan";
import { findingIn } from "../rule.ts";

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/;
const ENV = "metadata.openclaw.requires.env";

/** A group of what is used: its code and weight, the names, what they are, and where a skill names them. */
type Used = readonly [string, ScanSeverity, readonly string[], string, string];

/**
 * What body and scripts use without the frontmatter saying so. Most skills declare nothing at all, which is
 * worth knowing and no more; one that declares some needs and uses others is worth a look.
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

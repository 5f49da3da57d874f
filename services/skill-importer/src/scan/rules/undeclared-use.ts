import type {
  ScanFinding,
  ScanSeverity,
  SkillCapabilities,
} from "@switchyard/contracts/skill-scan";
import { evidenceOf } from "../evidence.ts";

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/;

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
  return [
    ...about("undeclared_secret", secrets, {
      severity: weight,
      what: "environment variables that hold secrets",
      where: "metadata.openclaw.requires.env",
      file,
    }),
    ...about("undeclared_env", settings, {
      severity: "info",
      what: "environment variables",
      where: "metadata.openclaw.requires.env",
      file,
    }),
    ...about("undeclared_bin", bins.undeclared, {
      severity: weight,
      what: "programs",
      where: "metadata.openclaw.requires.bins",
      file,
    }),
    ...about("undeclared_tool", tools.undeclared, {
      severity: "low",
      what: "tools",
      where: "allowed-tools",
      file,
    }),
    ...about("undeclared_host", hosts.undeclared, {
      severity: "info",
      what: "hosts",
      where: "metadata.openclaw.homepage or install",
      file,
    }),
  ];
}

function about(
  code: string,
  names: readonly string[],
  {
    severity,
    what,
    where,
    file,
  }: { severity: ScanSeverity; what: string; where: string; file: string },
): ScanFinding[] {
  if (names.length === 0) return [];
  return [
    {
      code,
      owasp: "AST03",
      severity,
      confidence: "medium",
      blocks: false,
      file,
      line: null,
      column: null,
      evidence: evidenceOf(names.slice(0, 8).join(", ")),
      message: `uses ${names.length} ${what} that the frontmatter does not name`,
      advice: `name them in ${where}`,
    },
  ];
}

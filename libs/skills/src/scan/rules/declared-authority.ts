import type { ScanFinding } from "@switchyard/contracts/skill-importer/skill-scan";
import { z } from "zod";
import { findingIn, type RuleFacts } from "../rule.ts";

/** The authority that a skill requests in its frontmatter. */
export interface Declared {
  readonly allowedTools: readonly string[] | null;
  readonly always: boolean;
  readonly install: readonly unknown[];
  readonly hasHooks: boolean;
  readonly runsCommands: boolean;
}

const ASKS = { owasp: "AST03", severity: "low", confidence: "high" } as const;
const KNOWN_KINDS = new Set("brew node go uv download npm pip pipx apt cargo gem dnf".split(" "));

type Claim = readonly [facts: RuleFacts, evidence: string];

/** Findings for the authority that the frontmatter requests. Loading the skill grants none of it. */
export function declaredAuthority(declared: Declared, file: string): ScanFinding[] {
  const claims: (Claim | null)[] = [
    wideTools(declared.allowedTools ?? []),
    declared.always ? [ALWAYS, "always"] : null,
    declared.hasHooks ? [HOOKS, "hooks"] : null,
    declared.runsCommands ? [COMMANDS, "!`…`"] : null,
    ...declared.install.slice(0, 20).flatMap((entry) => installs(entry)),
  ];
  return claims
    .filter((claim) => claim !== null)
    .map(([facts, evidence]) => findingIn(file, evidence, facts));
}

const ALWAYS: RuleFacts = {
  ...ASKS,
  code: "always_on",
  message: "wants to be used always; this is ignored here",
  advice: "remove always",
};
const HOOKS: RuleFacts = {
  ...ASKS,
  code: "hooks",
  severity: "medium",
  message: "brings hooks, which other clients run by themselves; here they never run",
  advice: "read them before the skill is used elsewhere",
};
const COMMANDS: RuleFacts = {
  ...ASKS,
  code: "dynamic_context",
  message: "has commands that other clients run when the skill is loaded; here they are text",
  advice: "let the agent call a tool instead",
};

function wideTools(tools: readonly string[]): Claim | null {
  const wide = tools.find((tool) => /^(?:\*|Bash|Bash\(\*\)|execute_command)$/i.test(tool));
  if (wide === undefined) return null;
  const message = "asks for every command";
  const advice = "name the commands, such as Bash(git:*)";
  return [{ ...ASKS, code: "wide_tools", severity: "info", message, advice }, wide];
}

/** A value that is not text counts as empty. */
const InstallEntry = z
  .object({
    kind: z.string().trim().toLowerCase().catch(""),
    url: z.string().trim().catch(""),
  })
  .catch({ kind: "", url: "" });

function installs(entry: unknown): Claim[] {
  const { kind, url } = InstallEntry.parse(entry);
  const found: Claim[] = [];
  if (kind !== "" && !KNOWN_KINDS.has(kind)) {
    const message = "an install entry is a command of its own; it is shown and never run";
    const advice = "use a package manager's kind";
    found.push([{ ...ASKS, code: "install_command", owasp: "AST02", message, advice }, kind]);
  }
  if (/^http:\/\//i.test(url)) {
    const message = "an install entry downloads over plain http";
    const advice = "use https and name a digest";
    const facts = { ...ASKS, owasp: "AST02", severity: "medium", message, advice } as const;
    found.push([{ ...facts, code: "install_without_tls" }, url]);
  }
  return found;
}

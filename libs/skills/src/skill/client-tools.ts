import { commandLimit, commandPattern } from "@switchyard/contracts/toolbox/command-limit";
import { matchesGlob } from "@switchyard/contracts/glob";
import { cutText } from "@switchyard/contracts/cut-text";
import { parseToolPattern } from "@switchyard/contracts/tool-patterns";
import { BUILTIN_TIERS, builtinNamed, PLATFORM_TOOLS } from "@switchyard/contracts/toolbox/toolbox";
import { infoFinding, warningFinding, type Finding, type Position } from "../finding.ts";

/** Maps Claude Code's tool names to Switchyard's own tools that do the same. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  Read: "read_file",
  Write: "write_file",
  Edit: "edit_file",
  MultiEdit: "edit_file",
  LS: "list_files",
  Glob: "list_files",
  Grep: "search_files",
  Bash: "execute_command",
  WebFetch: "web_fetch",
  WebSearch: "web_search",
  Task: "agent",
  Skill: "skill",
  AskUserQuestion: "ask_user",
};
/** Tools of the runner and of the platform; the built-in ones are in their contract. */
const OTHER_OWN =
  /^(skill|agent|child_runs|subagents|ask_user|wait|find_tools|read_result|final_answer|(sessions|message|cron|gateway)_.+)$/;
/** `mcp__github` in Claude Code's permission rules: all tools of the server. Policies refuse it, because there it may be a slip. */
const WHOLE_SERVER = /^mcp__[a-z0-9][a-z0-9-]*$/;
/** Tools without a server, by the names that patterns select: those of the toolbox, the platform and the runner. */
export const OWN_TOOLS: readonly string[] = [
  ...Object.keys(BUILTIN_TIERS),
  ...PLATFORM_TOOLS,
  "skill",
  "agent",
  "child_runs",
  "ask_user",
  "wait",
  "find_tools",
  "read_result",
];
/** `Bash(git add:*)`: a tool with a limit on its arguments. */
const LIMITED = /^([A-Za-z][\w-]*)\((.*)\)$/s;

/**
 * Returns the patterns of a list of allowed tools. The only limit on arguments that patterns support is the first words of a
 * command; a tool with any other limit gives no pattern, because without its limit it would exceed what was requested.
 */
export function allowedPatterns(words: readonly string[]): string[] {
  return unique(
    words.flatMap((word) => (hasLimit(word) ? (limitedCommand(word) ?? []) : [ownName(word)])),
  );
}

/** Returns the patterns of a list of forbidden tools; a tool with a limit on its arguments is forbidden as a whole. */
export function forbiddenPatterns(words: readonly string[]): string[] {
  return unique(words.map((word) => ownName(LIMITED.exec(word)?.[1] ?? word)));
}

/** Returns the tools whose limit on arguments cannot be enforced here; `(*)` is no limit. */
export function limitedTools(words: readonly string[]): string[] {
  return words.filter((word) => hasLimit(word) && limitedCommand(word) === null);
}

/** Reports entries of `allowed-tools` that allow nothing here, although the author expects the skill to use them. */
export function toolRemarks(words: readonly string[], position: () => Position): Finding[] {
  const limited = limitedTools(words);
  const unknown = allowedPatterns(words).filter((name) => isUnknown(name));
  // Finding the position costs more than all the rest, and most files have no such entry.
  if (limited.length + unknown.length === 0) return [];
  const at = position();
  return [
    ...limited.map((word) => {
      const message = `allowed-tools: ${word} is not allowed: this limit on arguments cannot be kept here, and the tool without it would be more; limit its arguments by a rule of the policy`;
      return warningFinding("limited_tool", message, at);
    }),
    ...unknown.map((name) => {
      const message = `allowed-tools: no tool here is called ${JSON.stringify(cutText(name, 80))}, so it allows nothing; MCP tools are written mcp__server__tool, all of a server mcp__server`;
      return infoFinding("unknown_tool", message, at);
    }),
  ];
}

function isUnknown(name: string): boolean {
  // Nearly always it is one of these, and patterns are read by many rules.
  if (builtinNamed(name) !== null || commandLimit(name) !== null || OTHER_OWN.test(name))
    return false;
  const pattern = parseToolPattern(name);
  // The servers and their tools are only known when a run begins.
  return pattern.kind === "bare" && !OWN_TOOLS.some((own) => matchesGlob(pattern.name, own));
}

function hasLimit(word: string): boolean {
  const [, , limit] = LIMITED.exec(word) ?? [];
  return limit !== undefined && limit !== "*" && limit !== ":*";
}

/** `Bash(git add:*)` as a pattern of the tool that runs commands; null for any other limit. */
function limitedCommand(word: string): string | null {
  const [, name = "", limit = ""] = LIMITED.exec(word) ?? [];
  return builtinNamed(ownName(name)) === "execute_command" ? commandPattern(limit.trim()) : null;
}

function ownName(word: string): string {
  const name = LIMITED.exec(word)?.[1] ?? word;
  if (WHOLE_SERVER.test(name)) return `${name}__*`;
  return Object.hasOwn(OWN_NAMES, name) ? (OWN_NAMES[name] ?? name) : name;
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)];
}

import type {
  CapabilityUse,
  SkillCapabilities,
} from "@switchyard/contracts/skill-importer/skill-scan";
import type { ScannedText } from "./scanned-text.ts";
import { shellWords } from "./shell-words.ts";

/** The needs that the frontmatter declares. Null when it declares none of that kind. */
export interface DeclaredNeeds {
  readonly env: readonly string[];
  readonly bins: readonly string[];
  readonly hosts: readonly string[];
  readonly tools: readonly string[] | null;
}

const MAX_NAMES = 64;
const SHELLS = new Set(["sh", "bash", "shell", "zsh", "console", "shellsession", "terminal"]);
const CODE_ENV =
  /(?:process\.env(?:\.|\[["'])|os\.environ(?:\.get\(|\[)["']|os\.getenv\(["']|getenv\(["']|Deno\.env\.get\(["']|ENV\[["'])([A-Z][A-Z0-9_]{1,63})/g;
const SHELL_ENV = /\$\{?([A-Z][A-Z0-9_]{2,63})\b/g;
const ASSIGNED =
  /^[ \t]*(?:export |local |readonly |declare )?([A-Z][A-Z0-9_]{1,63})=|\b(?:for|read(?: -\w{1,3})?) ([A-Z][A-Z0-9_]{1,63})\b/gm;
const URL = /https?:\/\/([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6})/g;
const MCP_TOOL = /\bmcp__[a-z0-9-]{1,24}__[A-Za-z0-9_-]{1,60}/g;
/** Set by every shell and system. */
const AMBIENT = new Set(
  "HOME PATH USER PWD OLDPWD SHELL TMPDIR TEMP TMP LANG LC_ALL TERM HOSTNAME LOGNAME EDITOR PAGER DISPLAY RANDOM SECONDS LINENO IFS UID EUID PPID BASH_SOURCE BASH_VERSION FUNCNAME PIPESTATUS OSTYPE ARGUMENTS CLAUDE_SKILL_DIR CLAUDE_PROJECT_DIR CLAUDE_PLUGIN_ROOT CLAUDE_SESSION_ID SESSION_ID NODE_ENV CI DEBUG APPDATA LOCALAPPDATA USERPROFILE PROGRAMFILES PYTHONPATH VIRTUAL_ENV XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME EOF".split(
    " ",
  ),
);
/** Hosts of documentation and examples. */
const NO_HOST =
  /(?:^|\.)(?:example\.(?:com|org|net)|localhost|test|invalid|example|local|w3\.org|schema\.org|json-schema\.org)$/i;

/** Returns the capabilities that body and scripts use, beside those that the frontmatter declares. */
export function capabilitiesOf(
  texts: readonly ScannedText[],
  declared: DeclaredNeeds,
): SkillCapabilities {
  const env = new Set<string>();
  const assigned = new Set<string>();
  const bins = new Set<string>();
  const hosts = new Set<string>();
  const tools = new Set<string>();
  for (const text of texts) {
    collect(text.text, MCP_TOOL, tools);
    collect(text.text, CODE_ENV, env);
    for (const { code, isShell } of codeIn(text)) {
      collect(code, URL, hosts);
      if (!isShell) continue;
      tools.add("Bash");
      collect(code, SHELL_ENV, env);
      for (const match of code.matchAll(ASSIGNED)) assigned.add(match[1] ?? match[2] ?? "");
      for (const word of shellWords(code)) if (bins.size < MAX_NAMES) bins.add(word);
    }
  }
  const usedEnv = [...env].filter((name) => !AMBIENT.has(name) && !assigned.has(name));
  const usedHosts = [...hosts]
    .map((host) => host.toLowerCase())
    .filter((host) => !NO_HOST.test(host));
  return {
    env: compared(declared.env, usedEnv),
    bins: compared(declared.bins, [...bins]),
    hosts: compared(declared.hosts, usedHosts),
    tools: comparedTools(declared.tools, [...tools]),
  };
}

/** Whole scripts, and the fenced blocks of Markdown. */
function codeIn(text: ScannedText): { code: string; isShell: boolean }[] {
  if (text.kind === "script")
    return [{ code: text.text, isShell: /\.(?:sh|bash|zsh)$/i.test(text.file) }];
  if (text.kind !== "markdown" || !(text.text.includes("```") || text.text.includes("~~~")))
    return [];
  const blocks: { code: string; isShell: boolean }[] = [];
  let start = -1;
  for (let index = 0; index <= text.lineCount; index += 1) {
    const fence = index < text.lineCount ? text.contextAt(index).fence : null;
    if (fence !== null && start < 0) start = index;
    if (fence !== null || start < 0) continue;
    const code = text.text.slice(text.startOf(start + 1), text.startOf(index - 1));
    blocks.push({ code, isShell: SHELLS.has(text.contextAt(start).fence ?? "") });
    start = -1;
  }
  return blocks;
}

function collect(text: string, pattern: RegExp, into: Set<string>): void {
  for (const match of text.matchAll(pattern)) {
    if (into.size >= MAX_NAMES) return;
    into.add(match[1] ?? match[0]);
  }
}

function compared(declared: readonly string[], used: readonly string[]): CapabilityUse {
  const known = new Set(declared.map((name) => name.toLowerCase()));
  const undeclared = used.filter((name) => !known.has(name.toLowerCase()));
  return { declared: sorted(declared), used: sorted(used), undeclared: sorted(undeclared) };
}

/** Patterns of `allowed-tools` cover names; any shell pattern covers the use of a shell. */
function comparedTools(declared: readonly string[] | null, used: readonly string[]): CapabilityUse {
  if (declared === null) return { declared: [], used: sorted(used), undeclared: [] };
  const undeclared = used.filter((name) => !declared.some((pattern) => covers(pattern, name)));
  return { declared: sorted(declared), used: sorted(used), undeclared: sorted(undeclared) };
}

function covers(pattern: string, name: string): boolean {
  if (name === "Bash")
    return /^(?:\*|bash|shell|exec|execute_command|run_command|terminal)/i.test(pattern);
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].toSorted().slice(0, MAX_NAMES);
}

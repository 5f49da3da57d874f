/* oxlint-disable unicorn/no-useless-spread -- related names stay together on one line */
import type { LintFinding } from "@switchyard/contracts/policy/policy-texts";
import { FILE_ACCESSES } from "@switchyard/contracts/toolbox/file-access";
import { matchesGlob } from "@switchyard/contracts/glob";
import type { ToolPattern } from "@switchyard/contracts/tool-patterns";
import type { Bundle } from "../schema/bundle.ts";
import { expandToolPattern } from "../schema/tool-groups.ts";

/** Tools without a server that Switchyard's services provide or recognise. The tools of MCP servers are unknown here. */
const KNOWN_TOOLS: readonly string[] = [
  ...["read_file", "write_file", "edit_file", "list_files", "list_directory", "search_files"],
  ...["execute_command", "web_fetch", "memory_read", "memory_write"],
  ...["read", "write", "edit", "apply_patch", "exec", "process", "web_search", "image"],
  ...["skill", "find_tools", "agents_list", "session_status", "nodes", "canvas", "browser"],
  ...["sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "whatsapp_login"],
  ...FILE_ACCESSES,
  ...["message", "cron", "gateway", "message_send", "cron_list", "gateway_status", "memory_search"],
];
/** Tool families whose members differ between installations. */
const FAMILIES = ["message_*", "cron_*", "gateway_*", "sessions_*", "memory_*"];

/** Finds allow lists that name only tools that do not exist. They match no tool, which is safe and most likely not meant. */
export function unknownToolLists({ layers = [], profiles = {} }: Bundle): LintFinding[] {
  const lists = [
    ...layers.map(({ id, allow }) => ({ where: `layer ${id}`, id, texts: allow ?? [] })),
    ...Object.entries(profiles).map(([name, texts]) => ({
      where: `profile ${name}`,
      id: null,
      texts,
    })),
  ];
  return lists.flatMap(({ where, id, texts }): LintFinding[] => {
    if (texts.length === 0 || texts.flatMap(expandToolPattern).some(isKnown)) return [];
    const message = `${where} allows only tools that there are not (${texts.slice(0, 5).join(", ")}), so it lets no tool pass`;
    return [{ kind: "unknown-tools", rule: id, message }];
  });
}

function isKnown(pattern: ToolPattern): boolean {
  if (pattern.kind !== "bare") return true;
  const { name } = pattern;
  return (
    KNOWN_TOOLS.some((tool) => matchesGlob(name, tool)) ||
    FAMILIES.some((family) => matchesGlob(family, name))
  );
}

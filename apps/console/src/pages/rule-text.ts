import type { ToolRef } from "@switchyard/client/operations";
import { isShortText, objectOf, OBJECTS } from "@switchyard/contracts/policy/changed-texts";

/** A call that the policy decided about. */
interface DecidedCall {
  readonly tool: Pick<ToolRef, "server" | "tool">;
  readonly principal: { readonly user: string; readonly agent: string | null };
}

/** The rule that allows calls like this one, in YAML, for a draft of the policy. */
export function ruleFor({ tool, principal }: DecidedCall, args: string): string {
  const given = objectOf(args);
  const name = OBJECTS.find((key) => isShortText(given[key]));
  const who =
    principal.agent === null ? `users: [${principal.user}]` : `agents: [${principal.agent}]`;
  const what = tool.server === null ? tool.tool : `${tool.server}.${tool.tool}`;
  const id = `${principal.agent ?? principal.user}-${tool.tool}`.toLowerCase();
  return [
    `- id: ${id.replaceAll(/[^a-z0-9-]+/g, "-").slice(0, 60)}`,
    "  effect: allow",
    "  approval: auto",
    `  who: { ${who} }`,
    `  what: { tools: [${JSON.stringify(what)}] }`,
    ...(name === undefined
      ? []
      : [`  when: [{ arg: /${name}, op: eq, value: ${JSON.stringify(given[name])} }]`]),
  ].join("\n");
}

/** The text of rules with one more at the beginning of its list; null when it has no list in lines. */
export function withRule(text: string, rule: string): string | null {
  const found = /^rules:[ \t]*\n(?:[ \t]*#.*\n)*([ \t]*)- /m.exec(text);
  if (found === null) return null;
  const at = text.indexOf("\n", found.index) + 1;
  const lines = rule.split("\n").map((line) => `${found[1] ?? ""}${line}\n`);
  return `${text.slice(0, at)}${lines.join("")}${text.slice(at)}`;
}

/** The lines of a rule in a text, from the one with its id to the one before the next rule; null when it is not there. */
export function linesOfRule(text: string, id: string): { from: number; to: number } | null {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => idIn(line) === id);
  if (from < 0) return null;
  const next = lines.findIndex(
    (line, at) => at > from && line.trim() !== "" && indentOf(line) <= indentOf(lines[from] ?? ""),
  );
  return { from, to: next < 0 ? lines.length : next };
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The id in the first line of a rule, such as `- id: looks` or `- { id: looks, … }`. */
function idIn(line: string): string | null {
  return /^\s*-\s*(?:\{\s*)?id:\s*["']?([^"',}\s]+)/.exec(line)?.[1] ?? null;
}

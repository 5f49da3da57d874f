import type { Bus } from "@switchyard/bus/bus";
import { writtenToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import { CliError } from "./cli-error.ts";
import { knownTools } from "./known-tools.ts";
import { onlyOne } from "./named-run.ts";
import { beginningOf } from "./shown-name.ts";

/** Returns what a person writes for one tool as the reference of contracts. Throws a usage error for a pattern and for anything else. */
export function toolRefOf(text: string): ToolRef {
  const ref = writtenToolRef(text);
  if (ref !== null) return ref;
  throw new CliError("usage", `${JSON.stringify(text)} names no tool`, {
    hint: "write mcp__server__tool, server.tool, or the name of a built-in tool; see ./yard tools list --all",
  });
}

/** Resolves what a table shows of a long name, in either spelling. A name that is whole is returned unchanged. */
export async function namedTool(bus: Bus, text: string): Promise<string> {
  const beginning = beginningOf(text);
  if (beginning === null) return text;
  const { tools } = await knownTools(bus);
  const names = tools
    .filter(({ name, server, tool }) =>
      [name, tool, `${server}.${tool}`].some((spelling) => spelling.startsWith(beginning)),
    )
    .map(({ name }) => name);
  const found = onlyOne(names, { text, what: "tool", list: "./yard tools list --all" });
  if (found !== null) return found;
  throw new CliError("unknown_tool", `no tool begins with ${beginning}`, {
    hint: "see the tools with: ./yard tools list --all",
  });
}

import { client } from "@switchyard/bus/call";
import { whoCanCall, type ToolReach } from "@switchyard/contracts/policy/policy-bundles";
import { findBus, withBus } from "../bus-session.ts";
import { namedTool, toolRefOf } from "../named-tool.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { noteUnknownNames, unknownNames } from "../unknown-names.ts";

/** Lists the principals that may call a tool, with the rules that allow it. */
export async function whoCan(
  terminal: Terminal,
  tool: string,
  options: { json?: true },
): Promise<void> {
  const { name, reply } = await withBus(await findBus(terminal.env), async (bus) => {
    const ref = toolRefOf(await namedTool(bus, tool));
    noteUnknownNames(terminal, await unknownNames(bus, { tool: ref.name }));
    return { name: ref.name, reply: await client(bus, { whoCanCall }).whoCanCall({ tool: ref }) };
  });
  if (options.json) return writeJson(terminal, reply);
  if (reply.reach.length === 0) {
    const why = reply.deniedBy.length === 0 ? "no rule allows it" : reply.deniedBy.join(", ");
    terminal.out(`no principal can call ${name}: ${why}`);
    return;
  }
  const lines = tableLines<ToolReach>(
    [
      { title: "WHO", value: whoText, maxWidth: 60 },
      { title: "APPROVAL", value: ({ tier }) => tier },
      { title: "RULE", value: ({ rule }) => rule },
      { title: "ARGUMENTS", value: ({ conditional }) => (conditional ? "some" : "any") },
      { title: "EXCEPT", value: ({ except }) => except.join(", "), maxWidth: 40 },
    ],
    reply.reach,
  );
  for (const line of lines) terminal.out(line);
}

function whoText({ users, agents, roles, channels, groups }: ToolReach): string {
  const parts = Object.entries({ agents, users, roles, channels, groups }).flatMap(
    ([part, globs]) => (globs === null ? [] : [`${part} ${globs.join(", ")}`]),
  );
  return parts.length === 0 ? "anyone" : parts.join("; ");
}

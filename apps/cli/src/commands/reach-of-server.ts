import { client } from "@switchyard/bus/call";
import type { ServerDeclaration } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { whoCanCall, type ToolReach } from "@switchyard/contracts/policy/policy-bundles";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { findBus, withBus } from "../bus-session.ts";

/** A placeholder for every tool of a server: a rule that names single tools does not match it. */
const ANY_TOOL = "any-tool-of-this-server";

/**
 * Lists the rules that allow the tools of a server, or a rule to paste when none allows all of them. Empty when the policy does not
 * answer.
 */
export async function reachOfServer(
  { id, tags }: ServerDeclaration,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  if (typeof id !== "string") return [];
  const labels = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
  const answer = await withBus(await findBus(env), async (bus) => ({
    ...(await client(bus, { whoCanCall }).whoCanCall({ tool: mcpToolRef(id, ANY_TOOL), labels })),
    user: bus.user,
  })).catch(() => null);
  if (answer === null) return [];
  if (answer.reach.length > 0) return answer.reach.map((reach) => reachLine(id, reach));
  return [
    `no rule of the policy allows all tools of ${id}; without one that names them its tools are neither listed nor called. A rule for your own calls:`,
    ...ruleFor(id, answer.user),
  ];
}

/** A rule that lets a user call every tool of a server, each after an approval that stays good for a while. */
export function ruleFor(server: string, user: string): string[] {
  return [
    `  - id: use-${server}`,
    `    effect: allow`,
    `    who: { users: [${user}] } # or agents: [their names]`,
    `    what: { tools: [mcp__${server}__*] }`,
    `    approval: session # auto needs no person, always asks for each call`,
  ];
}

function reachLine(server: string, { rule, tier, agents, users, roles }: ToolReach): string {
  const who = Object.entries({ agents, users, roles }).flatMap(([part, globs]) =>
    globs === null ? [] : [`${part} ${globs.join(", ")}`],
  );
  const whom = who.length === 0 ? "everyone" : who.join("; ");
  return `rule ${rule} lets ${whom} call the tools of ${server}${tier === "auto" ? "" : `, after an approval (${tier})`}`;
}

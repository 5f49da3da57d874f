import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { ToolPin } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { findBus, withBus } from "../bus-session.ts";
import { pinsOf } from "../known-tools.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { REASON_COLUMNS } from "./tool-overview.ts";

const AT_ONCE = 16;

interface Row {
  readonly name: string;
  readonly server: string;
  /** The approval state of the tool's definition. */
  readonly pin: ToolPin["state"];
  readonly decision: "allow" | "ask" | "deny";
  readonly rule: string | null;
  readonly reason: string;
}

/**
 * `yard mcp tools --all`, for authors of servers and rules: every tool that a server listed, and the policy's decision about a call
 * by this user without arguments.
 */
export async function allTools(
  terminal: Terminal,
  server: string | undefined,
  options: { json?: true },
): Promise<void> {
  const { user, rows } = await withBus(await findBus(terminal.env), async (bus) => {
    const pins = await pinsOfAll(bus, server);
    const judgements: Row[] = [];
    for (let at = 0; at < pins.length; at += AT_ONCE) {
      const part = pins.slice(at, at + AT_ONCE);
      judgements.push(...(await Promise.all(part.map((pin) => judged(bus, bus.user, pin)))));
    }
    return { user: bus.user, rows: judgements };
  });
  if (options.json) return writeJson(terminal, { user, tools: rows });
  if (rows.length === 0) return terminal.note("no connected server has listed a tool");
  const lines = tableLines<Row>(
    [
      { title: "TOOL", value: ({ name }) => name },
      { title: "DEFINITION", value: ({ pin }) => pin },
      { title: "POLICY", value: ({ decision }) => decision },
      ...REASON_COLUMNS,
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
  terminal.note(
    "the policy was queried without arguments; with them: ./yard policy explain TOOL '{…}'",
  );
}

async function pinsOfAll(bus: Bus, server: string | undefined): Promise<ToolPin[]> {
  if (server !== undefined) return pinsOf(bus, server);
  const { servers } = await client(bus, { listServers }).listServers({});
  return (await Promise.all(servers.map(({ id }) => pinsOf(bus, id)))).flat();
}

async function judged(bus: Bus, user: string, pin: ToolPin): Promise<Row> {
  const { decision } = await client(bus, { explainPolicy }).explainPolicy({
    user,
    tool: mcpToolRef(pin.server, pin.tool),
    args: {},
  });
  const { effect, rule, reason } = decision;
  return { name: pin.name, server: pin.server, pin: pin.state, decision: effect, rule, reason };
}

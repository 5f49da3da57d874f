import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { getAgent, type AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import { matchesTool } from "@switchyard/contracts/tool-patterns";
import { findBus, withBus } from "../bus-session.ts";
import { knownTools, type KnownTool } from "../known-tools.ts";
import { printableLine } from "../printable.ts";
import { tableLines, type Column } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const AT_ONCE = 16;

/** The last columns of a table of the policy's decisions. */
export const REASON_COLUMNS: readonly Column<Pick<Row, "rule" | "reason">>[] = [
  { title: "RULE", value: ({ rule }) => printableLine(rule ?? "–") },
  { title: "WHY", value: ({ reason }) => printableLine(reason), maxWidth: 80 },
];

/** The decision about calls without arguments; `some` means that the rules allow the tool with some arguments. */
type Judgement = "allow" | "some" | "ask" | "deny";

interface Row {
  readonly name: string;
  readonly server: string | null;
  readonly definition: KnownTool["definition"];
  readonly decision: Judgement;
  readonly rule: string | null;
  readonly reason: string;
}

/** `yard tools list --all`: every tool of the installation, and what the policy says about calls by this user. */
export async function allTools(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { user, rows } = await withBus(await findBus(terminal.env), async (bus) => ({
    user: bus.user,
    rows: await judgedTools(bus, null, (await knownTools(bus)).tools.filter(isDecided)),
  }));
  if (options.json) return writeJson(terminal, { user, tools: rows });
  print(terminal, rows, `calls by ${user}; with arguments: ./yard policy explain TOOL '{…}'`);
}

/** `yard agents tools`: the tools that an agent's file selects, and what the policy says about its calls in runs of this user. */
export async function agentTools(
  terminal: Terminal,
  name: string,
  options: { json?: true },
): Promise<void> {
  const { user, rows } = await withBus(await findBus(terminal.env), async (bus) => {
    const { agent } = await client(bus, { getAgent }).getAgent({ name });
    const { tools } = await knownTools(bus);
    const selected = tools.filter((tool) => isDecided(tool) && isSelected(agent, tool));
    return { user: bus.user, rows: await judgedTools(bus, agent, selected) };
  });
  if (options.json) return writeJson(terminal, { user, agent: name, tools: rows });
  if (rows.length === 0)
    return terminal.note(`the file of ${name} selects no tool; see: ./yard agents show ${name}`);
  const more = `./yard policy explain TOOL '{…}' --agent ${name}`;
  print(terminal, rows, `calls of ${name} in runs of ${user}; with arguments: ${more}`);
}

/** False for tools of the runner such as ask_user and wait, which every run has and the policy does not decide about. */
function isDecided({ name, server }: KnownTool): boolean {
  return server !== null || name === "agent" || builtinNamed(name) !== null;
}

function isSelected({ tools }: AgentDefinition, tool: KnownTool): boolean {
  return tools === null || tools.some((pattern) => matchesTool(pattern, tool));
}

function print(terminal: Terminal, rows: readonly Row[], note: string): void {
  const lines = tableLines<Row>(
    [
      { title: "TOOL", value: ({ name }) => name },
      { title: "FROM", value: ({ server }) => server ?? "built in", isSpare: true },
      { title: "POLICY", value: ({ decision }) => decision },
      { title: "DEFINITION", value: ({ definition }) => definition ?? "–", isSpare: true },
      ...REASON_COLUMNS,
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
  terminal.note(printableLine(note));
}

async function judgedTools(
  bus: Bus,
  agent: AgentDefinition | null,
  tools: readonly KnownTool[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < tools.length; at += AT_ONCE)
    rows.push(
      ...(await Promise.all(tools.slice(at, at + AT_ONCE).map((tool) => judged(bus, agent, tool)))),
    );
  return rows;
}

async function judged(bus: Bus, agent: AgentDefinition | null, known: KnownTool): Promise<Row> {
  const { definition, ...tool } = known;
  const { decision, nearest } = await client(bus, { explainPolicy }).explainPolicy({
    user: bus.user,
    tool,
    args: {},
    ...(agent === null ? {} : { agent: agent.name, roles: [...agent.roles] }),
  });
  const { effect, reason } = decision;
  // Without arguments a rule with conditions does not match; with others it may.
  const isConditional =
    effect === "deny" &&
    decision.rule === null &&
    nearest !== null &&
    nearest.failed.every(({ part }) => part.startsWith("when["));
  return {
    name: tool.name,
    server: tool.server,
    definition,
    decision: isConditional ? "some" : effect,
    rule: isConditional ? nearest.rule : decision.rule,
    reason,
  };
}

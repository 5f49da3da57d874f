import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { ServiceError } from "@switchyard/contracts/errors";
import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import { nearestName } from "@switchyard/contracts/nearest-name";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { ANONYMOUS_USER, CLI_USER } from "@switchyard/contracts/user-names";
import { listUserKeys } from "@switchyard/contracts/policy/user-tokens";
import { CliError } from "./cli-error.ts";
import { knownTools, unknownTool, type KnownTools } from "./known-tools.ts";
import { printableLine } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

/**
 * The errors of a tool and of an agent that do not exist here: a decision about them has no meaning. Empty, too, where the services that know
 * the names do not answer, because the policy service decides without them.
 */
export async function unknownNames(
  bus: Bus,
  { tool, agent }: { readonly tool: string; readonly agent?: string | undefined },
): Promise<CliError[]> {
  const found = await withoutServiceErrors(
    Promise.all([knownTools(bus), agent === undefined ? [] : unknownAgent(bus, agent)]),
  );
  if (found === null) return [];
  const [known, agents] = found;
  return [...unknownToolErrors(tool, known), ...agents];
}

async function unknownAgent(bus: Bus, agent: string): Promise<CliError[]> {
  const { agents } = await client(bus, { listAgents }).listAgents({});
  return unknownOf("agent", agent, { known: agents.map(({ name }) => name), list: "agents list" });
}

async function unknownServer(bus: Bus, server: string): Promise<CliError[]> {
  const { servers } = await client(bus, { listServers }).listServers({});
  return unknownOf("server", server, { known: servers.map(({ id }) => id), list: "mcp list" });
}

function unknownOf(
  kind: "agent" | "server",
  name: string,
  { known, list }: { readonly known: readonly string[]; readonly list: string },
): CliError[] {
  if (known.includes(name)) return [];
  const meant = nearestName(name, known);
  const hint = meant === null ? `see the ${kind}s with: ./yard ${list}` : `did you mean ${meant}?`;
  return [new CliError(`unknown_${kind}`, `there is no ${kind} ${printableLine(name)}`, { hint })];
}

/** The error of a tool that does not exist among the known ones. */
export function unknownToolErrors(tool: string, known: KnownTools): CliError[] {
  // Rules decide about files under names that no tool has.
  if (fileAccessOf({ server: null, tool }) !== null) return [];
  const why = unknownTool(tool, known);
  if (why === null) return [];
  return [
    new CliError("unknown_tool", printableLine(why), {
      hint: "see the tools with: ./yard tools list --all; a rule for one to come is tried with --file",
    }),
  ];
}

/** Prints what is unknown beside an answer that is still valid: rules may be about tools and agents to come. */
export function noteUnknownNames(terminal: Terminal, unknown: readonly CliError[]): void {
  for (const { message, hint } of unknown)
    terminal.note(message.endsWith("?") ? message : `${message}; ${hint}`);
}

/** Prints a note when a user's name is close to a known one. Teams are users of the NATS server, which lists them to no client: another name may exist. */
export async function noteUnknownUser(terminal: Terminal, bus: Bus, user: string): Promise<void> {
  const reply = await withoutServiceErrors(client(bus, { listUserKeys }).listUserKeys({}));
  const callers = (reply?.keys ?? []).map(({ caller }) => caller);
  const known = [...new Set([bus.user, CLI_USER, ANONYMOUS_USER.name, ...callers])];
  if (known.includes(user)) return;
  const meant = nearestName(user, known);
  if (meant !== null)
    terminal.note(`no key is of a user ${printableLine(user)}; did you mean ${meant}?`);
}

/** Prints a note when a stop is about a name that does not exist here: it is in force, and stops nothing yet. */
export async function noteUnknownScope(
  terminal: Terminal,
  bus: Bus,
  scope: StopScope,
): Promise<void> {
  if (scope.kind === "user") await noteUnknownUser(terminal, bus, scope.name);
  if (scope.kind !== "agent" && scope.kind !== "server") return;
  const find = scope.kind === "agent" ? unknownAgent : unknownServer;
  noteUnknownNames(terminal, (await withoutServiceErrors(find(bus, scope.name))) ?? []);
}

async function withoutServiceErrors<Reply>(reply: Promise<Reply>): Promise<Reply | null> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

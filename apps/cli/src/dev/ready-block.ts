import type { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import type { ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ANONYMOUS_USER } from "@switchyard/contracts/user-names";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { subjectOf } from "@switchyard/contracts/define";
import { fieldLines } from "../field-lines.ts";
import type { InstanceRecord } from "../instance-record.ts";
import type { HttpAccess } from "./http-access.ts";
import { DEMO_PROJECT, HOME, projectAt, yardFrom } from "../locations.ts";
import { modelLabel } from "../model-label.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { shellWord } from "../shell-word.ts";
import { isSettled, waitsForItsFirstCall } from "./wait-for-mcp-servers.ts";

const QUESTION = "What is in this folder?";

/** The lines printed when everything runs: addresses, connected servers, and the next command to type. */
export function readyBlock(facts: {
  record: InstanceRecord;
  servers: readonly ServerInfo[];
  defaultModel: string;
  /** The agent to try, or null when there is none. */
  agent: string | null;
  http: HttpAccess | null;
  /** The working directory of the person: commands find the project that they are in. */
  cwd: string;
}): string[] {
  const { record, servers, defaultModel, agent, http, cwd } = facts;
  const at = record.project === DEMO_PROJECT ? HOME : record.project;
  const yard = yardFrom(at);
  const services = record.processes.filter((process) => process.healthUrl !== null);
  const monitor = record.natsMonitorUrl === null ? "" : `  (monitoring ${record.natsMonitorUrl})`;
  return [
    "",
    "Switchyard is ready.",
    "",
    ...fieldLines([
      ["  project", record.project],
      ["  workspace", record.workspace],
      ["  NATS", `${record.natsUrl ?? ""}${monitor}`],
      ["  Redis", record.redisUrl ?? ""],
      // A browser does not send the part after the #.
      ...(http === null
        ? []
        : [["  console", `${http.url}/#token=${http.token}`] as [string, string]]),
      ...(http === null ? [] : [["  HTTP", `${http.url}/api/v1`] as [string, string]]),
      ...services.map(({ name, healthUrl }): [string, string] => [
        `  ${name}`,
        new URL("/readyz", healthUrl ?? "").href,
      ]),
      ["  MCP servers", servers.map(serverText).join(", ") || "none"],
      ["  model", modelLabel(defaultModel)],
    ]),
    "",
    "Next, in another terminal:",
    "",
    ...((projectAt(cwd, {}) ?? HOME) === at ? [] : [`  cd ${shellWord(at)}`]),
    ...(agent === null
      ? [`  ${yard} agents list    # empty until the project has an agent in agents/NAME.md`]
      : [
          `  ${yard} run ${agent} "${QUESTION}"`,
          `  ${natsCommand(record.natsUrl ?? "", { agent, question: QUESTION })}`,
        ]),
    `  ${yard} mcp tools`,
    ...(http === null
      ? []
      : [`  curl -H 'Authorization: Bearer ${http.token}' ${http.url}/api/v1/agents`]),
    ...stillConnecting(servers, yard),
    "",
    "Ctrl-C stops everything; the data stays for the next start.",
    "",
  ];
}

/** A machine under load is ready before its servers are. */
function stillConnecting(servers: readonly ServerInfo[], yard: string): string[] {
  const many = servers.filter((server) => !isSettled(server)).length;
  return many === 0
    ? []
    : [`  ${yard} mcp list    # ${count(many, "MCP server")} still connecting`];
}

/** The agent that is recommended: one of the project before one of the person, the demo before others. */
export function agentToTry(
  agents: readonly Pick<AgentSummary, "name" | "source">[],
): string | null {
  const own = agents.filter(({ source }) => source === "project");
  const from = own.length > 0 ? own : agents.filter(({ source }) => source !== "built-in");
  return (from.find(({ name }) => name === "demo") ?? from[0])?.name ?? null;
}

/** The command that starts a run with any NATS client: it needs no header and no library of ours. */
export function natsCommand(
  natsUrl: string,
  { agent, question }: { agent: string; question: string },
): string {
  const subject = subjectOf(startRun, { caller: ANONYMOUS_USER.name, agent });
  return `nats pub -s ${natsUrl} ${subject} '${JSON.stringify({ input: question })}'`;
}

/** `files connected (14 tools)`, or the reason why it is not. */
export function serverText(server: ServerInfo): string {
  const { id, status, toolCount, lastError } = server;
  if (waitsForItsFirstCall(server)) return `${id} connects at its first call`;
  if (status === "connected") return `${id} connected (${count(toolCount, "tool")})`;
  return lastError === null
    ? `${id} ${status}`
    : `${id} ${status}: ${printableLine(lastError, 300)}`;
}

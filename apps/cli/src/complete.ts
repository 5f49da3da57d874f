import { within } from "@switchyard/contracts/timeouts";
import type { Command } from "commander";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { listChannelAccounts } from "@switchyard/contracts/channels/channels";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { listSchedules } from "@switchyard/contracts/scheduler/schedules";
import { listSessions } from "@switchyard/contracts/agent-runner/sessions";
import { listSkills } from "@switchyard/contracts/skill-importer/skills";
import { findBus, withBus } from "./bus-session.ts";
import { HELP_TOPICS } from "./help-topics.ts";
import { contexts, LOCAL, SETTINGS } from "./settings.ts";

const MOST = 200;
/** Limit for a connection and a reply after Tab; the shell offers files then. */
const TIMEOUT_MS = 500;

/**
 * Completions for the last word, a candidate a line. Never fails: without a bus, and with one that does not answer in time, there
 * are no names. A connection that is still being made then keeps the process alive.
 */
export async function complete(program: Command, words: readonly string[]): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  const { command, path, given } = walk(program, words.slice(0, -1));
  const candidates = typed.startsWith("-")
    ? command.options.flatMap(({ long }) => long ?? [])
    : command.commands.length > 0
      ? command.commands.map((child) => child.name())
      : await names(kindOf(command, { path, given, before: words.at(-2) ?? "" }));
  return [...new Set(candidates)].filter((name) => name.startsWith(typed)).slice(0, MOST);
}

function walk(program: Command, words: readonly string[]) {
  let command = program;
  const path: string[] = [];
  let given = 0;
  for (const word of words) {
    const child = command.commands.find((candidate) => candidate.name() === word);
    if (child === undefined) {
      if (!word.startsWith("-")) given += 1;
      continue;
    }
    command = child;
    path.push(word);
    given = 0;
  }
  return { command, path, given };
}

type Kind =
  | "account"
  | "agent"
  | "approval"
  | "context"
  | "job"
  | "run"
  | "server"
  | "session"
  | "setting"
  | "skill"
  | "topic"
  | "shell"
  | null;

/** The kind of the word: the value of the option before it, else the argument at its index. */
function kindOf(
  command: Command,
  { path, given, before }: { path: readonly string[]; given: number; before: string },
): Kind {
  const OPTIONS: Readonly<Record<string, Kind>> = {
    "--agent": "agent",
    "--skill": "skill",
    "--session": "session",
    "--context": "context",
    "--run": "run",
    "--server": "server",
  };
  if (before in OPTIONS) return OPTIONS[before] ?? null;
  const name = command.registeredArguments[given]?.name() ?? "";
  const [area = ""] = path;
  if (name === "name") {
    const areas: Readonly<Record<string, Kind>> = {
      agents: "agent",
      skills: "skill",
      context: "context",
      config: "setting",
    };
    return areas[area] ?? null;
  }
  if (name === "id") return area === "approvals" ? "approval" : null;
  const ARGUMENTS: Readonly<Record<string, Kind>> = {
    account: "account",
    job: "job",
    agent: "agent",
    run: "run",
    "run-or-file": "run",
    session: "session",
    server: "server",
    topic: "topic",
    shell: "shell",
  };
  return ARGUMENTS[name] ?? null;
}

async function names(kind: Kind): Promise<readonly string[]> {
  switch (kind) {
    case null:
      return [];
    case "topic":
      return HELP_TOPICS;
    case "shell":
      return ["bash", "zsh", "fish"];
    case "setting":
      return Object.keys(SETTINGS);
    case "context":
      return [LOCAL, ...Object.keys(contexts(process.env))];
    default:
      return live(kind).catch(() => []);
  }
}

type LiveKind = Exclude<Kind, null | "topic" | "shell" | "setting" | "context">;

function live(kind: LiveKind): Promise<string[]> {
  return within(liveNames(kind), { ms: TIMEOUT_MS }, () => []);
}

async function liveNames(kind: LiveKind): Promise<string[]> {
  const connectTimeoutMs = TIMEOUT_MS;
  const timeout = { timeoutMs: TIMEOUT_MS };
  return withBus(await findBus(process.env), (bus) => ASK[kind](bus, timeout), {
    connectTimeoutMs,
  });
}

type Asking = (bus: Bus, timeout: { readonly timeoutMs: number }) => Promise<string[]>;

const ASK: Readonly<Record<LiveKind, Asking>> = {
  account: async (bus, timeout) =>
    (await client(bus, { listChannelAccounts }).listChannelAccounts({}, timeout)).accounts.map(
      ({ channel, accountId }) => `${channel}/${accountId}`,
    ),
  job: async (bus, timeout) =>
    (
      await client(bus, { listSchedules }).listSchedules({ enabled: "all", limit: 200 }, timeout)
    ).jobs.map(({ name }) => name),
  agent: async (bus, timeout) =>
    (await client(bus, { listAgents }).listAgents({}, timeout)).agents.map(({ name }) => name),
  skill: async (bus, timeout) =>
    (await client(bus, { listSkills }).listSkills({}, timeout)).skills.map(({ name }) => name),
  run: async (bus, timeout) => [
    "last",
    ...(await client(bus, { listRuns }).listRuns({ limit: 50 }, timeout)).runs.map(
      ({ runId }) => runId,
    ),
  ],
  session: async (bus, timeout) =>
    (await client(bus, { listSessions }).listSessions({ limit: 50 }, timeout)).sessions.map(
      ({ key }) => key,
    ),
  server: async (bus, timeout) =>
    (await client(bus, { listServers }).listServers({}, timeout)).servers.map(({ id }) => id),
  approval: async (bus, timeout) =>
    (await client(bus, { listApprovals }).listApprovals({ limit: 50 }, timeout)).approvals.map(
      ({ id }) => id,
    ),
};

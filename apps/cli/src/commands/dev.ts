import { once } from "node:events";
import { client } from "@switchyard/bus/call";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { CLI_USER } from "@switchyard/contracts/user-names";
import { withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { isLogLevel, type LogLevel } from "../dev/log-line.ts";
import { fromLevel, jsonLog, readableLog } from "../dev/merged-log.ts";
import { httpAccess } from "../dev/http-access.ts";
import { agentToTry, readyBlock, serverText } from "../dev/ready-block.ts";
import { checkProject } from "../dev/check-project.ts";
import { makeStateDirectory } from "../dev/make-state-directory.ts";
import { chosenProject, stackOptions, type StackFlags } from "../dev/stack-options.ts";
import { launchService } from "../dev/service-process.ts";
import { Stack, type StackOptions } from "../dev/stack.ts";
import { onStopSignals } from "../dev/stop-signals.ts";
import { waitForMcpServers, waitsForItsFirstCall } from "../dev/wait-for-mcp-servers.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { alsoInFile } from "../dev/log-file.ts";
import { stateDirectory } from "../locations.ts";
import { seedFile } from "../nkey-seed.ts";
import { writeJsonLine, type Terminal } from "../terminal.ts";
import { onOutputClosed } from "../until-stopped.ts";

const MCP_TIMEOUT_MS = 20_000;

export interface DevFlags extends StackFlags {
  readonly json?: true;
  readonly exitWithParent?: boolean;
}

/** A test replaces these parts to run the services in its own process. */
export interface DevParts {
  readonly launch: StackOptions["launch"];
  /** Its abort stops everything, as Ctrl-C does. */
  readonly stop: AbortController;
}

/** `yard dev`: starts everything, shows one log, and stops everything on Ctrl-C. */
export async function dev(
  terminal: Terminal,
  { json, exitWithParent = false, ...flags }: DevFlags,
  { launch = launchService, stop = new AbortController() }: Partial<DevParts> = {},
): Promise<ExitCode> {
  const everything = json === true ? jsonLog(terminal) : readableLog(terminal);
  const project = await chosenProject(flags, terminal.env);
  const { path, logFile } = stateDirectory(terminal.env, project.directory);
  await makeStateDirectory(path);
  const report = fromLevel(logLevel(terminal.env), alsoInFile(logFile, everything));
  await checkProject(project, report);
  const options = await stackOptions(flags, project, { env: terminal.env, report, launch });
  const stack = new Stack(options);
  const signals = onStopSignals({
    stop: () => {
      report.step("stopping; a second Ctrl-C kills");
      stop.abort();
    },
    kill: () => void stack.kill().finally(() => process.exit(EXIT.interrupted)),
    exitWithParent,
  });
  const output = onOutputClosed(() => stop.abort());
  try {
    await stack.start(stop.signal);
    try {
      await announce(terminal, { stack, options, json: json ?? false, signal: stop.signal });
      if (!stop.signal.aborted) await once(stop.signal, "abort");
    } finally {
      await stack.stop();
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    output.remove();
    signals.remove();
  }
  return EXIT.ok;
}

function logLevel(env: NodeJS.ProcessEnv): LogLevel | "silent" {
  const level = env["YARD_LOG_LEVEL"];
  if (level === undefined || level === "") return "info";
  if (level === "silent" || isLogLevel(level)) return level;
  throw new CliError("usage", `YARD_LOG_LEVEL is ${JSON.stringify(level)}`, {
    hint: "it is trace, debug, info, warn, error, fatal or silent",
  });
}

async function announce(
  terminal: Terminal,
  context: { stack: Stack; options: StackOptions; json: boolean; signal: AbortSignal },
): Promise<void> {
  const { stack, options, json, signal } = context;
  const { record } = stack;
  const target = {
    servers: record.natsUrl ?? "",
    user: CLI_USER,
    nkeyFile: seedFile(options.state.keys, CLI_USER),
    source: "dev" as const,
  };
  const { servers, agents } = await withBus(target, async (bus) => ({
    servers: await waitForMcpServers(bus, { timeoutMs: MCP_TIMEOUT_MS, signal }),
    agents: (await client(bus, { listAgents }).listAgents({})).agents,
  }));
  const http = await httpAccess(record, options.state.keys);
  if (signal.aborted) return;
  const { defaultModel } = options.project;
  for (const server of servers) {
    const isUp = server.status === "connected" || waitsForItsFirstCall(server);
    if (!isUp) options.report.warn(`MCP server ${serverText(server)}`);
  }
  if (!json) {
    const agent = agentToTry(agents);
    for (const line of readyBlock({
      record,
      servers,
      defaultModel,
      agent,
      http,
      cwd: process.cwd(),
    }))
      terminal.out(line);
    return;
  }
  const { natsUrl, natsMonitorUrl, redisUrl, processes } = record;
  writeJsonLine(terminal, {
    level: "info",
    time: new Date().toISOString(),
    service: "yard",
    msg: "switchyard ready",
    natsUrl,
    natsMonitorUrl,
    redisUrl,
    // The token stays out of the log.
    ...(http === null ? {} : { httpUrl: http.url, httpTokenFile: http.tokenFile }),
    processes,
    defaultModel,
    mcpServers: servers.map(({ id, status, toolCount }) => ({ id, status, toolCount })),
  });
}

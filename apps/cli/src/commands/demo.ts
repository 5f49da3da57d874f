import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Bus } from "@switchyard/bus/bus";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { CLI_USER } from "@switchyard/contracts/user-names";
import { withBus, type BusTarget } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { judgeDemo } from "../demo-verdict.ts";
import { httpAccess } from "../dev/http-access.ts";
import { natsCommand, serverText } from "../dev/ready-block.ts";
import { readableLog } from "../dev/merged-log.ts";
import type { EarlyServices } from "../dev/early-services.ts";
import { chosenProject, stackOptions } from "../dev/stack-options.ts";
import { Stack } from "../dev/stack.ts";
import type { StackReport } from "../dev/stack-report.ts";
import { onStopSignals } from "../dev/stop-signals.ts";
import { waitForMcpServers } from "../dev/wait-for-mcp-servers.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { findRunningInstance, type InstanceRecord } from "../instance-record.ts";
import { seedFile } from "../nkey-seed.ts";
import { stateDirectory } from "../locations.ts";
import { printable } from "../printable.ts";
import { count } from "../quantities.ts";
import { runIdOf } from "../run-id.ts";
import { startAndFollow } from "../run-story.ts";
import { type Terminal } from "../terminal.ts";

const QUESTION = "What is in this repository?";
const RUN_TIMEOUT_MS = 60_000;
const MCP_TIMEOUT_MS = 30_000;
const KEPT_LINES = 40;

/** `yard demo`: one run from end to end, with everything it needs started before and stopped after, or with `--open` at Ctrl-C. */
export async function demo(
  terminal: Terminal,
  options: { json?: true; open?: true; exitWithParent?: boolean },
  services: EarlyServices,
): Promise<ExitCode> {
  const state = stateDirectory(terminal.env, null);
  const running = await findRunningInstance(state.instanceFile);
  if (running !== null) {
    services.end();
    terminal.note(`Using the running instance (process ${running.owner.pid}).\n`);
    return runDemo(terminal, { instance: running, json: options.json ?? false, staysOpen: true });
  }

  const log = quietLog(terminal);
  const project = await chosenProject({ demo: true }, terminal.env);
  const stack = new Stack(
    await stackOptions({}, project, {
      env: terminal.env,
      report: log.report,
      launch: services.launch,
    }),
  );
  const stop = new AbortController();
  const signals = onStopSignals({
    stop: () => stop.abort(),
    kill: () => void stack.kill().finally(() => process.exit(EXIT.interrupted)),
    exitWithParent: options.exitWithParent ?? false,
  });
  terminal.note("Starting NATS, Redis and the services on this machine:");
  try {
    await stack.start(stop.signal);
    try {
      const staysOpen = options.open ?? false;
      const code = await runDemo(terminal, {
        instance: stack.record,
        json: options.json ?? false,
        staysOpen,
        signal: stop.signal,
      });
      if (staysOpen && !stop.signal.aborted) {
        terminal.note("It stays open: Ctrl-C stops everything.");
        await once(stop.signal, "abort");
      }
      return code;
    } finally {
      await stack.stop();
    }
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted;
    log.replay();
    throw error;
  } finally {
    signals.remove();
  }
}

async function runDemo(
  terminal: Terminal,
  context: { instance: InstanceRecord; json: boolean; staysOpen: boolean; signal?: AbortSignal },
): Promise<ExitCode> {
  const { instance, json, staysOpen } = context;
  const limit = AbortSignal.timeout(RUN_TIMEOUT_MS);
  const signal = context.signal === undefined ? limit : AbortSignal.any([context.signal, limit]);
  const { events, end } = await withBus(targetOf(instance, terminal.env), async (bus) => {
    await requireFiles(terminal, bus, signal);
    terminal.note(`\nyard run demo "${QUESTION}"\n`);
    const seen: StoredEvent[] = [];
    const command = { input: QUESTION, runId: runIdOf(Date.now(), randomBytes(10)) };
    const onEvent = (event: StoredEvent): void => void seen.push(event);
    const start = { agent: "demo", command, terminal, json, signal, onEvent };
    return { end: await startAndFollow(bus, start), events: seen };
  });
  if (context.signal?.aborted === true) return EXIT.interrupted;
  if (end?.end === "finished" && !json) terminal.out(`\n${printable(end.output)}\n`);

  const verdict = judgeDemo(events, end);
  if (!verdict.passed) {
    throw new CliError(
      "demo_failed",
      ["the demo did not go as it should:", ...verdict.problems].join("\n  "),
      { hint: "check this machine with: ./yard doctor" },
    );
  }
  terminal.note(
    terminal.paintNote(
      "green",
      `The policy allowed ${count(verdict.allowed, "call")} and denied the write (rule ${verdict.rule}), as it should.`,
    ),
  );
  for (const line of await nextSteps(instance, staysOpen ? terminal.env : null))
    terminal.note(line);
  return EXIT.ok;
}

async function requireFiles(terminal: Terminal, bus: Bus, signal: AbortSignal): Promise<void> {
  const servers = await waitForMcpServers(bus, { timeoutMs: MCP_TIMEOUT_MS, signal });
  terminal.note(`  MCP servers: ${servers.map(serverText).join(", ")}`);
  const files = servers.find(({ id }) => id === "files");
  if (signal.aborted || files?.status === "connected") return;
  throw new CliError(
    "server_down",
    files === undefined
      ? 'the demo needs the MCP server "files", which this instance does not have'
      : `the demo needs the MCP server files: ${serverText(files)}`,
    { hint: "start an instance with the examples: ./yard dev --demo" },
  );
}

function targetOf(instance: InstanceRecord, env: NodeJS.ProcessEnv): BusTarget {
  if (instance.phase !== "ready" || instance.natsUrl === null) {
    throw new CliError("not_running", `the running instance is ${instance.phase}`, {
      hint: "try again in a moment",
    });
  }
  const name = CLI_USER;
  const { keys } = stateDirectory(env, null);
  return {
    servers: instance.natsUrl,
    user: name,
    nkeyFile: seedFile(keys, name),
    source: "dev",
  };
}

/** `env` is null when nothing stays open. */
async function nextSteps(
  instance: InstanceRecord,
  env: NodeJS.ProcessEnv | null,
): Promise<string[]> {
  const staysOpen = env !== null;
  const http = staysOpen ? await httpAccess(instance, stateDirectory(env, null).keys) : null;
  return [
    "",
    ...(http === null ? [] : [`The console: ${http.url}/#token=${http.token}`, ""]),
    "Do it yourself:",
    ...(staysOpen
      ? []
      : [
          "  npm start -- --open        leaves everything running after the demo, with the console",
        ]),
    "  ./yard dev --demo          starts everything and shows one log; then, in another terminal,",
    `  ./yard run demo "${QUESTION}"`,
    "or with any NATS client, no library of ours:",
    `  ${natsCommand(instance.natsUrl ?? "", { agent: "demo", question: QUESTION })}`,
    "",
  ];
}

/** One line for each phase; the services' own lines only when something goes wrong. */
function quietLog(terminal: Terminal): { report: StackReport; replay: () => void } {
  const kept: string[] = [];
  const keep = readableLog({
    ...terminal,
    out: (line) => void (kept.push(line) > KEPT_LINES && kept.shift()),
    paintOut: (_style, text) => text,
  });
  return {
    report: {
      ...keep,
      step: (text) => terminal.note(`  ${text}`),
      warn: (text) => terminal.note(`  ${terminal.paintNote("yellow", "warning:")} ${text}`),
    },
    replay: () => {
      for (const line of kept) terminal.note(line);
    },
  };
}

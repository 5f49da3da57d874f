import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cutText } from "@switchyard/contracts/cut-text";
import { driveAcp } from "./acp-driver.ts";
import { driveClaude } from "./claude-driver.ts";
import { driveCodex } from "./codex-driver.ts";
import { startCli, type CliProcess } from "./cli-process.ts";
import { DriverError, type Driver } from "./driver.ts";
import type { Cli, HostEvent, HostResults, HostStart } from "./host-protocol.ts";
import { openToolBridge, type ToolBridge } from "./tool-bridge.ts";

const DRIVERS: Readonly<Record<Cli, Driver>> = {
  acp: driveAcp,
  gemini: driveAcp,
  opencode: driveAcp,
  claude: driveClaude,
  codex: driveCodex,
};

/** Lets the CLI do one turn; its output and its end are published. */
export function hostRun(
  start: HostStart,
  report: (event: HostEvent) => void,
): { take(results: HostResults): void; end(): Promise<void> } {
  let bridge: ToolBridge | null = null;
  let cli: CliProcess | null = null;
  let isEnded = false;
  const work = async (): Promise<void> => {
    const { directory } = start;
    const [home, cwd] = [join(directory, "home"), join(directory, "work")];
    for (const path of [directory, home, cwd]) await mkdir(path, { recursive: true, mode: 0o700 });
    bridge = await openToolBridge({ ...start, report });
    const sockets = bridge.directory;
    await DRIVERS[start.cli]({
      start,
      bridge: bridge.entry,
      home,
      work: cwd,
      session: await readSession(directory),
      report,
      async spawn(args, env) {
        cli = await startCli(start, { args, env, cwd, directory, sockets });
        report({ type: "started", group: cli.group });
        if (isEnded) await cli.end();
        return cli;
      },
      async onSession(id, isResumed) {
        await keepSession(directory, id);
        report({ type: "session", id, isResumed });
      },
    });
  };
  const done = work().catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    const isRetryable = error instanceof DriverError && error.isRetryable;
    report({ type: "failed", message: cutText(message, 2_000), isRetryable });
  });
  return {
    take: ({ results, tools }) => bridge?.take(results, tools),
    async end() {
      isEnded = true;
      await cli?.end();
      await bridge?.close();
      await done;
    },
  };
}

const FILE = "session.json";

/** The CLI's own id of the session of a run; null when none was begun, or its note cannot be read. */
async function readSession(directory: string): Promise<string | null> {
  try {
    const { id } = JSON.parse(await readFile(join(directory, FILE), "utf8")) as { id?: unknown };
    return typeof id === "string" ? id : null;
  } catch {
    return null; // a new session is begun, with the whole conversation
  }
}

/** Stores the session's id for the next host of the run on this machine. */
async function keepSession(directory: string, id: string): Promise<void> {
  const path = join(directory, FILE);
  await writeFile(`${path}.new`, JSON.stringify({ id }), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

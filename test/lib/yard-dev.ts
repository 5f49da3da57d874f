import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { redisWords } from "./redis-words.ts";

/** The root of the repository. */
const root = fileURLToPath(new URL("../../", import.meta.url));

export interface DevProcess {
  readonly name: string;
  readonly pid: number;
  readonly healthUrl: string | null;
}

/** Output of `yard dev --json` when everything runs. */
export interface DevInstance {
  readonly natsUrl: string;
  readonly redisUrl: string;
  /** The gateway's address, and the file with the token of the person who runs the instance. */
  readonly httpUrl: string;
  readonly httpTokenFile: string;
  readonly processes: readonly DevProcess[];
  readonly stateDir: string;
  /** The metrics of the process that has the service, such as `broker`. */
  metricsOf(service: string): Promise<string>;
  /** Lines of the merged log so far, parsed; grows while the instance runs. */
  readonly log: readonly Record<string, unknown>[];
  /**
   * Stops everything as Ctrl-C does, and resolves with the exit code. Rejects when a service sent Redis a command that its user may
   * not send.
   */
  stop(): Promise<number | null>;
}

/** A connection as the person who runs the instance, like that of `yard`. */
export function connectAsCli({
  natsUrl,
  stateDir,
}: Pick<DevInstance, "natsUrl" | "stateDir">): Promise<Bus> {
  const nkeySeed = () => readFile(join(stateDir, "keys", "cli.nk"), "utf8");
  return connectBus({ servers: natsUrl, user: "cli", nkeySeed });
}

/**
 * Starts the whole of Switchyard with `yard dev` on a project, with a state directory of its own.
 * Rejects with the end of the log when it ends before it is ready.
 */
export async function startYardDev(options: {
  project: string;
  stateDir: string;
  runners?: number;
  /** True for a test that kills or stops one service: each is a process of its own. `YARD_TEST_PROCESSES=1` has all tests do so. */
  apart?: boolean;
  /** Default: the repository. */
  workspace?: string;
  /** The checkout whose code is started. Default: this one. */
  checkout?: string;
  env?: Record<string, string>;
}): Promise<DevInstance> {
  const { project, stateDir, runners = 1, workspace = root, checkout = root, env = {} } = options;
  // The code of another checkout may not have this option.
  const isApart =
    (options.apart ?? process.env["YARD_TEST_PROCESSES"] === "1") && checkout === root;
  const child = spawn(
    process.execPath,
    [
      join(checkout, "apps/cli/src/main.ts"),
      "dev",
      "--json",
      // However this process ends, the instance ends with it: its standard input closes.
      ...(checkout === root ? [EXIT_WITH_PARENT] : []),
      "--project",
      isAbsolute(project) ? project : join(root, project),
      "--runners",
      String(runners),
      "--workspace",
      workspace,
      ...(isApart ? ["--processes"] : []),
    ],
    {
      env: {
        ...withoutOurs(process.env),
        // MCP servers get the person's own Node.js, which need not be able to run TypeScript.
        TEST_NODE: process.execPath,
        YARD_STATE_DIR: stateDir,
        // The last version has a variable in place of the argument.
        ...(checkout === root ? {} : { YARD_EXIT_WITH_PARENT: "1" }),
        // Servers of tests write to the test's directories. Sandboxes have tests of their own.
        YARD_MCP_SANDBOX: "off",
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  const exited: Promise<number | null> = once(child, "exit").then(
    ([code]) => code as number | null,
  );
  const log: Record<string, unknown>[] = [];
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));

  const ready = new Promise<Record<string, unknown>>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const entry = parseLine(line);
      log.push(entry);
      if (entry["msg"] === "switchyard ready") resolve(entry);
    });
  });
  const facts = await Promise.race([
    ready,
    exited.then((code) => {
      const lines = log.slice(-20).map((entry) => JSON.stringify(entry));
      throw new Error(`yard dev ended with ${code}:\n${lines.join("\n")}\n${errors}`);
    }),
  ]);
  const processes = facts["processes"] as DevProcess[]; // written by readyBlock's own types
  return {
    natsUrl: String(facts["natsUrl"]),
    redisUrl: String(facts["redisUrl"]),
    httpUrl: String(facts["httpUrl"]),
    httpTokenFile: String(facts["httpTokenFile"]),
    processes,
    stateDir,
    log,
    async metricsOf(service) {
      const found =
        processes.find(({ name }) => name === service) ??
        processes.find(({ name }) => name === "switchyard");
      return (await fetch(new URL("/metrics", found?.healthUrl ?? ""))).text();
    },
    async stop() {
      const refused = await refusedByRedis(String(facts["redisUrl"]), stateDir);
      child.kill("SIGTERM");
      const code = await exited;
      if (refused !== NOTHING) throw new Error(`Redis refused a service:\n${refused}`);
      return code;
    },
  };
}

/** The reply of Redis when its log of refusals is empty. */
const NOTHING = "*0\r\n";

/** Commands that Redis refused since its start, raw. */
async function refusedByRedis(url: string, stateDir: string): Promise<string> {
  const password = (await readFile(join(stateDir, "keys", "admin.redis"), "utf8")).trim();
  return redisWords(url, { user: "admin", password }, [["ACL", "LOG"]]);
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { msg: line };
  }
}

/** A test must not find the servers of the person who runs it. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(
    ([name]) => !name.startsWith("YARD_") || name.endsWith("_BIN"),
  );
  return Object.fromEntries(kept);
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { testConstants, type Constants } from "@switchyard/testing/test-constants";
import { startTestServices } from "@switchyard/testing/test-services";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { dev, type DevParts } from "../../apps/cli/src/commands/dev.ts";
import { launchService, speakerOf } from "../../apps/cli/src/dev/service-process.ts";
import { TOGETHER } from "../../apps/cli/src/dev/service-plan.ts";
import type { Terminal } from "../../apps/cli/src/terminal.ts";
import { chosenServices } from "../../apps/switchyard/src/chosen-services.ts";
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

interface DevOptions {
  readonly project: string;
  readonly stateDir: string;
  readonly runners?: number;
  /**
   * True for a test that kills or stops one service: each is a process of its own. False: all are one process, as people have it. Without it they run
   * in the process of the test, which loads them once for all of its files; with YARD_TEST_PROCESSES=1 they are apart.
   */
  readonly apart?: boolean | undefined;
  /** Default: the repository. */
  readonly workspace?: string;
  /** The checkout whose code is started. Default: this one. */
  readonly checkout?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Values that replace constants of services. */
  readonly constants?: Constants;
}

/** A `yard dev` that was started. */
interface Started {
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
  /** Requests the end, as Ctrl-C does. */
  stop(): void;
  /** Returns the text that it wrote beside its log. */
  errors(): string;
}

/**
 * Starts the whole of Switchyard with `yard dev` on a project, with a state directory of its own.
 * Rejects with the end of the log when it ends before it is ready.
 */
export async function startYardDev(options: DevOptions): Promise<DevInstance> {
  const { stateDir, checkout = root } = options;
  const apart = options.apart ?? (process.env["YARD_TEST_PROCESSES"] === "1" ? true : undefined);
  const log: Record<string, unknown>[] = [];
  const ready = Promise.withResolvers<Record<string, unknown>>();
  const onLine = (line: string): void => {
    const entry = parseLine(line);
    log.push(entry);
    if (entry["msg"] === "switchyard ready") ready.resolve(entry);
  };
  const start = apart === undefined && checkout === root ? startHere : startProcess;
  const started = start({ ...options, apart }, onLine);
  const facts = await Promise.race([
    ready.promise,
    started.exited.then((code) => {
      const lines = log.slice(-20).map((entry) => JSON.stringify(entry));
      throw new Error(`yard dev ended with ${code}:\n${lines.join("\n")}\n${started.errors()}`);
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
      started.stop();
      const code = await started.exited;
      if (refused !== NOTHING) throw new Error(`Redis refused a service:\n${refused}`);
      return code;
    },
  };
}

function environmentOf({ stateDir, env }: DevOptions): NodeJS.ProcessEnv {
  return {
    ...withoutOurs(process.env),
    // MCP servers get the person's own Node.js, which need not be able to run TypeScript.
    TEST_NODE: process.execPath,
    YARD_STATE_DIR: stateDir,
    // Servers of tests write to the test's directories. Sandboxes have tests of their own.
    YARD_MCP_SANDBOX: "off",
    ...env,
  };
}

/** Runs the command in this process, with all services in it, which load only what no test before has loaded. NATS and Redis are processes. */
function startHere(options: DevOptions, onLine: (line: string) => void): Started {
  const { project, runners = 1, workspace = root } = options;
  const stop = new AbortController();
  const errors: string[] = [];
  const terminal: Terminal = {
    env: environmentOf(options),
    out: onLine,
    note: (line) => void errors.push(line),
    error: (line) => void errors.push(line),
    paintOut: (_style, text) => text,
    paintNote: (_style, text) => text,
  };
  const flags = { json: true, project: resolve(root, project), workspace, runners } as const;
  const launch = launchHere(options.constants);
  const exited = dev(terminal, flags, { launch, stop }).catch((error: unknown) => {
    errors.push(inspect(error));
    return null;
  });
  return { exited, stop: () => stop.abort(), errors: () => errors.join("\n") };
}

/** Returns a function that starts the services of a process in this one. */
function launchHere(constants: Constants = {}): DevParts["launch"] {
  return async (spec, { onLine, ...options }) => {
    // A further runner is a process of its own.
    if (spec.name !== TOGETHER) return launchService(spec, { onLine, ...options });
    const ended = Promise.withResolvers<string>();
    const services = await startTestServices(await chosenServices("all"), {
      env: spec.env,
      constants,
      onLine: (line) => onLine(line, speakerOf(spec, line)),
    });
    const stop = async (): Promise<void> => {
      ended.resolve(`exit code ${(await services.stop()) ? 0 : 1}`);
    };
    return {
      pid: process.pid,
      healthUrl: services.healthUrl,
      exited: ended.promise,
      stop,
      kill: () => void stop(),
    };
  };
}

function startProcess(options: DevOptions, onLine: (line: string) => void): Started {
  const { project, runners = 1, workspace = root, checkout = root, apart, constants } = options;
  const isOurs = checkout === root;
  const env = environmentOf(options);
  const child = spawn(
    process.execPath,
    [
      join(checkout, "apps/cli/src/main.ts"),
      "dev",
      "--json",
      // However this process ends, the instance ends with it: its standard input closes.
      ...(isOurs ? [EXIT_WITH_PARENT] : []),
      "--project",
      resolve(root, project),
      "--runners",
      String(runners),
      "--workspace",
      workspace,
      // The code of another checkout may not have this option.
      ...(isOurs && apart === true ? ["--processes"] : []),
    ],
    {
      env: {
        ...env,
        // The last version has a variable in place of the argument.
        ...(isOurs ? {} : { YARD_EXIT_WITH_PARENT: "1" }),
        ...(constants && testConstants(constants, env)),
      },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  createInterface({ input: child.stdout }).on("line", onLine);
  const exited = once(child, "exit").then(([code]) => code as number | null);
  return { exited, stop: () => void child.kill("SIGTERM"), errors: () => errors };
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

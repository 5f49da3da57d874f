import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { createUserKey } from "@switchyard/bus/keys";
import { ensureStreams } from "@switchyard/bus/streams";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { adminUser, cliUser, serviceUsers } from "@switchyard/topology/topology";
import { collectLogRecords, readLogRecords, type LogRecord } from "@switchyard/testing/log-records";
import { testConstants, type Constants } from "@switchyard/testing/test-constants";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { testServices } from "@switchyard/testing/test-services";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import { importerService } from "../src/service.ts";

/** A NATS server with the real permissions, a Redis, and one root directory for importers. */
export interface ImporterWorld {
  readonly root: string;
  readonly redis: RunningServer;
  /** A bus of the command line's user. */
  readonly cli: Bus;
  /** The environment with which `yard` connects to this bus. */
  readonly cliEnv: Readonly<Record<string, string>>;
  /** Writes files below the root, by their path. */
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Starts the service in the process of the test and waits until it is ready. It imports changed files when a request asks for it, or with
   * {@link WATCHING}.
   */
  start(env?: Record<string, string>, constants?: Constants): Promise<Importer>;
  /** Starts the service, or that of another checkout, as a process of its own. */
  startProcess(env?: Record<string, string>, main?: string): Promise<ImporterProcess>;
}

/** The constants of an importer that imports files when they change. */
export const WATCHING = { importDebounceMs: 200 };

/** The constants of one that imports them on request. */
const ON_REQUEST = { importDebounceMs: 3_600_000 };

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

export interface Importer {
  readonly records: readonly LogRecord[];
  /** The first line that satisfies the condition, written or to come; rejects when the process ends without it. */
  logged(isWanted: (record: LogRecord) => boolean): Promise<LogRecord>;
  /** Stops it in order. Returns the exit code, which is 0 when no step failed. */
  stop(): Promise<number | null>;
}

export interface ImporterProcess extends Importer {
  readonly pid: number | undefined;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
  readonly exitCode: Promise<number | null>;
}

export async function importerWorld(): Promise<ImporterWorld> {
  const startServices = testServices();
  const users = [...serviceUsers, adminUser, cliUser].map((user) => ({
    user,
    key: createUserKey(),
  }));
  const authorization = natsAuthorization({
    users: users.map(({ user, key }) => ({ user, nkey: key.publicKey })),
  });
  const [nats, redis, keys, root] = await Promise.all([
    testNats({ authorization }),
    testRedis(),
    testDirectory(),
    testDirectory(),
  ]);
  const seedOf = (name: string) => users.find(({ user }) => user.name === name)?.key.seed ?? "";
  const connect = (user: string) =>
    connectBus({ delegation: DELEGATION, servers: nats.url, user, nkeySeed: () => seedOf(user) });
  const admin = await connect(adminUser.name);
  await ensureStreams(admin);
  await admin.close();
  const seedFile = join(keys, "importer.nk");
  await writeFile(seedFile, seedOf("importer"), { mode: 0o600 });
  const cliSeedFile = join(keys, "cli.nk");
  await writeFile(cliSeedFile, seedOf(cliUser.name), { mode: 0o600 });
  const cli = await connect(cliUser.name);
  after(() => cli.close());

  const basics = {
    YARD_NATS_URL: nats.url,
    YARD_NATS_NKEY_FILE: seedFile,
    YARD_REDIS_URL: redis.url,
    YARD_SKILL_ROOTS: root,
  };
  return {
    root,
    redis,
    cli,
    cliEnv: {
      YARD_NATS_URL: nats.url,
      YARD_USER: cliUser.name,
      YARD_NATS_NKEY_FILE: cliSeedFile,
    },
    write: (files) => writeFiles(root, files),
    async start(env = {}, constants = {}) {
      const { records, logged, onLine } = collectLogRecords();
      const { stop } = await startServices([importerService], {
        env: { ...basics, ...env },
        constants: { ...ON_REQUEST, ...constants },
        onLine,
      });
      return { records, logged, stop: async () => ((await stop()) ? 0 : 1) };
    },
    async startProcess(env = {}, main = MAIN) {
      const importer = startProcess({ ...basics, ...env, ...testConstants(ON_REQUEST, env) }, main);
      await importer.logged(({ msg }) => msg === "service ready");
      return importer;
    },
  };
}

export async function writeFiles(
  root: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const writes = Object.entries(files).map(async ([path, text]) => {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  });
  await Promise.all(writes);
}

/** Starts the service with only the given environment and the cache of compiled code; it is killed when the test file ends. */
export function startProcess(env: Record<string, string>, main = MAIN): ImporterProcess {
  const child = spawn(process.execPath, [main], {
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const log = readLogRecords(child.stdout);
  let hasEnded = false;
  const exitCode = once(child, "close").then(([code]: unknown[]) => {
    hasEnded = true;
    log.end();
    return code as number | null; // as Node documents
  });
  after(async () => {
    if (hasEnded) return;
    child.kill("SIGKILL");
    await exitCode;
  });
  return {
    pid: child.pid,
    records: log.records,
    exitCode,
    logged: log.logged,
    stop: () => {
      child.kill("SIGTERM");
      return exitCode;
    },
    async kill() {
      child.kill("SIGKILL");
      await exitCode;
    },
  };
}

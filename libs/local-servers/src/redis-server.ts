import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startOnFreePort } from "./free-port.ts";

import { probeRedis } from "./probe.ts";
import { ACL_FILE, probeCredentials, writeAclFile, type RedisAccess } from "./redis-access.ts";
import { redisServerArguments } from "./redis-server-arguments.ts";
import { startServerProcess, type RunningServer, type ServerAddress } from "./server-process.ts";

export interface RedisServerOptions {
  /** `redis-server` or `valkey-server`. */
  binary: string;
  /** Append-only files and log; kept when the server stops. */
  dataDir: string;
  /** Default 0: any free port. */
  port?: number;
  /** Default `always`: an acknowledged write survives a crash. */
  appendfsync?: "always" | "everysec";
  /** Default: no access list, every user of this machine may do everything. */
  access?: RedisAccess;
  /** More of its command line, such as `--replicaof HOST PORT`. */
  more?: readonly string[];
  onExit?: (code: number | null, signal: NodeJS.Signals | null) => void;
  /** Default `{dataDir}/redis-server.log`. */
  logFile?: string;
  /** Notices for the person at the terminal, such as a left-over server that was stopped. */
  log?: (line: string) => void;
}

const HOST = "127.0.0.1";
const POLL_MS = 10;

/** Starts Redis or Valkey with its append-only file on loopback and waits until it has loaded its data. Rejects with `ServerStartError`. */
export async function startRedisServer(options: RedisServerOptions): Promise<RunningServer> {
  if (options.port !== undefined && options.port !== 0) return startOnPort(options, options.port);
  return startOnFreePort((port) => startOnPort(options, port));
}

async function startOnPort(options: RedisServerOptions, port: number): Promise<RunningServer> {
  const dataDir = resolve(options.dataDir);
  const { access } = options;
  return startServerProcess({
    name: "redis-server",
    binary: options.binary,
    args: redisServerArguments({
      bind: HOST,
      port,
      dir: dataDir,
      appendfsync: options.appendfsync ?? "always",
      protectedMode: true,
      aclFile: access === undefined ? null : join(dataDir, ACL_FILE),
      ...(options.more === undefined ? {} : { more: options.more }),
    }),
    dataDir,
    logFile: options.logFile,
    onExit: options.onExit,
    log: options.log,
    // Runs once the directory is claimed: another server's list must not be replaced.
    prepare: async () => {
      if (access !== undefined) await writeAclFile(dataDir, access.acl);
    },
    ready: (pid, signal) => redisReady({ pid, port, access, signal }),
  });
}

/** Starts a Redis Sentinel on loopback and waits until it answers. Rejects with `ServerStartError`. */
export async function startSentinel(options: {
  binary: string;
  /** The directory of its configuration, which it rewrites when it learns something. */
  dataDir: string;
  port: number;
  /** `sentinel monitor …` and the other lines of its configuration. */
  config: string;
  /** The password that its configuration has as `requirepass`. */
  password?: string | undefined;
}): Promise<RunningServer> {
  const dataDir = resolve(options.dataDir);
  const file = join(dataDir, "sentinel.conf");
  const { port, password } = options;
  const access =
    password === undefined ? undefined : { acl: "", probeUser: "default", probePassword: password };
  const own = `bind ${HOST}\nport ${port}\ndir "${dataDir}"\n`;
  return startServerProcess({
    name: "redis-sentinel",
    binary: options.binary,
    args: [file, "--sentinel"],
    dataDir,
    prepare: () => writeFile(file, `${own}${options.config}\n`, { mode: 0o600 }),
    ready: (pid, signal) => redisReady({ pid, port, access, signal }),
  });
}

async function redisReady({
  pid,
  port,
  access,
  signal,
}: {
  pid: number;
  port: number;
  access: RedisAccess | undefined;
  signal: AbortSignal;
}): Promise<ServerAddress> {
  for (;;) {
    const answer = await probeRedis({
      host: HOST,
      port,
      ...probeCredentials(access),
      signal,
    }).catch(() => null);
    // On a port that another Redis holds, that one answers while this one is about to give up.
    if (answer?.processId === pid)
      return { url: `redis://${HOST}:${port}`, host: HOST, port, version: answer.version };
    await delay(POLL_MS, undefined, { signal });
  }
}

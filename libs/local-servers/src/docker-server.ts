// NATS or Redis in a container that belongs to this process: `docker run --rm` in the foreground is the child process, the
// port is published on loopback alone, the data directory is mounted, and a label finds containers that a crash left behind.

import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { ContainerEngine } from "./container-engine.ts";
import { dataDirLabel, removeLeftOvers, type EngineControl } from "./left-over-containers.ts";
import { natsServerConfig } from "./nats-server-config.ts";
import { probeNats, probeRedis } from "./probe.ts";
import { ACL_FILE, probeCredentials, writeAclFile, type RedisAccess } from "./redis-access.ts";
import { redisServerArguments } from "./redis-server-arguments.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import type { ServerKindName } from "./server-kinds.ts";
import { startServerProcess, type RunningServer, type ServerAddress } from "./server-process.ts";

export interface DockerServerOptions {
  kind: ServerKindName;
  engine: ContainerEngine;
  image: string;
  /** Mounted as `/data`; kept when the server stops. */
  dataDir: string;
  /** Default 0: any free loopback port. */
  port?: number;
  /** NATS: more configuration text. */
  config?: string;
  /** Redis: default `always`. */
  appendfsync?: "always" | "everysec";
  /** Redis: default no access list. */
  access?: RedisAccess;
  onExit?: (code: number | null, signal: NodeJS.Signals | null) => void;
  logFile?: string;
  log?: (line: string) => void;
  run?: RunCommand;
}

const HOST = "127.0.0.1";
const START_TIMEOUT_MS = 30_000;
const CONTROL_TIMEOUT_MS = 15_000;
const POLL_MS = 50;
const NATS_PORT = 4222;
const NATS_MONITOR_PORT = 8222;
const REDIS_PORT = 6379;
const CONFIG_FILE = "nats.container.conf";

/**
 * Starts the image, which must be present, and waits until the server answers. `pid` is that of the engine's client.
 * Rejects with `ServerStartError`.
 */
export async function startDockerServer(options: DockerServerOptions): Promise<RunningServer> {
  const { kind, engine, access, log = () => {}, run = runCommand } = options;
  const name = `${kind}-server`; // as without a container: the claim of the data directory is the same
  const dataDir = resolve(options.dataDir);
  const container = `yard-${kind}-${randomBytes(6).toString("hex")}`;
  const control: EngineControl = (...args) => run(engine, args, { timeoutMs: CONTROL_TIMEOUT_MS });
  const server = await startServerProcess({
    name,
    binary: engine,
    args: containerArguments({ ...options, dataDir, container, user: currentUser(engine) }),
    env: engineEnvironment(process.env),
    dataDir,
    logFile: options.logFile,
    onExit: options.onExit,
    log,
    startTimeoutMs: START_TIMEOUT_MS,
    prepare: async () => {
      await removeLeftOvers({ control, name, dataDir, log });
      await mkdir(dataDir, { recursive: true, mode: 0o700 });
      if (kind === "nats") await writeNatsConfig(dataDir, options.config ?? "");
      if (kind === "redis" && access !== undefined) await writeAclFile(dataDir, access.acl);
    },
    ready: (_pid, signal) => containerReady({ kind, container, control, access, signal }),
  }).catch(async (error: unknown) => {
    await control("rm", "--force", container);
    throw error;
  });
  return {
    ...server,
    // Ending the engine's client passes the signal on, but only the engine can confirm that the container is gone.
    stop: async () => {
      await server.stop();
      await control("rm", "--force", container);
    },
    kill: (signal) => void control("kill", "--signal", signal, container),
  };
}

/** The engine's command line for one server. */
export function containerArguments(options: {
  kind: ServerKindName;
  image: string;
  dataDir: string;
  container: string;
  port?: number;
  appendfsync?: "always" | "everysec";
  access?: RedisAccess;
  /** Arguments that make files in the data directory belong to the person, not to root. */
  user: readonly string[];
}): string[] {
  const { kind, image, dataDir, container, port = 0, appendfsync = "always", user } = options;
  const aclFile = options.access === undefined ? null : `/data/${ACL_FILE}`;
  const shared = [
    "run",
    "--rm",
    "--pull",
    "never",
    "--name",
    container,
    ...dataDirLabel(dataDir),
    ...user,
    ...bindMount(dataDir),
  ];
  if (kind === "nats") {
    return [
      ...shared,
      ...publish(NATS_PORT, port),
      ...publish(NATS_MONITOR_PORT, 0),
      image,
      "-c",
      `/data/${CONFIG_FILE}`,
    ];
  }
  const redis = redisServerArguments({
    bind: "0.0.0.0",
    port: REDIS_PORT,
    dir: "/data",
    appendfsync,
    protectedMode: false,
    aclFile,
  });
  return [...shared, ...publish(REDIS_PORT, port), image, ...redis];
}

function publish(inside: number, outside: number): string[] {
  return ["--publish", `${HOST}:${outside === 0 ? "" : outside}:${inside}`];
}

/** The option is not `--volume`, which cuts a path at its colons. The engine reads the value as a line of CSV. */
function bindMount(dataDir: string): string[] {
  const source = `source=${dataDir}`.replaceAll('"', '""');
  return ["--mount", `type=bind,"${source}",target=/data`];
}

function currentUser(engine: ContainerEngine): string[] {
  if (engine === "podman") return ["--userns", "keep-id"];
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === undefined || gid === undefined ? [] : ["--user", `${uid}:${gid}`];
}

function engineEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => /^(DOCKER_|CONTAINER_|CONTAINERS_|XDG_)/.test(name)),
  );
}

async function writeNatsConfig(dataDir: string, extra: string): Promise<void> {
  const file = join(dataDir, CONFIG_FILE);
  await rm(file, { force: true });
  const config = natsServerConfig({
    host: "0.0.0.0",
    port: NATS_PORT,
    monitorPort: NATS_MONITOR_PORT,
    storeDir: "/data/jetstream",
    extra,
  });
  await writeFile(file, config, { mode: 0o600 });
}

async function containerReady(target: {
  kind: ServerKindName;
  container: string;
  control: EngineControl;
  access: RedisAccess | undefined;
  signal: AbortSignal;
}): Promise<ServerAddress> {
  const { kind, container, control, access, signal } = target;
  const publishedPort = async (inside: number): Promise<number> => {
    const { stdout } = await control("port", container, `${inside}/tcp`);
    return Number(/:(\d+)\s*$/m.exec(stdout)?.[1] ?? 0);
  };
  const inside = kind === "nats" ? NATS_PORT : REDIS_PORT;
  for (;;) {
    const port = await publishedPort(inside);
    // The engine accepts connections before the server inside does, and closes them: probe until the server answers.
    const probe = kind === "nats" ? probeNats : probeRedis;
    const at = { host: HOST, port, ...probeCredentials(access), signal };
    const answer = port === 0 ? null : await probe(at).catch(() => null);
    if (answer !== null) {
      const address = {
        url: `${kind}://${HOST}:${port}`,
        host: HOST,
        port,
        version: answer.version,
      };
      return kind === "nats"
        ? { ...address, monitorUrl: `http://${HOST}:${await publishedPort(NATS_MONITOR_PORT)}` }
        : address;
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

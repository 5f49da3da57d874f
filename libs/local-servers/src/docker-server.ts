// NATS or Redis in a container that belongs to this process: `docker run --rm` in the foreground is the child process, the
// port is published on loopback alone, the data directory is mounted, and a label finds containers that a crash left behind.

import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import type { ContainerEngine } from "./container-engine.ts";
import {
  CONTAINER_DATA,
  CONTAINER_PORTS,
  containerCommand,
  writeContainerFiles,
} from "./container-server.ts";
import { dataDirLabel, removeLeftOvers, type EngineControl } from "./left-over-containers.ts";
import { probeNats, probeRedis } from "./probe.ts";
import { probeCredentials, type RedisAccess } from "./redis-access.ts";
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
      await writeContainerFiles({ kind, dataDir, config: options.config, access });
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
  access?: RedisAccess;
  /** Arguments that make files in the data directory belong to the person, not to root. */
  user: readonly string[];
}): string[] {
  const { kind, image, dataDir, container, port = 0, access, user } = options;
  return [
    "run",
    "--rm",
    "--pull",
    "never",
    "--name",
    container,
    ...dataDirLabel(dataDir),
    ...user,
    ...bindMount(dataDir),
    ...publish(CONTAINER_PORTS[kind], port),
    ...(kind === "nats" ? publish(CONTAINER_PORTS.monitor, 0) : []),
    image,
    ...containerCommand({ kind, access }),
  ];
}

function publish(inside: number, outside: number): string[] {
  return ["--publish", `${HOST}:${outside === 0 ? "" : outside}:${inside}`];
}

/** The option is not `--volume`, which cuts a path at its colons. The engine reads the value as a line of CSV. */
function bindMount(dataDir: string): string[] {
  const source = `source=${dataDir}`.replaceAll('"', '""');
  return ["--mount", `type=bind,"${source}",target=${CONTAINER_DATA}`];
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
  for (;;) {
    const port = await publishedPort(CONTAINER_PORTS[kind]);
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
        ? {
            ...address,
            monitorUrl: `http://${HOST}:${await publishedPort(CONTAINER_PORTS.monitor)}`,
          }
        : address;
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

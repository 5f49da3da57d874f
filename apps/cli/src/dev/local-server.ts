import { startDockerServer } from "@switchyard/local-servers/docker-server";
import { resolveServer, type ResolvedServer } from "@switchyard/local-servers/resolve";
import { startNatsServer } from "@switchyard/local-servers/nats-server";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import { startRedisServer } from "@switchyard/local-servers/redis-server";
import { ServerStartError, type RunningServer } from "@switchyard/local-servers/server-process";
import { CliError } from "../cli-error.ts";
import type { Running } from "./supervise.ts";

export type ServerName = "nats" | "redis";
export const SERVER_TITLE: Readonly<Record<ServerName, string>> = { nats: "NATS", redis: "Redis" };

export interface LocalServer extends Running {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly monitorUrl: string | null;
}

export interface LocalServerOptions {
  readonly name: ServerName;
  readonly resolved: Exclude<ResolvedServer, { how: "url" }>;
  readonly dataDir: string;
  /** 0 is any free port. */
  readonly port: number;
  /** Configuration text for nats-server: its users and their permissions. */
  readonly natsConfig: string;
  /** The users of Redis and their rights. */
  readonly redisAccess: RedisAccess;
  readonly log: (line: string) => void;
}

/** Finds NATS or Redis and logs which step of the search succeeded. */
export async function resolveLocalServer(
  name: ServerName,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<ResolvedServer> {
  try {
    return await resolveServer({ kind: name, env, log });
  } catch (error) {
    throw new CliError("disconnected", error instanceof Error ? error.message : String(error), {
      hint: "look at all requirements with: ./yard doctor",
      cause: error,
    });
  }
}

/** Starts one server and waits until it answers. */
export async function launchServer(options: LocalServerOptions): Promise<LocalServer> {
  const { promise: exited, resolve: exit } = Promise.withResolvers<string>();
  const server = await start(options, (code, signal) =>
    exit(signal === null ? `exit code ${code}` : `signal ${signal}`),
  );
  return {
    pid: server.pid,
    healthUrl: null,
    url: server.url,
    port: server.port,
    version: server.version,
    monitorUrl: server.monitorUrl ?? null,
    exited,
    stop: () => server.stop(),
    kill: () => server.kill("SIGKILL"),
  };
}

/** True when a server did not start because another process has its port. */
export function isPortTaken(error: unknown): boolean {
  return (
    error instanceof ServerStartError &&
    /address already in use|port is already allocated/i.test(error.output)
  );
}

function start(
  { name, resolved, ...options }: LocalServerOptions,
  onExit: (code: number | null, signal: NodeJS.Signals | null) => void,
): Promise<RunningServer> {
  const { dataDir, port, log, natsConfig: config, redisAccess: access } = options;
  if (resolved.how === "docker") {
    const { engine, image } = resolved;
    const shared = { kind: name, engine, image, dataDir, port, log, onExit };
    return startDockerServer({ ...shared, ...(name === "nats" ? { config } : { access }) });
  }
  const { binary } = resolved;
  return name === "nats"
    ? startNatsServer({ binary, dataDir, port, log, config, onExit })
    : startRedisServer({ binary, dataDir, port, log, access, onExit });
}

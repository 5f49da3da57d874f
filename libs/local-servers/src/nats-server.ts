import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { startOnFreePort } from "./free-port.ts";
import { natsServerConfig } from "./nats-server-config.ts";
import { probeNats } from "./probe.ts";
import { startServerProcess, type RunningServer, type ServerAddress } from "./server-process.ts";

export interface NatsServerOptions {
  binary: string;
  /** Configuration, ports, log and JetStream files; kept when the server stops. */
  dataDir: string;
  /** Default 0: any free port. */
  port?: number;
  /** More configuration text, for instance users and permissions. */
  config?: string;
  onExit?: (code: number | null, signal: NodeJS.Signals | null) => void;
  /** Default `{dataDir}/nats-server.log`. */
  logFile?: string;
  /** Notices for the person at the terminal, such as a left-over server that was stopped. */
  log?: (line: string) => void;
}

const HOST = "127.0.0.1";
/** nats-server picks one itself and names it in its ports file. */
const ANY_PORT = -1;
const POLL_MS = 10;

/** Starts nats-server with JetStream on loopback and waits until it answers. Rejects with `ServerStartError`. */
export async function startNatsServer(options: NatsServerOptions): Promise<RunningServer> {
  if (options.port !== undefined && options.port !== 0) return startOnPort(options, options.port);
  return startOnFreePort((port) => startOnPort(options, port));
}

async function startOnPort(options: NatsServerOptions, port: number): Promise<RunningServer> {
  const dataDir = resolve(options.dataDir);
  const portsDir = join(dataDir, "ports");
  const configFile = join(dataDir, "nats.conf");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return startServerProcess({
    name: "nats-server",
    binary: options.binary,
    args: ["-c", configFile],
    dataDir,
    logFile: options.logFile,
    onExit: options.onExit,
    log: options.log,
    prepare: async () => {
      // A killed server leaves its ports file behind, and a later server may get the same pid.
      await rm(portsDir, { recursive: true, force: true });
      await mkdir(portsDir, { mode: 0o700 });
      await rm(configFile, { force: true });
      await writeFile(
        configFile,
        natsServerConfig({
          host: HOST,
          port,
          monitorPort: ANY_PORT,
          storeDir: join(dataDir, "jetstream"),
          portsDir,
          extra: options.config ?? "",
        }),
        { mode: 0o600 },
      );
    },
    ready: (pid, signal) => natsReady(join(portsDir, `nats-server_${pid}.ports`), signal),
  });
}

async function natsReady(portsFile: string, signal: AbortSignal): Promise<ServerAddress> {
  const ports = await readPorts(portsFile, signal);
  const { version } = await probeNats({ host: HOST, port: ports.client, signal });
  return {
    url: `nats://${HOST}:${ports.client}`,
    host: HOST,
    port: ports.client,
    version,
    monitorUrl: `http://${HOST}:${ports.monitoring}`,
  };
}

async function readPorts(
  file: string,
  signal: AbortSignal,
): Promise<{ client: number; monitoring: number }> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    const client = portOf(text, "nats");
    const monitoring = portOf(text, "monitoring");
    if (client !== null && monitoring !== null) return { client, monitoring };
    await delay(POLL_MS, undefined, { signal });
  }
}

function portOf(portsText: string, kind: "nats" | "monitoring"): number | null {
  // {"nats":["nats://127.0.0.1:4222"],"monitoring":["http://127.0.0.1:8222"]}; read by pattern because it may be half written.
  const port = new RegExp(`"${kind}":\\s*\\[\\s*"[a-z]+://127\\.0\\.0\\.1:(\\d+)"`).exec(
    portsText,
  )?.[1];
  return port === undefined ? null : Number(port);
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { installedGateway } from "../gateway/installed-gateway.ts";
import { freePort } from "@switchyard/local-servers/free-port";
import type { Stage } from "../lib/stage.ts";

const SERVER_VERSION = "1.7.12";
const START_MS = 60_000;
export const RESTATE_SDK = "1.17.2";

/** A handler that Restate invokes. */
export interface RestateService {
  /** The file of its process, which listens on RESTATE_SERVICE_PORT. */
  readonly file: URL;
  readonly env: Record<string, string>;
  /** The service and its handler, as in the path of an invocation. */
  readonly handler: string;
}

/**
 * Starts Restate on loopback with one service, and returns one invocation of it.
 * The server (BUSL-1.1) is installed into the user's cache when it is missing.
 */
export async function startRestate(
  stage: Stage,
  service: RestateService,
): Promise<() => Promise<void>> {
  const program = await installedGateway({
    name: `@restatedev/restate-server-${process.platform}-${process.arch}`,
    version: SERVER_VERSION,
    program: "bin/restate-server",
  });
  const servicePort = await freePort();
  await stage.process(service.file, {
    ...service.env,
    RESTATE_SERVICE_PORT: String(servicePort),
    RESTATE_LOGGING: "ERROR",
  });
  const admin = `127.0.0.1:${await freePort()}`;
  const ingress = `127.0.0.1:${await freePort()}`;
  await startServer(stage, {
    program,
    env: {
      RESTATE_ADMIN__BIND_ADDRESS: admin,
      RESTATE_INGRESS__BIND_ADDRESS: ingress,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${await freePort()}`,
    },
  });
  await untilDone(() =>
    post(`http://${admin}/deployments`, { uri: `http://127.0.0.1:${servicePort}` }),
  );
  const invoke = () => post(`http://${ingress}/${service.handler}`);
  await untilDone(invoke);
  return invoke;
}

async function startServer(
  stage: Stage,
  { program, env }: { program: string; env: Record<string, string> },
): Promise<void> {
  const home = await stage.directory();
  const args = ["--no-logo", "--listen-mode", "tcp", "--base-dir", home];
  const child = spawn(program, args, {
    cwd: home,
    stdio: "ignore",
    env: {
      ...env,
      PATH: process.env["PATH"],
      HOME: home,
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_DISABLE_TELEMETRY: "true",
      DO_NOT_TRACK: "1",
    },
  });
  const exited = once(child, "exit");
  exited.catch(() => {}); // `untilDone` reports a program that cannot be started
  stage.onEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await exited;
  });
}

async function untilDone(attempt: () => Promise<void>): Promise<void> {
  const end = performance.now() + START_MS;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (performance.now() > end) throw new Error("Restate does not answer", { cause: error });
      await delay(100);
    }
  }
}

/** Resolves when the response has a success status. */
export async function post(url: string, body?: unknown): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
}

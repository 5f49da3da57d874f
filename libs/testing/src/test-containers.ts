// NATS and Redis of tests in containers, by testcontainers. Imported only where `YARD_TEST_CONTAINERS=1`: the product starts its containers
// with `docker-server.ts`, and has no such dependency.

import { mkdir } from "node:fs/promises";

import {
  GenericContainer,
  getContainerRuntimeClient,
  ImageName,
  Wait,
  type StartedTestContainer,
} from "testcontainers";
import { getReaperImage } from "testcontainers/build/reaper/reaper.js";
import { LIB_VERSION } from "testcontainers/build/version.js";

import {
  CONTAINER_DATA,
  CONTAINER_PORTS,
  containerCommand,
  writeContainerFiles,
} from "@switchyard/local-servers/container-server";
import { probeNats, probeRedis, type ProbeTarget } from "@switchyard/local-servers/probe";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import { probeCredentials, type RedisAccess } from "@switchyard/local-servers/redis-access";
import { SERVER_KINDS, type ServerKindName } from "@switchyard/local-servers/server-kinds";
import { ServerStartError, type RunningServer } from "@switchyard/local-servers/server-process";
import { until } from "@switchyard/local-servers/until";

/** Names the process whose test started a container: its pid and identity. */
const OWNER_LABEL = "switchyard.test-process";
const HOST = "127.0.0.1";
const START_TIMEOUT_MS = 30_000;
const PROBE_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MS = 5_000;
const SHOWN_LINES = 15;
const READY = { nats: /Server is ready/, redis: /Ready to accept connections/ } as const;

/**
 * The image of `kind`, pulled when it is missing, and a line about the engine that runs it. Removes the containers of tests whose process is
 * gone. Rejects when no engine answers on this machine.
 */
export async function containerImage(
  kind: ServerKindName,
): Promise<{ image: string; engine: string }> {
  const client = await getContainerRuntimeClient();
  const { host, serverVersion } = client.info.containerRuntime;
  // In a container testcontainers names the gateway of the engine's network, also where the engine runs in that container, too.
  const { socketPath } = client.container.dockerode.modem as { readonly socketPath?: string };
  if (socketPath === undefined && !["localhost", HOST].includes(host))
    throw new Error(
      `the container engine is on ${host}; tests need one of this machine, because they mount directories`,
    );
  const { image } = SERVER_KINDS[kind];
  await client.image.pull(ImageName.fromString(image));
  // Ryuk, which removes what a killed process left, is an image, too. Pulling it may not be possible where that of the server is local.
  if (!(await client.image.exists(ImageName.fromString(getReaperImage()))))
    process.env["TESTCONTAINERS_RYUK_DISABLED"] ??= "true";
  await removeAbandoned();
  const ryuk = process.env["TESTCONTAINERS_RYUK_DISABLED"] === "true" ? "without" : "with";
  return {
    image,
    engine: `testcontainers ${LIB_VERSION} on engine ${serverVersion}, ${ryuk} Ryuk`,
  };
}

/** Starts a server and waits until it answers; `pid` is that of the server, as the engine's machine sees it. Rejects with `ServerStartError`. */
export async function startTestContainer(options: {
  kind: ServerKindName;
  image: string;
  /** Mounted as `/data`; stays when the server stops. */
  dataDir: string;
  /** Default: any free loopback port. */
  port?: number;
  /** NATS: more configuration text. */
  config?: string;
  appendfsync?: "always" | "everysec";
  access?: RedisAccess;
}): Promise<RunningServer> {
  const { kind, image, dataDir, access } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeContainerFiles(options);
  const output: string[] = [];
  const definition = new LoopbackContainer(image)
    .withLabels({ [OWNER_LABEL]: `${process.pid} ${await processIdentity(process.pid)}` })
    .withBindMounts([{ source: dataDir, target: CONTAINER_DATA }])
    .withExposedPorts(
      { container: CONTAINER_PORTS[kind], host: options.port ?? 0 },
      ...(kind === "nats" ? [CONTAINER_PORTS.monitor] : []),
    )
    .withCommand(containerCommand(options))
    .withLogConsumer((log) => void log.on("data", (text: string) => output.push(text)))
    .withWaitStrategy(Wait.forLogMessage(READY[kind]))
    .withStartupTimeout(START_TIMEOUT_MS);
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  if (uid !== undefined) definition.withUser(`${uid}:${gid}`);
  try {
    return await describe(await definition.start(), kind, access);
  } catch (error) {
    await definition.remove();
    const reason = error instanceof Error ? error.message : String(error);
    const last = output.join("").trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
    throw new ServerStartError(`${kind}-server (${image}) could not be started: ${reason}`, last, {
      cause: error,
    });
  }
}

/** Publishes its ports on loopback alone: testcontainers binds them on all addresses, and a server of tests lets everybody in. */
class LoopbackContainer extends GenericContainer {
  #id: string | undefined;

  protected override async beforeContainerCreated(): Promise<void> {
    const bindings: Record<string, { HostPort: string }[]> = this.hostConfig.PortBindings;
    this.hostConfig.PortBindings = Object.fromEntries(
      Object.entries(bindings).map(([port, on]) => [
        port,
        on.map(({ HostPort }) => ({ HostIp: HOST, HostPort })),
      ]),
    );
  }

  protected override async containerCreated(id: string): Promise<void> {
    this.#id = id;
  }

  /** testcontainers leaves a container that it created and could not start. */
  async remove(): Promise<void> {
    if (this.#id !== undefined) await removeContainer(this.#id);
  }
}

async function describe(
  started: StartedTestContainer,
  kind: ServerKindName,
  access: RedisAccess | undefined,
): Promise<RunningServer> {
  const { container: containers } = await getContainerRuntimeClient();
  const container = containers.getById(started.getId());
  const exited = container.wait().then(
    () => removeContainer(container.id),
    () => removeContainer(container.id),
  );
  const port = started.getMappedPort(CONTAINER_PORTS[kind]);
  const probe: (target: ProbeTarget) => Promise<{ version: string }> =
    kind === "nats" ? probeNats : probeRedis;
  const answer = () =>
    probe({
      host: HOST,
      port,
      ...probeCredentials(access),
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    }).catch(() => null);
  const { version } = await until(answer);
  return {
    url: `${kind}://${HOST}:${port}`,
    host: HOST,
    port,
    version,
    ...(kind === "nats"
      ? { monitorUrl: `http://${HOST}:${started.getMappedPort(CONTAINER_PORTS.monitor)}` }
      : {}),
    pid: (await container.inspect()).State.Pid,
    exited,
    stop: async () => {
      await started.stop({ timeout: STOP_TIMEOUT_MS, remove: false }).catch(ignoreAbsence);
      await exited;
    },
    kill: (signal) => void container.kill({ signal }).catch(ignoreAbsence),
  };
}

async function removeAbandoned(): Promise<void> {
  const { container: containers } = await getContainerRuntimeClient();
  const filters = { label: [OWNER_LABEL] };
  for (const { Id, Labels } of await containers.dockerode.listContainers({ all: true, filters })) {
    const [, pid, identity] = /^(\d+) (.*)$/.exec(Labels[OWNER_LABEL] ?? "") ?? [];
    if ((await processIdentity(Number(pid))) !== identity) await removeContainer(Id);
  }
}

async function removeContainer(id: string): Promise<void> {
  const { container: containers } = await getContainerRuntimeClient();
  await containers.getById(id).remove({ force: true, v: true }).catch(ignoreAbsence);
}

/** 304, 404 and 409: the container has stopped, is gone, or is being removed by another caller. */
function ignoreAbsence(error: unknown): void {
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (status !== 304 && status !== 404 && status !== 409) throw error;
}

// Real servers for tests: temporary directories, free ports, stopped and removed when the test that asked for them ends.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { after } from "node:test";

import { startNatsServer } from "./nats-server.ts";
import type { RedisAccess } from "./redis-access.ts";
import { startRedisServer, startSentinel } from "./redis-server.ts";
import { resolveServer } from "./resolve.ts";
import type { ServerKindName } from "./server-kinds.ts";
import type { RunningServer } from "./server-process.ts";

/**
 * A nats-server with JetStream. Without `authorization` (configuration text) everyone may do anything.
 * Give `dataDir` and `port` again to restart one with its data after a crash.
 */
export async function testNats(
  options: { authorization?: string; port?: number; dataDir?: string } = {},
): Promise<RunningServer> {
  const { authorization, ...rest } = options;
  const dataDir = options.dataDir ?? (await testDirectory());
  const binary = await testBinary("nats");
  return stoppedAfterwards(
    dataDir,
    await startNatsServer({
      ...rest,
      binary,
      dataDir,
      ...(authorization === undefined ? {} : { config: authorization }),
    }),
  );
}

/** A Redis server with its append-only file (`appendfsync` default `everysec`, because tests on one disk wait for each other's fsync). */
export async function testRedis(
  options: {
    port?: number;
    dataDir?: string;
    appendfsync?: "always" | "everysec";
    access?: RedisAccess;
    more?: readonly string[];
  } = {},
): Promise<RunningServer> {
  const dataDir = options.dataDir ?? (await testDirectory());
  const binary = await testBinary("redis");
  return stoppedAfterwards(
    dataDir,
    await startRedisServer({ appendfsync: "everysec", ...options, binary, dataDir }),
  );
}

/** A Redis Sentinel, which is redis-server in another mode. `config` says what it watches, and `password` who may ask it. */
export async function testSentinel(
  port: number,
  config: string,
  password?: string,
): Promise<RunningServer> {
  const dataDir = await testDirectory();
  const options = { binary: await testBinary("redis"), dataDir, port, config, password };
  return stoppedAfterwards(dataDir, await startSentinel(options));
}

/** An empty directory; when the test ends, servers in it are stopped and it is removed. */
export async function testDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "switchyard-"));
  after(async () => {
    const inside = [...running].filter(
      ([, dataDir]) => dataDir === directory || dataDir.startsWith(directory + sep),
    );
    await Promise.all(inside.map(([server]) => server.stop()));
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  return directory;
}

const running = new Map<RunningServer, string>();
const binaries = new Map<ServerKindName, Promise<string>>();

function stoppedAfterwards(dataDir: string, server: RunningServer): RunningServer {
  running.set(server, dataDir);
  void server.exited.then(() => running.delete(server));
  after(() => server.stop());
  return server;
}

function testBinary(name: ServerKindName): Promise<string> {
  const known = binaries.get(name);
  if (known !== undefined) return known;
  const found = findTestBinary(name);
  binaries.set(name, found);
  return found;
}

async function findTestBinary(kind: ServerKindName): Promise<string> {
  // Tests never use a configured server (it is somebody's data) nor a container (they signal processes).
  const found = await resolveServer({
    kind,
    env: process.env,
    log: () => {},
    steps: ["binary", "packages"],
  });
  if (found.how !== "binary")
    throw new Error(
      `${kind}: the resolver answered ${found.how} where only programs were asked for`,
    );
  return found.binary;
}

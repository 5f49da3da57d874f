// Real servers for tests: temporary directories, free ports, stopped and removed when the test that started them ends.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { after } from "node:test";

import { startNatsServer } from "@switchyard/local-servers/nats-server";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import { startRedisServer, startSentinel } from "@switchyard/local-servers/redis-server";
import type { ServerKindName } from "@switchyard/local-servers/server-kinds";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import type { startTestContainer } from "./test-containers.ts";
import { testProgram, testSource, type TestSource } from "./test-source.ts";

/**
 * A nats-server with JetStream. Without `authorization` (configuration text) every user may do anything. Pass `dataDir` and `port` again to
 * restart one with its data after a crash. With `asProgram` it is a process of this machine also where tests use containers: for tests that
 * need further ports, other files, or its pid.
 */
export async function testNats(
  options: { authorization?: string; port?: number; dataDir?: string; asProgram?: boolean } = {},
): Promise<RunningServer> {
  const { authorization: config, asProgram = false, ...rest } = options;
  const dataDir = options.dataDir ?? (await testDirectory());
  const shared = { ...rest, dataDir, ...(config === undefined ? {} : { config }) };
  const source = await sourceOf("nats", asProgram);
  return stoppedAfterwards(
    dataDir,
    await (source.how === "container"
      ? startContainer({ ...shared, kind: "nats", image: source.image })
      : startNatsServer({ ...shared, binary: source.binary })),
  );
}

/**
 * A Redis server with its append-only file (`appendfsync` default `everysec`, because tests on one disk wait for each other's fsync). With
 * `asProgram`, or `more` of its command line, it is a process of this machine also where tests use containers.
 */
export async function testRedis(
  options: {
    port?: number;
    dataDir?: string;
    appendfsync?: "always" | "everysec";
    access?: RedisAccess;
    more?: readonly string[];
    asProgram?: boolean;
  } = {},
): Promise<RunningServer> {
  const { asProgram = options.more !== undefined, ...rest } = options;
  const dataDir = options.dataDir ?? (await testDirectory());
  const shared = { appendfsync: "everysec", ...rest, dataDir } as const;
  const source = await sourceOf("redis", asProgram);
  return stoppedAfterwards(
    dataDir,
    await (source.how === "container"
      ? startContainer({ ...shared, kind: "redis", image: source.image })
      : startRedisServer({ ...shared, binary: source.binary })),
  );
}

/**
 * A Redis Sentinel, which is redis-server in another mode. `config` names the primary that it watches, and `password` is the one that its
 * clients need.
 */
export async function testSentinel(
  port: number,
  config: string,
  password?: string,
): Promise<RunningServer> {
  const dataDir = await testDirectory();
  const options = { binary: await testProgram("redis"), dataDir, port, config, password };
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
/** Promises of one file, because the test runner takes what follows an `await` for a part of the file or test that created the promise. */
const sources = new Map<string, Promise<TestSource>>();

function stoppedAfterwards(dataDir: string, server: RunningServer): RunningServer {
  running.set(server, dataDir);
  void server.exited.then(() => running.delete(server));
  after(() => server.stop());
  return server;
}

/** Loads testcontainers, which is large, for tests with containers alone. */
const startContainer: typeof startTestContainer = async (options) =>
  (await import("./test-containers.ts")).startTestContainer(options);

function sourceOf(kind: ServerKindName, asProgram: boolean): Promise<TestSource> {
  const containers = asProgram ? "" : process.env["YARD_TEST_CONTAINERS"];
  const key = `${kind} ${containers}`;
  const known = sources.get(key);
  if (known !== undefined) return known;
  const found = testSource(kind, { ...process.env, YARD_TEST_CONTAINERS: containers });
  sources.set(key, found);
  after(() => sources.delete(key));
  return found;
}

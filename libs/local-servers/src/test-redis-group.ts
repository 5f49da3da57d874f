import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import type { RunningServer } from "./server-process.ts";
import { testDirectory, testRedis, testSentinel } from "./test-servers.ts";
import { until } from "./until.ts";

/** One Redis of a group, which can end and come back with its data. */
export interface RedisNode {
  readonly server: RunningServer;
  /** Starts it again on the same port with the same data, after it ended. */
  restart(): Promise<void>;
}

export interface RedisGroup {
  readonly nodes: readonly RedisNode[];
  /** By way of the Sentinels, as services take it. */
  readonly url: string;
  /** The one that the Sentinels name, when it says so itself. */
  primary(): Promise<RedisNode>;
  /** Resolves when the primary has as many replicas as it should that are not behind. */
  untilComplete(): Promise<void>;
  /** Has a replica take the place of a primary that is well. */
  failOver(): Promise<void>;
}

const GROUP = "main";

/**
 * A primary with replicas, and three Sentinels that replace it when two of them have not heard it for a second. Resolves when all know each other;
 * they end with the test.
 */
export async function testRedisGroup(
  size: number,
  options: { appendfsync?: "always" | "everysec" } = {},
): Promise<RedisGroup> {
  const first = await startNode(options);
  const { port } = first.server;
  const others = await Promise.all(
    Array.from({ length: size - 1 }, () =>
      startNode({ ...options, more: ["--replicaof", "127.0.0.1", String(port)] }),
    ),
  );
  const nodes = [first, ...others];
  const config = [
    `sentinel monitor ${GROUP} 127.0.0.1 ${port} 2`,
    `sentinel down-after-milliseconds ${GROUP} 1000`,
    `sentinel failover-timeout ${GROUP} 5000`,
  ].join("\n");
  const ports = await Promise.all([1, 2, 3].map(freePort));
  for (const each of ports) await testSentinel(each, config);
  const [asked = 0] = ports;
  const facts = async (each: number): Promise<ReadonlyMap<string, string>> =>
    pairs(await askRedis(each, `SENTINEL MASTER ${GROUP}`));
  await until(async () => {
    const told = await Promise.all(ports.map(facts));
    return told.every(
      (each) =>
        each.get("num-other-sentinels") === "2" && each.get("num-slaves") === String(size - 1),
    );
  });
  const group: RedisGroup = {
    nodes,
    url: `redis+sentinel://${ports.map((each) => `127.0.0.1:${each}`).join(",")}/${GROUP}`,
    primary: () =>
      until(async () => {
        const named = (await facts(asked)).get("port");
        const node = nodes.find(({ server }) => String(server.port) === named);
        if (node === undefined) return null;
        const role = await askRedis(node.server.port, "ROLE").catch(() => []);
        return role[0] === "master" ? node : null;
      }),
    async untilComplete() {
      await until(async () => {
        const { server } = await group.primary();
        const info = (await askRedis(server.port, "INFO replication")).join("\n");
        return (info.match(/state=online,offset=\d+,lag=[01]$/gm) ?? []).length === size - 1;
      });
    },
    async failOver() {
      await askRedis(asked, `SENTINEL FAILOVER ${GROUP}`);
    },
  };
  await group.untilComplete();
  return group;
}

/** Three nodes of Redis Cluster, each with a third of the slots. */
export async function testRedisCluster(): Promise<readonly RunningServer[]> {
  const nodes = await Promise.all(
    [0, 1, 2].map(async () => {
      const bus = await freePort();
      const more = ["--cluster-enabled", "yes", "--cluster-port", String(bus)];
      return { bus, server: await testRedis({ more }) };
    }),
  );
  const [first] = nodes;
  for (const [index, { server, bus }] of nodes.entries()) {
    const [from, to] = [Math.floor((16_384 * index) / 3), Math.floor((16_384 * (index + 1)) / 3)];
    await askRedis(server.port, `CLUSTER ADDSLOTSRANGE ${from} ${to - 1}`);
    await askRedis(first?.server.port ?? 0, `CLUSTER MEET 127.0.0.1 ${server.port} ${bus}`);
  }
  for (const { server } of nodes)
    await until(async () =>
      (await askRedis(server.port, "CLUSTER INFO")).includes("cluster_state:ok"),
    );
  return nodes.map(({ server }) => server);
}

async function startNode(
  options: Parameters<typeof testRedis>[0] & { more?: readonly string[] },
): Promise<RedisNode> {
  const dataDir = await testDirectory();
  let server = await testRedis({ ...options, dataDir });
  return {
    get server() {
      return server;
    },
    async restart() {
      await server.exited;
      server = await testRedis({ ...options, dataDir, port: server.port });
    },
  };
}

/** The lines of an answer, without the lengths of their parts. Rejects with what Redis refuses. */
async function askRedis(port: number, command: string): Promise<string[]> {
  const socket = connect({ host: "127.0.0.1", port }).setEncoding("utf8");
  // A Sentinel knows no QUIT; the answer to PING is behind the other one.
  socket.write(`${command}\r\nPING\r\n`);
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.endsWith("+PONG\r\n")) break;
  }
  if (text.startsWith("-")) throw new Error(`${command}: ${text.slice(1).split("\r\n", 1)[0]}`);
  const lines = text.slice(0, -"+PONG\r\n".length).split("\r\n");
  return lines.filter((line) => line !== "" && !/^[*$]-?\d+$/.test(line));
}

function pairs(lines: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < lines.length; at += 2) found.set(lines[at] ?? "", lines[at + 1] ?? "");
  return found;
}

/** The others have to know it before the server starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, "close");
  return port;
}

import { connect } from "node:net";
import { freePort, startOnFreePort } from "@switchyard/local-servers/free-port";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import { testDirectory, testRedis, testSentinel } from "./test-servers.ts";
import { until } from "@switchyard/local-servers/until";

/** One Redis of a group, which can be stopped and restarted with its data. */
export interface RedisNode {
  readonly server: RunningServer;
  /** Starts it again on the same port with the same data, after it ended. */
  restart(): Promise<void>;
}

export interface RedisGroup {
  readonly nodes: readonly RedisNode[];
  readonly sentinels: readonly RunningServer[];
  /** A URL that names the Sentinels, as services use it. */
  readonly url: string;
  /** The primary that the Sentinels name, once it confirms its role itself. */
  primary(): Promise<RedisNode>;
  /** Resolves when the primary has all its replicas, with all earlier writes. */
  untilComplete(): Promise<void>;
  /** Makes a replica take over from a primary that is well. */
  failOver(): Promise<void>;
}

/** TLS between all of them and to their clients: files; the certificate is its own authority and for 127.0.0.1. */
export interface GroupTls {
  readonly cert: string;
  readonly key: string;
}

/** TLS, and passwords. */
export interface GroupSecurity extends GroupTls {
  readonly password: string;
  readonly sentinelPassword: string;
}

const GROUP = "main";

/**
 * A primary with replicas, and three Sentinels that replace it when two of them have had no reply from it for a second. Resolves when all
 * have found each other; they end with the test.
 */
export async function testRedisGroup(
  size: number,
  options: { appendfsync?: "always" | "everysec"; secured?: GroupSecurity } = {},
): Promise<RedisGroup> {
  const { secured, ...rest } = options;
  const guarded = secured === undefined ? rest : { ...rest, ...guardedBy(secured) };
  const start = (...more: string[]) =>
    startNode({
      ...guarded,
      more: [...(secured ? ["--masterauth", secured.password] : []), ...more],
    });
  const first = await start();
  const { port } = first;
  const others = await Promise.all(
    Array.from({ length: size - 1 }, () => start("--replicaof", "127.0.0.1", String(port))),
  );
  const nodes = [first, ...others];
  const config = [
    `sentinel monitor ${GROUP} 127.0.0.1 ${port} 2`,
    `sentinel down-after-milliseconds ${GROUP} 1000`,
    `sentinel failover-timeout ${GROUP} 5000`,
    ...(secured === undefined ? [] : [`sentinel auth-pass ${GROUP} ${secured.password}`]),
  ];
  const places = await Promise.all(
    [1, 2, 3].map(async () => ({ plain: await freePort(), tls: await freePort() })),
  );
  const sentinels: RunningServer[] = [];
  for (const { plain, tls } of places) {
    const more = secured === undefined ? [] : securedSentinel(secured, tls);
    const text = [...more, ...config].join("\n");
    sentinels.push(await testSentinel(plain, text, secured?.sentinelPassword));
  }
  const askNode = (at: number, command: string) => askRedis(at, command, secured?.password);
  const askSentinel = (at: number, command: string) =>
    askRedis(at, command, secured?.sentinelPassword);
  const facts = async (each: number): Promise<ReadonlyMap<string, string>> =>
    pairs(await askSentinel(each, `SENTINEL MASTER ${GROUP}`));
  await until(async () => {
    const answers = await Promise.all(places.map(({ plain }) => facts(plain)));
    return answers.every(
      (each) =>
        each.get("num-other-sentinels") === "2" && each.get("num-slaves") === String(size - 1),
    );
  });
  // The last one is used, because tests end the first.
  const sentinel = places.at(-1)?.plain ?? 0;
  const scheme = secured === undefined ? "redis" : "rediss";
  const list = places.map(({ plain, tls }) => `127.0.0.1:${secured === undefined ? plain : tls}`);
  const group: RedisGroup = {
    nodes,
    sentinels,
    url: `${scheme}+sentinel://${list.join(",")}/${GROUP}`,
    primary: () =>
      until(async () => {
        const named = (await facts(sentinel)).get("port");
        const node = nodes.find((each) => String(each.port) === named);
        if (node === undefined) return null;
        const role = await askNode(node.server.port, "ROLE").catch(() => []);
        return role[0] === "master" ? node : null;
      }),
    async untilComplete() {
      await until(async () => {
        const { server } = await group.primary();
        const info = (await askNode(server.port, "INFO replication")).join("\n");
        return replicasUpToDate(info) === size - 1;
      });
    },
    async failOver() {
      await askSentinel(sentinel, `SENTINEL FAILOVER ${GROUP}`);
    },
  };
  await group.untilComplete();
  return group;
}

function tlsSettings(port: number, { cert, key }: GroupTls): [string, string][] {
  return [
    ["tls-port", String(port)],
    ["tls-cert-file", cert],
    ["tls-key-file", key],
    ["tls-ca-cert-file", cert],
    ["tls-auth-clients", "no"],
    ["tls-replication", "yes"],
  ];
}

function guardedBy({ password, ...tls }: GroupSecurity) {
  const acl = `user default on >${password} ~* &* +@all\n`;
  return { tls, access: { acl, probeUser: "default", probePassword: password } };
}

function securedSentinel(secured: GroupSecurity, port: number): string[] {
  return [
    ...tlsSettings(port, secured).map(([name, value]) => `${name} "${value}"`),
    `requirepass ${secured.sentinelPassword}`,
  ];
}

export interface RedisCluster {
  readonly nodes: readonly RedisNode[];
  /** A URL that names some of its nodes, as services use it. */
  readonly url: string;
  /** The nodes that have slots, as the running nodes agree. */
  primaries(): Promise<readonly RedisNode[]>;
  /** The node that has the slot of a key. */
  primaryOf(key: string): Promise<RedisNode>;
  /** The other node of its pair. */
  partnerOf(node: RedisNode): RedisNode;
  /** Resolves when all slots are served, by primaries whose replicas have all earlier writes. */
  untilComplete(): Promise<void>;
}

/** Redis Cluster: three primaries with a third of the slots each, and so many replicas of each. Resolves when it serves; it ends with the test. */
export async function testRedisCluster({
  replicas = 0,
  appendfsync = "everysec",
  access,
  tls,
}: {
  replicas?: 0 | 1;
  appendfsync?: "always" | "everysec";
  access?: RedisAccess;
  tls?: GroupTls;
} = {}): Promise<RedisCluster> {
  const ask = (node: RedisNode, command: string) =>
    askRedis(node.server.port, command, access?.probePassword, access?.probeUser);
  const startOnBus = async (bus: number) => {
    const more = ["--cluster-enabled", "yes", "--cluster-port", String(bus)];
    more.push("--cluster-node-timeout", "1000");
    // Otherwise a replica that could not be elected within 20 s, as on a busy machine, never tries again.
    more.push("--cluster-replica-validity-factor", "0");
    if (tls !== undefined) more.push("--tls-cluster", "yes");
    if (access !== undefined)
      more.push("--masteruser", access.probeUser, "--masterauth", access.probePassword);
    const node = await startNode({
      appendfsync,
      more,
      ...(access && { access }),
      ...(tls && { tls }),
    });
    return { bus, node };
  };
  const places = await Promise.all(
    Array.from({ length: 3 + 3 * replicas }, () => startOnFreePort(startOnBus)),
  );
  const nodes = places.map(({ node }) => node);
  const [first] = places;
  if (first === undefined) throw new Error("a cluster has nodes");
  for (const [index, { node, bus }] of places.entries()) {
    const [from, to] = [Math.floor((16_384 * index) / 3), Math.floor((16_384 * (index + 1)) / 3)];
    if (index < 3) await ask(node, `CLUSTER ADDSLOTSRANGE ${from} ${to - 1}`);
    if (index > 0) await ask(first.node, `CLUSTER MEET 127.0.0.1 ${node.port} ${bus}`);
  }
  const known = async (node: RedisNode): Promise<readonly string[][]> =>
    (await ask(node, "CLUSTER NODES"))
      .flatMap((text) => text.split("\n").filter((line) => line !== ""))
      .map((line) => line.split(" "));
  await until(async () =>
    (await Promise.all(nodes.map(known))).every((each) => each.length === nodes.length),
  );
  for (const [index, node] of nodes.slice(3).entries()) {
    const [id = ""] = await ask(nodes[index] ?? node, "CLUSTER MYID");
    await ask(node, `CLUSTER REPLICATE ${id}`);
  }
  const portOf = (address = "") => Number(/:(\d+)@/.exec(address)?.[1]);
  /** The nodes that have slots, as a running node reports them, with the ports without TLS, since the query came without TLS. */
  const rows = async () => {
    for (const node of nodes) {
      const all = await known(node).catch(() => null);
      const alive = all?.filter(([, , flags = ""]) => /master/.test(flags) && !/fail/.test(flags));
      if (alive !== undefined)
        return alive.map(([, address, , , , , , , ...slots]) => ({ port: portOf(address), slots }));
    }
    return [];
  };
  const cluster: RedisCluster = {
    nodes,
    url: `${tls === undefined ? "redis" : "rediss"}+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    async primaries() {
      const having = (await rows()).filter(({ slots }) => slots.length > 0);
      const ports = new Set(having.map(({ port }) => port));
      return nodes.filter(({ server }) => ports.has(server.port));
    },
    async primaryOf(key) {
      const [text = ""] = await ask(
        (await cluster.primaries())[0] ?? first.node,
        `CLUSTER KEYSLOT ${key}`,
      );
      const slot = Number(text.replace(":", ""));
      const row = (await rows()).find(({ slots }) =>
        slots.some((range) => {
          const [from = NaN, to = from] = range.split("-").map(Number);
          return slot >= from && slot <= to;
        }),
      );
      const node = nodes.find(({ server }) => server.port === row?.port);
      if (node === undefined) throw new Error(`no server has the slot of ${key}`);
      return node;
    },
    partnerOf(node) {
      const partner = nodes[(nodes.findIndex((each) => each === node) + 3) % 6];
      if (partner === undefined) throw new Error("the cluster has no replicas");
      return partner;
    },
    async untilComplete() {
      await until(async () => {
        const states = await Promise.all(
          nodes.map((node) => ask(node, "CLUSTER INFO").catch((): string[] => [])),
        );
        if (!states.every((lines) => lines.includes("cluster_state:ok"))) return false;
        const primaries = await cluster.primaries();
        const infos = await Promise.all(
          primaries.map(async (node) => (await ask(node, "INFO replication")).join("\n")),
        );
        return primaries.length === 3 && infos.every((info) => replicasUpToDate(info) === replicas);
      });
    },
  };
  await cluster.untilComplete();
  return cluster;
}

interface StartedNode extends RedisNode {
  /** The port for clients: that for TLS when it has one. */
  readonly port: number;
}

interface NodeOptions {
  appendfsync?: "always" | "everysec";
  access?: RedisAccess;
  tls?: GroupTls;
  more?: readonly string[];
}

/** Its port for TLS has to be chosen before it starts. */
function startNode(options: NodeOptions): Promise<StartedNode> {
  return options.tls === undefined
    ? startNodeOnce(options, null)
    : startOnFreePort((tlsPort) => startNodeOnce(options, tlsPort));
}

async function startNodeOnce(
  { tls, more = [], ...rest }: NodeOptions,
  tlsPort: number | null,
): Promise<StartedNode> {
  const dataDir = await testDirectory();
  const settings = tls === undefined ? [] : tlsSettings(Number(tlsPort), tls);
  const own = settings.flatMap(([name, value]) => [`--${name}`, value]);
  const options = { ...rest, dataDir, more: [...own, ...more] };
  let server = await testRedis(options);
  return {
    port: tlsPort ?? server.port,
    get server() {
      return server;
    },
    async restart() {
      await server.exited;
      server = await testRedis({ ...options, port: server.port });
    },
  };
}

/** The lines of an answer, without the lengths of their parts. Rejects with what Redis refuses. */
// oxlint-disable-next-line max-params -- whom, what and as who
async function askRedis(
  port: number,
  command: string,
  password?: string,
  user?: string,
): Promise<string[]> {
  const socket = connect({ host: "127.0.0.1", port }).setEncoding("utf8");
  // A Sentinel has no QUIT; the answer to PING is behind the other one.
  const login =
    password === undefined ? "" : `AUTH ${user === undefined ? "" : `${user} `}${password}\r\n`;
  socket.write(`${login}${command}\r\nPING\r\n`);
  let text = "";
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.endsWith("+PONG\r\n")) break;
  }
  if (login !== "" && text.startsWith("+OK\r\n")) text = text.slice("+OK\r\n".length);
  if (text.startsWith("-")) throw new Error(`${command}: ${text.slice(1).split("\r\n", 1)[0]}`);
  const lines = text.slice(0, -"+PONG\r\n".length).split("\r\n");
  return lines.filter((line) => line !== "" && !/^[*$]-?\d+$/.test(line));
}

/** Counts the replicas that have confirmed all writes of the primary, as its `INFO replication` shows. */
function replicasUpToDate(info: string): number {
  const own = Number(/^master_repl_offset:(\d+)$/m.exec(info)?.[1] ?? NaN);
  const replicas = info.matchAll(/state=online,offset=(\d+),lag=[01]$/gm);
  return Array.from(replicas).filter(([, offset]) => Number(offset) >= own).length;
}

function pairs(lines: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < lines.length; at += 2) found.set(lines[at] ?? "", lines[at + 1] ?? "");
  return found;
}

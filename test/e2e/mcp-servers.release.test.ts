import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { freePort } from "@switchyard/local-servers/free-port";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { until } from "@switchyard/local-servers/until";
import { pythonPackages } from "../lib/python-packages.ts";
import { startProtocolsWorld } from "../lib/protocols-world.ts";

type Json = Record<string, unknown>;
type Call = readonly [tool: string, args: Json];
type Mode = "legacy" | "auto";
interface Peer {
  readonly command: string;
  readonly args: readonly string[];
  /** The packages that it needs; undefined: those of npm. */
  readonly packages?: Packages;
  readonly calls: readonly Call[];
  /** True for a server that a test starts, and that listens at an address. */
  readonly isHttp?: boolean;
}
type Packages = keyof typeof installed;

const root = fileURLToPath(new URL("../..", import.meta.url));
const fileOf = (name: string): string => join(root, "test/e2e/python-mcp", name);
const work = await mkdtemp(join(tmpdir(), "yard-mcp-servers-"));
after(() => rm(work, { recursive: true, force: true }));
const bring = (name: string) => pythonPackages(fileOf(`requirements-${name}.txt`));
const [newest, older, servers, olderServers, markitdown] = await Promise.all([
  bring("mcp"),
  bring("mcp-older"),
  bring("servers"),
  bring("servers-older"),
  bring("markitdown"),
]);
const installed = {
  mcp: newest,
  "mcp-older": older,
  servers,
  "servers-older": olderServers,
  markitdown,
};
// Many clients of one caller, and questions about servers that start.
const world = await startProtocolsWorld({ YARD_HTTP_REQUESTS_PER_MINUTE: "100000" });

const python = (packages: Packages, args: readonly string[], ...calls: Call[]): Peer => ({
  command: "python3",
  args,
  packages,
  calls,
});
const npm = (name: string, args: readonly string[], ...calls: Call[]): Peer => ({
  command: process.execPath,
  args: [join(root, `node_modules/@modelcontextprotocol/${name}/dist/index.js`), ...args],
  calls,
});
const sdk = (packages: Packages, kind: "mcp" | "fastmcp", isHttp: boolean): Peer => ({
  ...python(
    packages,
    [fileOf("server.py"), kind],
    ["add", { a: 1 }],
    ["person", { name: "Ann" }],
    ["person", { name: "Ann", kind: "b" }],
    ["takes_person", { who: { name: "Ann", streets: [{ name: "S" }], friend: null } }],
    ["names", {}],
    ["table", {}],
    ["nothing", {}],
    ["mixed", {}],
    ["boom", {}],
    ["steps", { n: 3 }],
  ),
  isHttp,
});
const sqlite = join(work, "test.db");
await writeFile(join(work, "page.html"), "<h1>Title</h1><p>text");

/** Widely used servers, with calls that need no network and have the same result each time; and servers made with Python's SDKs. */
const PEERS: Readonly<Record<string, Peer>> = {
  time: python(
    "servers",
    ["-m", "mcp_server_time", "--local-timezone", "UTC"],
    ["convert_time", { source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Tokyo" }],
    ["convert_time", { source_timezone: "UTC", time: "noon", target_timezone: "Asia/Tokyo" }],
  ),
  fetch: python("servers", ["-m", "mcp_server_fetch"], ["fetch", { url: "http://127.0.0.1:1/" }]),
  git: python(
    "servers",
    ["-m", "mcp_server_git", "--repository", root],
    ["git_log", { repo_path: root, max_count: 1 }],
    ["git_show", { repo_path: root, revision: "no-such-revision" }],
  ),
  excel: python(
    "servers",
    ["-m", "excel_mcp", "stdio"],
    ["describe_workbook", { path: join(work, "none.xlsx") }],
  ),
  motherduck: python(
    "servers",
    [fileOf("run_main.py"), "mcp_server_motherduck", "--db-path", ":memory:", "--read-write"],
    ["execute_query", { sql: "select 9007199254740993 as n, 'text' as t" }],
    ["execute_query", { sql: "select from" }],
    ["list_databases", {}],
  ),
  sqlite: python(
    "servers-older",
    [fileOf("run_main.py"), "mcp_server_sqlite", "--db-path", sqlite],
    ["create_table", { query: "create table if not exists t (a text)" }],
    ["list_tables", {}],
    ["read_query", { query: "select 1 as one" }],
    ["read_query", { query: "drop table t" }],
  ),
  arxiv: python(
    "servers-older",
    ["-m", "arxiv_mcp_server", "--storage-path", work],
    ["list_papers", {}],
  ),
  markitdown: python(
    "markitdown",
    ["-m", "markitdown_mcp"],
    ["convert_to_markdown", { uri: `file://${join(work, "page.html")}` }],
    ["convert_to_markdown", { uri: "data:text/html,<h1>Title</h1>" }],
    ["convert_to_markdown", { uri: "nothing:" }],
  ),
  memory: npm("server-memory", [], ["read_graph", {}], ["search_nodes", { query: "a" }]),
  // A call changes what the next one returns.
  thinking: npm("server-sequential-thinking", []),
  everything: npm(
    "server-everything",
    ["stdio"],
    ["echo", { message: "hi" }],
    ["get-annotated-message", { messageType: "error", includeImage: true }],
    ["get-structured-content", { location: "New York" }],
    ["get-tiny-image", {}],
    ["get-resource-links", { count: 2 }],
    ["get-resource-reference", { resourceType: "Text", resourceId: 1 }],
  ),
  files: npm(
    "server-filesystem",
    [root],
    ["list_allowed_directories", {}],
    ["read_text_file", { path: join(root, ".npmrc") }],
    ["read_text_file", { path: "/etc/hostname" }],
  ),
  "mcp-2": sdk("mcp", "mcp", false),
  "mcp-2-http": sdk("mcp", "mcp", true),
  "mcp-1": sdk("mcp-older", "mcp", false),
  "mcp-1-http": sdk("mcp-older", "mcp", true),
  "fastmcp-4": sdk("mcp", "fastmcp", false),
  "fastmcp-4-http": sdk("mcp", "fastmcp", true),
  "fastmcp-3": sdk("mcp-older", "fastmcp", false),
  "fastmcp-3-http": sdk("mcp-older", "fastmcp", true),
};

for (const [name, peer] of Object.entries(PEERS)) {
  const packages = peer.packages === undefined ? null : installed[peer.packages];
  const skip = packages !== null && "skip" in packages ? packages.skip : false;
  test(
    `${name} lists and answers through the broker what it does directly, but for names and URIs`,
    { skip },
    async () => {
      const id = `peer-${name}`;
      const PYTHONPATH = packages !== null && "directory" in packages ? packages.directory : "";
      const env = { PATH: process.env["PATH"] ?? "", HOME: work, PYTHONPATH };
      const launch = await launched(peer, env);
      const added = await world.send("/mcp/servers", { id, ...launch, connectTimeoutMs: 120_000 });
      assert.ok("server" in added, JSON.stringify(added));
      await until(
        async () =>
          ((await world.send(`/mcp/servers/${id}`))["server"] as Json | undefined)?.["status"],
        (status) => status === "connected" || status === "error",
        { timeoutMs: 150_000 },
      );
      for (const mode of ["legacy", "auto"] as const) {
        const direct = await connected(directTransport(launch), mode);
        const through = await connected(gatewayTransport(`/mcp/servers/${id}`), mode);
        await compare(peer, { id, direct, through });
        if (isSdk(peer)) assert.equal(await askedThrough(through), "accept red 2");
        await Promise.all([direct.close(), through.close()]);
      }
    },
  );
}

type Launch = { url: string } | { command: string; args: string[]; env: Json; sandbox: "off" };

/** Starts a server that listens, or returns the command of another one. */
async function launched(
  { command, args, isHttp = false }: Peer,
  env: Readonly<Record<string, string>>,
): Promise<Launch> {
  if (!isHttp) {
    const more = isSdk({ args }) ? ["stdio"] : [];
    return { command, args: [...args, ...more], env, sandbox: "off" };
  }
  const port = await freePort();
  const child = spawn(command, [...args, String(port)], { env, stdio: "ignore" });
  after(() => child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}/mcp`;
  await until(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    Boolean,
    { timeoutMs: 60_000 },
  );
  return { url };
}

function isSdk({ args }: Pick<Peer, "args">): boolean {
  return args[0] === fileOf("server.py");
}

/** The answer of the tool that asks. The first call fails where the server asks in the way of earlier revisions, and the broker reconnects. */
async function askedThrough(client: Client): Promise<unknown> {
  const ask = () => client.callTool({ name: "ask", arguments: {} });
  const first = await ask();
  const { content } = first.isError === true ? await ask() : first;
  return (content[0] as { text?: string } | undefined)?.text;
}

function directTransport(launch: Launch): Transport {
  if ("url" in launch) return new StreamableHTTPClientTransport(new URL(launch.url));
  const { command, args, env } = launch;
  return new StdioClientTransport({
    command,
    args,
    env: env as Record<string, string>, // made by `launched`
    stderr: "ignore",
  });
}

function gatewayTransport(path: string): Transport {
  const headers = { authorization: `Bearer ${world.token}` };
  return new StreamableHTTPClientTransport(new URL(path, world.url), { requestInit: { headers } });
}

type Transport = Parameters<Client["connect"]>[0];

async function connected(transport: Transport, mode: Mode): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    // The broker's own: some servers offer more tools to clients that have them.
    {
      capabilities: {
        elicitation: { form: {}, url: {} },
        roots: { listChanged: true },
        sampling: {},
      },
      versionNegotiation: { mode },
    },
  );
  client.setRequestHandler("elicitation/create", () => ({
    action: "accept",
    content: { colour: "red", count: 2 },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: pathToFileURL(root).href }] }));
  await client.connect(transport);
  after(() => client.close());
  return client;
}

async function compare(
  { calls }: Peer,
  { id, direct, through }: { id: string; direct: Client; through: Client },
): Promise<void> {
  const versions = [direct, through].map((client) => client.getNegotiatedProtocolVersion());
  // A member of tools in 2025-11-25 alone.
  const without = versions.includes("2026-07-28") ? ["execution"] : [];
  const wanted = await seen(direct, without);
  assert.ok(wanted.tools.length > 0);
  assert.deepEqual(await seen(through, without), wanted);
  for (const [tool, args] of calls) {
    const call = { name: tool, arguments: args };
    assert.deepEqual(await outcome(through, call), await outcome(direct, call), `${tool} of ${id}`);
  }
}

/** The result or error of a call, without the members that differ by definition. */
async function outcome(client: Client, call: Parameters<Client["callTool"]>[0]): Promise<unknown> {
  try {
    const { _meta = {}, isError, ...result } = await client.callTool(call);
    // Each result of 2026-07-28 names its server; without `isError` a result is none.
    const { "io.modelcontextprotocol/serverInfo": _, ...meta } = _meta;
    return { ...result, meta, isError: isError ?? false };
  } catch (error) {
    return { thrown: String(error) };
  }
}

/** Everything that a client sees of a server, without some members of its tools. */
async function seen(client: Client, without: readonly string[]) {
  const sorted = <T extends { name: string }>(items: readonly T[]): T[] =>
    items.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const has = client.getServerCapabilities() ?? {};
  const tools = has.tools === undefined ? [] : (await client.listTools()).tools;
  const resources = has.resources === undefined ? [] : (await client.listResources()).resources;
  // Some servers with resources do not know this method.
  const { resourceTemplates: templates } =
    has.resources === undefined
      ? { resourceTemplates: [] }
      : await client.listResourceTemplates().catch(() => ({ resourceTemplates: [] }));
  const prompts = has.prompts === undefined ? [] : (await client.listPrompts()).prompts;
  return {
    tools: sorted(tools).map((tool) =>
      Object.fromEntries(Object.entries(tool).filter(([member]) => !without.includes(member))),
    ),
    resources: sorted(resources),
    templates: sorted(templates),
    prompts: sorted(prompts),
    instructions: client.getInstructions(),
  };
}

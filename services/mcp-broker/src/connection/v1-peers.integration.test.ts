import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { testDirectory } from "@switchyard/testing/test-servers";
import { sessionWorld, startProgram } from "../../test-fixtures/session-world.ts";
import { fixture, packageFile } from "../../test-fixtures/test-broker.ts";

const [world, directory] = await Promise.all([sessionWorld(), testDirectory()]);

interface ToolUse {
  readonly tool: string;
  readonly args: Record<string, unknown>;
}

/**
 * Servers of SDK v1, and uses of their tools whose results are the same each time. Progress is not compared: the older client
 * drops progress that comes in one chunk with the result.
 */
const SERVERS: readonly {
  name: string;
  program: string;
  /** Its first argument, by transport. */
  modes: Readonly<Record<"stdio" | "http" | "sse", string>>;
  uses: readonly ToolUse[];
}[] = [
  {
    name: "own",
    program: fixture("v1-server.ts"),
    modes: { stdio: "stdio", http: "http", sse: "sse" },
    uses: [
      { tool: "echo", args: { message: "✓ a\nb" } },
      { tool: "count_to", args: { steps: 4 } },
      { tool: "count_to", args: { steps: "four" } },
      { tool: "unheard-of", args: {} },
    ],
  },
  {
    name: "everything",
    program: packageFile("@modelcontextprotocol/server-everything/dist/index.js"),
    modes: { stdio: "stdio", http: "streamableHttp", sse: "sse" },
    uses: [
      { tool: "echo", args: { message: "hi" } },
      { tool: "get-sum", args: { a: 2, b: 40 } },
      { tool: "get-tiny-image", args: {} },
      { tool: "get-structured-content", args: { location: "Chicago" } },
      { tool: "get-annotated-message", args: { messageType: "error", includeImage: true } },
      { tool: "get-resource-links", args: { count: 3 } },
      { tool: "trigger-long-running-operation", args: { duration: 0.2, steps: 2 } },
      { tool: "echo", args: {} },
    ],
  },
];

/** A server as its client sees it. */
interface Peer {
  tools(): Promise<object[]>;
  /** The raw outcome: a result, or the refusal in words. */
  call(use: ToolUse): Promise<unknown>;
}

/** The client of SDK v1. */
async function olderPeer(transport: "stdio" | "http" | "sse", target: Target): Promise<Peer> {
  const client = new Client({ name: "older", version: "1" });
  const { url, args } = target;
  const own = {
    stdio: () =>
      new StdioClientTransport({
        command: process.execPath,
        args: [...args],
        env: { PATH: process.env["PATH"] ?? "", HOME: directory },
        stderr: "ignore",
      }),
    http: () => new StreamableHTTPClientTransport(url),
    sse: () => new SSEClientTransport(url),
  }[transport]();
  await client.connect(own);
  after(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools,
    call: ({ tool, args: given }) => client.callTool({ name: tool, arguments: given }),
  };
}

/** The broker's own connection. */
async function ownPeer(transport: "stdio" | "http" | "sse", target: Target): Promise<Peer> {
  const { id, url, args } = target;
  const session = await world.open(
    transport === "stdio"
      ? { id, command: process.execPath, args, env: { HOME: directory } }
      : { id, transport, url: url.href },
  );
  return {
    tools: () => Promise.resolve(session.tools.map(({ definition }) => definition)),
    call: ({ tool, args: given }) =>
      session.callTool({
        tool,
        args: given,
        timeoutMs: 20_000,
        signal: new AbortController().signal,
      }),
  };
}

interface Target {
  readonly id: string;
  readonly url: URL;
  readonly args: readonly string[];
}

async function seenBy(peer: Peer, uses: readonly ToolUse[]): Promise<unknown> {
  const tools = (await peer.tools()).map((tool) => JSON.stringify(sorted(tool))).toSorted();
  const results: unknown[] = [];
  for (const use of uses) {
    const result = await peer
      .call(use)
      .catch((error: unknown) => ({ refused: String(error).replace(/^\w+: (MCP error )?/, "") }));
    results.push({ use, result });
  }
  return sorted({ tools, results });
}

/** With sorted keys and without members that are undefined, as JSON has it. */
function sorted(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

for (const { name, program, modes, uses } of SERVERS)
  for (const transport of ["stdio", "http", "sse"] as const)
    test(`a client of SDK v1 and the broker see the same tools and results: ${name} over ${transport} [A2, A5]`, async () => {
      const args = [program, modes[transport]];
      const server = transport === "stdio" ? null : await startProgram(args);
      const path = transport === "sse" ? "/sse" : "/mcp";
      const url = new URL(server?.url(path) ?? "http://127.0.0.1");
      const target = { id: `${name}-${transport}`, url, args };
      const older = await seenBy(await olderPeer(transport, target), uses);
      assert.deepEqual(await seenBy(await ownPeer(transport, target), uses), older);
    });

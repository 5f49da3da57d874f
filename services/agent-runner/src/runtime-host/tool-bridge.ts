import { createHash, randomBytes, timingSafeEqual, randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Server, type CallToolResult } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { cutText } from "@switchyard/contracts/cut-text";
import { recordSideEffect, type SideEffect } from "@switchyard/service/side-effects";
import type { HostEvent, HostResults, HostTool, KnownResult } from "./host-protocol.ts";

/** The name of our server in every CLI's configuration. */
export const SERVER_NAME = "switchyard";

/** The command with which a CLI starts our MCP server. */
export interface BridgeEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ToolBridge {
  readonly entry: BridgeEntry;
  /** The directory of the socket, which the CLI has to see. */
  readonly directory: string;
  take(results: HostResults["results"], tools: readonly HostTool[]): void;
  close(): Promise<void>;
}

/** Models take names of 64 characters, and CLIs put our server's name before them. */
const MAX_NAME = 46;
const BRIDGE = fileURLToPath(new URL("mcp-bridge.ts", import.meta.url));

/**
 * The only way from a CLI to tools: an MCP server on a socket in its own directory. It executes nothing; each call is sent to the
 * runner, which makes it like every other call of a run.
 */
export async function openToolBridge(options: {
  readonly tools: readonly HostTool[];
  readonly known: readonly KnownResult[];
  readonly sideEffectsFile: string;
  readonly report: (event: HostEvent) => void;
}): Promise<ToolBridge> {
  const directory = await mkdtemp(join(tmpdir(), "yard-run-"));
  await chmod(directory, 0o700);
  const path = join(directory, "mcp");
  const key = randomBytes(32).toString("base64url");
  const book = new PendingCalls(options.known, options.report);
  let names = namesOf(options.tools);
  const record = async (effects: readonly SideEffect[]): Promise<void> => {
    for (const effect of effects) await recordSideEffect(options.sideEffectsFile, effect);
  };
  const servers = new Set<Server>();
  const createDoorServer = (): Server => {
    const server = new Server(
      { name: SERVER_NAME, title: "Switchyard", version: "0.1.0" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.setRequestHandler("tools/list", () => ({
      tools: [...names].map(([name, { description, inputSchema }]) => ({
        name,
        description,
        inputSchema: { ...inputSchema, type: "object" as const },
      })),
    }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const tool = names.get(params.name);
      if (tool === undefined)
        return resultOf({ text: `there is no tool ${params.name}`, isError: true });
      return book.make(tool.name, params.arguments ?? {}, mcpReq.signal);
    });
    servers.add(server);
    return server;
  };

  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    void serveTo(socket, key, createDoorServer);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(path, resolve);
  });
  return {
    directory,
    entry: {
      command: process.execPath,
      args: [BRIDGE, path],
      env: { SWITCHYARD_RUN_KEY: key, NODE_NO_WARNINGS: "1" },
    },
    take(results, tools) {
      const isChanged = JSON.stringify([...names.values()]) !== JSON.stringify(tools);
      names = namesOf(tools);
      if (isChanged) for (const server of servers) server.sendToolListChanged().catch(() => {}); // a CLI that has left
      for (const { id, effects = [], ...result } of results)
        void record(effects)
          .catch(() => {}) // the journal has them, too
          .then(() => book.answer(id, result));
    },
    async close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function serveTo(socket: Socket, key: string, create: () => Server): Promise<void> {
  if (!(await admit(socket, key))) return void socket.destroy();
  const transport = new StdioServerTransport(socket, socket);
  serveStdio(create, { transport, onerror: () => {} });
}

/** Reads the first line, byte by byte: the rest belongs to the protocol. */
async function admit(socket: Socket, key: string): Promise<boolean> {
  const said: Buffer[] = [];
  const expected = Buffer.from(key);
  for (;;) {
    const byte = socket.read(1) as Buffer | null;
    if (byte === null) {
      if (socket.destroyed || socket.readableEnded) return false;
      await new Promise<void>((resolve) => {
        socket.once("readable", resolve);
        socket.once("close", resolve);
      });
      continue;
    }
    if (byte[0] === 0x0a) {
      const given = Buffer.concat(said);
      return given.length === expected.length && timingSafeEqual(given, expected);
    }
    said.push(byte);
    if (said.length > expected.length) return false;
  }
}

function namesOf(tools: readonly HostTool[]): Map<string, HostTool> {
  return new Map(tools.map((tool) => [shortName(tool.name), tool]));
}

/** Shortens a name that is too long to its beginning and a digest, so that it stays stable and unique. */
function shortName(name: string): string {
  if (name.length <= MAX_NAME) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${cutText(name, MAX_NAME - 9)}_${digest}`;
}

interface OpenCall {
  readonly same: string;
  /** No request waits for it any more: the CLI cancelled it. */
  isLeft: boolean;
  readonly result: PromiseWithResolvers<CallToolResult>;
}

/** The calls of a CLI that the runner has not answered, and results that the CLI may request again. */
export class PendingCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #known: { readonly same: string; readonly result: KnownResult }[];
  readonly #report: (event: HostEvent) => void;

  constructor(known: readonly KnownResult[], report: (event: HostEvent) => void) {
    this.#known = known.map((result) => ({ same: samenessOf(result.tool, result.input), result }));
    this.#report = report;
  }

  /** Returns the result of a call; when `signal` aborts, the call continues, for a later request that repeats it. */
  async make(tool: string, input: unknown, signal: AbortSignal): Promise<CallToolResult> {
    const same = samenessOf(tool, input);
    const at = this.#known.findIndex((one) => one.same === same);
    const [known] = at === -1 ? [] : this.#known.splice(at, 1);
    if (known !== undefined) return resultOf(known.result);
    const [id, call] = this.#left(same) ?? this.#begin({ tool, input, same });
    const leave = (): void => void (call.isLeft = true);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await call.result.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      if (!call.isLeft) this.#calls.delete(id);
    }
  }

  answer(id: string, result: { readonly text: string; readonly isError: boolean }): void {
    this.#calls.get(id)?.result.resolve(resultOf(result));
  }

  /** A call that the CLI gave up is not made twice. */
  #left(same: string): [string, OpenCall] | null {
    const found = [...this.#calls].find(([, call]) => call.isLeft && call.same === same);
    if (found === undefined) return null;
    found[1].isLeft = false;
    return found;
  }

  #begin(call: {
    readonly tool: string;
    readonly input: unknown;
    readonly same: string;
  }): [string, OpenCall] {
    const { tool, input, same } = call;
    const id = `runtime-${randomUUID()}`;
    const open: OpenCall = { same, isLeft: false, result: Promise.withResolvers() };
    this.#calls.set(id, open);
    this.#report({ type: "call", id, tool, input });
    return [id, open];
  }
}

function resultOf({
  text,
  isError,
}: {
  readonly text: string;
  readonly isError: boolean;
}): CallToolResult {
  return { content: [{ type: "text", text }], isError };
}

function samenessOf(tool: string, input: unknown): string {
  return `${tool} ${JSON.stringify(sorted(input))}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

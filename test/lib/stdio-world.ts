import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { startYardDev } from "./yard-dev.ts";

const main = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));
interface Options {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
}

/** An instance, and coding agents that start its MCP server on standard input and output. Everything is gone when the test ends. */
export async function startStdioWorld() {
  const directory = await mkdtemp(join(tmpdir(), "yard-mcp-stdio-"));
  const stateDir = join(directory, "state");
  // A copy: its files can be changed.
  const project = join(directory, "project");
  await cp(fileURLToPath(new URL("../e2e/mcp-stdio-project", import.meta.url)), project, {
    recursive: true,
  });
  const workspace = join(directory, "workspace");
  await mkdir(workspace);
  const files = { YARD_CHANNELS_ROOTS: workspace };
  const dev = await startYardDev({ project, stateDir, workspace, env: files });
  after(async () => {
    await dev.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
  const seed = (await readFile(join(stateDir, "keys", "cli.nk"), "utf8")).trim();

  const cache = process.env["NODE_COMPILE_CACHE"];
  const basics = {
    PATH: process.env["PATH"] ?? "",
    HOME: directory,
    ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
    YARD_STATE_DIR: stateDir,
  };
  const bridge = (url: string, gatewayToken: string) => ({
    SWITCHYARD_GATEWAY_URL: url,
    SWITCHYARD_GATEWAY_TOKEN: gatewayToken,
    SWITCHYARD_SESSION_KEY: "desk",
    SWITCHYARD_SIDE_EFFECTS_FILE: join(directory, "effects.ndjson"),
  });

  const paramsOf = ({ env = {}, args = [] }: Options) => ({
    command: process.execPath,
    args: [main, "mcp", "serve", ...args],
    env: { ...basics, ...env },
    stderr: "pipe" as const,
  });

  const clients: { close(): Promise<void> }[] = [];
  after(() => Promise.all(clients.map((client) => client.close())));

  async function connectV1(options: Options = {}) {
    const client = new ClientV1({ name: "test", version: "1.0.0" });
    const transport = new StdioV1(paramsOf(options));
    await client.connect(transport);
    clients.push(client);
    return { client, transport };
  }

  async function connectV2(options: Options = {}) {
    const client = new ClientV2(
      { name: "test", version: "1.0.0" },
      { versionNegotiation: { mode: "auto" } },
    );
    const transport = new StdioV2(paramsOf(options));
    await client.connect(transport);
    clients.push(client);
    return { client, transport };
  }

  return {
    dev,
    stateDir,
    project,
    workspace,
    token,
    basics,
    seed,
    bridge,
    paramsOf,
    connectV1,
    connectV2,
  };
}

export type Called = { readonly isError: boolean; readonly text: string; readonly json: Json };
export type Json = Record<string, unknown>;

/** One call, its text, and its data where it has any. */
export async function callOf(
  client: Pick<ClientV2, "callTool">,
  name: string,
  args: Json = {},
): Promise<Called> {
  const result = await client.callTool({ name, arguments: args });
  const {
    content,
    structuredContent = {},
    isError = false,
  } = result as {
    content: { text?: string }[];
    structuredContent?: Json;
    isError?: boolean;
  };
  return { isError, text: content.map(({ text }) => text).join(""), json: structuredContent };
}

export const errorOf = async (client: ClientV2, name: string, args: Json = {}): Promise<string> => {
  const { isError, text } = await callOf(client, name, args);
  assert.equal(isError, true, text);
  return text;
};

// An agent of the Agent Client Protocol without a model. It executes the lines of its prompt: `call <tool> <arguments>`,
// `say <text>`, `pause <milliseconds>`, `list tools`, `answer <text>`, which it says last in place of the results, and `cost <dollars>`,
// which it reports as its cost so far. It stores its progress, so that it resumes at the same line. Use it to try a runtime with the type `acp`.
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import {
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type AgentContext,
  type McpServer,
} from "@agentclientprotocol/sdk";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** The remaining lines of the prompt, and the results of its calls. */
interface Script {
  lines: string[];
  results: string[];
  answer?: string;
}

const CALL_MS = 86_400_000;
const tools = new Map<string, Client>();
const cancelled = new Map<string, AbortController>();

agent({ name: "script-agent" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true },
  }))
  .onRequest(methods.agent.session.new, async ({ params }) => {
    const sessionId = randomUUID();
    tools.set(sessionId, await connectTools(params.mcpServers));
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, async ({ params }) => {
    await readScript(params.sessionId);
    tools.set(params.sessionId, await connectTools(params.mcpServers));
  })
  .onNotification(methods.agent.session.cancel, ({ params }) =>
    cancelled.get(params.sessionId)?.abort(),
  )
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const abort = new AbortController();
    cancelled.set(sessionId, abort);
    const text = prompt.map((block) => (block.type === "text" ? block.text : "")).join("\n");
    const before = await readScript(sessionId).catch(() => null);
    const script =
      before !== null && before.lines.length > 0
        ? before
        : {
            lines: text
              .split("\n")
              .filter((line) => /^(call|say|list|cost|pause|answer) /.test(line)),
            results: [],
          };
    await keepScript(sessionId, script);
    while (script.lines.length > 0) {
      await doLine(script, { sessionId, client, signal: abort.signal });
      if (abort.signal.aborted) return { stopReason: "cancelled" as const };
      script.lines.shift();
      await keepScript(sessionId, script);
    }
    await say(client, sessionId, script.answer ?? script.results.join("; "));
    return { stopReason: "end_turn" as const };
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout),
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

async function doLine(
  script: Script,
  on: { readonly sessionId: string; readonly client: AgentContext; readonly signal: AbortSignal },
): Promise<void> {
  const { sessionId, client, signal } = on;
  const [line = ""] = script.lines;
  if (line.startsWith("say ")) return say(client, sessionId, `${line.slice(4)}\n`);
  if (line.startsWith("cost ")) return reportCost(client, sessionId, Number(line.slice(5)));
  if (line.startsWith("answer ")) script.answer = line.slice(7);
  if (line === "list tools") script.results.push(await listTools(sessionId));
  if (line.startsWith("pause ")) await setTimeout(Number(line.slice(6)));
  if (!line.startsWith("call ")) return;
  const [, name = "", args = "{}"] = /^call (\S+) ?(.*)$/.exec(line) ?? [];
  try {
    const { content, isError } = await callTool(sessionId, { name, args, signal });
    const said = content.map((part) => (part.type === "text" ? part.text : "")).join("");
    script.results.push(isError === true ? `${name} failed: ${said}` : `${name}: ${said}`);
  } catch (error) {
    script.results.push(`${name} failed: ${String(error)}`);
  }
}

function callTool(
  sessionId: string,
  {
    name,
    args,
    signal,
  }: { readonly name: string; readonly args: string; readonly signal: AbortSignal },
) {
  const client = tools.get(sessionId);
  if (client === undefined) throw new Error("the session has no tools");
  const call = { name, arguments: JSON.parse(args) as Record<string, unknown> };
  return client.callTool(call, { timeout: CALL_MS, signal });
}

async function listTools(sessionId: string): Promise<string> {
  const listed = await tools.get(sessionId)?.listTools();
  return (listed?.tools ?? []).map(({ name }) => name).join(" ");
}

function say(client: AgentContext, sessionId: string, text: string): Promise<void> {
  return client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
  });
}

function reportCost(client: AgentContext, sessionId: string, amount: number): Promise<void> {
  const cost = { amount, currency: "USD" };
  return client.notify(methods.client.session.update, {
    sessionId,
    update: { sessionUpdate: "usage_update", used: 0, size: 1_000, cost },
  });
}

async function connectTools(servers: readonly McpServer[]): Promise<Client> {
  const client = new Client({ name: "script-agent", version: "1.0.0" });
  const [server] = servers;
  if (server === undefined || !("command" in server)) throw new Error("no MCP server was given");
  const env = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
  await client.connect(
    new StdioClientTransport({ command: server.command, args: server.args, env }),
  );
  return client;
}

function placeOf(sessionId: string): string {
  return join(homedir(), `${sessionId}.json`);
}

async function readScript(sessionId: string): Promise<Script> {
  // Written by keepScript.
  return JSON.parse(await readFile(placeOf(sessionId), "utf8")) as Script;
}

async function keepScript(sessionId: string, script: Script): Promise<void> {
  await writeFile(placeOf(sessionId), JSON.stringify(script), { mode: 0o600 });
}

import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ANSWER, CALLS, ECHO_SERVER } from "./five-calls.ts";

// The agent of five calls as a LangGraph.js graph with a checkpoint of each step; a process of its own, invoked over HTTP.

/** The used parts of the packages, which are installed only for this benchmark. */
interface LangGraph {
  readonly START: string;
  readonly MessagesAnnotation: object;
  readonly MemorySaver: new () => object;
  readonly StateGraph: new (state: object) => Graph;
}
interface Graph {
  addNode(name: string, node: unknown): Graph;
  addEdge(from: string, to: string): Graph;
  addConditionalEdges(from: string, choose: unknown): Graph;
  compile(options: { checkpointer: object }): Compiled;
}
interface Compiled {
  invoke(
    input: { messages: unknown[] },
    options: { configurable: { thread_id: string } },
  ): Promise<{ messages: { content: unknown }[] }>;
}
interface Prebuilt {
  readonly ToolNode: new (tools: unknown[]) => unknown;
  readonly toolsCondition: unknown;
}
interface Messages {
  readonly AIMessage: new (fields: object) => unknown;
}
interface Tools {
  readonly tool: (run: (args: { message: string }) => Promise<string>, fields: object) => unknown;
}
interface Savers {
  readonly RedisSaver: new (options: { connection: object }) => object;
}
interface RedisClient {
  readonly Redis: new (url: string) => { flushall(): Promise<unknown> };
}

const modules = process.env["LANGGRAPH_MODULES"] ?? "";
/** The caller states which of the interfaces above the file has. */
const load = (file: string): Promise<unknown> => import(pathToFileURL(join(modules, file)).href);
const { START, MessagesAnnotation, MemorySaver, StateGraph } = (await load(
  "@langchain/langgraph/dist/index.js",
)) as LangGraph;
const { ToolNode, toolsCondition } = (await load(
  "@langchain/langgraph/dist/prebuilt/index.js",
)) as Prebuilt;
const { AIMessage } = (await load("@langchain/core/dist/messages/index.js")) as Messages;
const { tool } = (await load("@langchain/core/dist/tools/index.js")) as Tools;

const client = new Client({ name: "langgraph", version: "1.0.0" });
await client.connect(new StdioClientTransport(ECHO_SERVER));
const echo = tool(
  async ({ message }) => {
    const { content } = await client.callTool({ name: "echo", arguments: { message } });
    const [first] = content;
    if (first?.type !== "text") throw new Error("the tool answered without a text");
    return first.text;
  },
  {
    name: "echo",
    description: "Answers with its message",
    schema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
  },
);

/** The question, five answers and five results. */
const MESSAGES = 11;

let callId = 0;
function answer({ messages }: { messages: { getType(): string }[] }): { messages: unknown[] } {
  const calls = CALLS[messages.filter((message) => message.getType() === "ai").length] ?? [];
  const toolCalls = calls.map((message) => {
    callId += 1;
    return { name: "echo", args: { message }, id: `call-${callId}`, type: "tool_call" };
  });
  const content = calls.length === 0 ? ANSWER : "";
  return { messages: [new AIMessage({ content, tool_calls: toolCalls })] };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", answer)
  .addNode("tools", new ToolNode([echo]))
  .addEdge(START, "model")
  .addConditionalEdges("model", toolsCondition)
  .addEdge("tools", "model")
  .compile({ checkpointer: await checkpointer(process.env["LANGGRAPH_REDIS_URL"]) });

async function checkpointer(redisUrl: string | undefined): Promise<object> {
  if (redisUrl === undefined) return new MemorySaver();
  const { Redis } = (await load("ioredis/built/index.js")) as RedisClient;
  const connection = new Redis(redisUrl);
  // It finds the last checkpoint of a thread with KEYS. Old runs would make each start slower, and are not needed here.
  setInterval(() => void connection.flushall(), 1_000).unref();
  const { RedisSaver } = (await load("checkpoint-redis/dist/index.js")) as Savers;
  return new RedisSaver({ connection });
}

async function invoke(): Promise<string> {
  const { messages } = await graph.invoke(
    { messages: [{ role: "user", content: "go" }] },
    { configurable: { thread_id: randomUUID() } },
  );
  const text = messages.at(-1)?.content;
  if (text !== ANSWER || messages.length !== MESSAGES)
    throw new Error(`the graph ended with ${messages.length} messages, the last ${String(text)}`);
  return text;
}

const server = createServer((_request, response) => {
  invoke().then(
    (text) => response.end(text),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});
server.listen(Number(process.env["LANGGRAPH_PORT"]), "127.0.0.1", () => process.send?.("ready"));

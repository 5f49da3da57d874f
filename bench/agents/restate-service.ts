import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ANSWER, CALLS, ECHO_SERVER } from "./five-calls.ts";

// The agent of five calls as a Restate handler with the AI SDK: each answer of the model and each call is a journaled step.

/** The used parts of the packages, which are installed only for this benchmark. */
interface RestateSdk {
  service(definition: {
    name: string;
    handlers: Record<string, (context: Context) => Promise<unknown>>;
  }): unknown;
  serve(options: { services: unknown[]; port: number }): Promise<number>;
}
interface Context {
  run<T>(name: string, action: () => Promise<T>): Promise<T>;
}
interface Middleware {
  readonly durableCalls: (context: Context, options: { maxRetryAttempts: number }) => unknown;
}
interface AiSdk {
  readonly wrapLanguageModel: (options: { model: object; middleware: unknown }) => unknown;
  readonly jsonSchema: (schema: object) => unknown;
  readonly tool: (definition: object) => unknown;
  readonly stepCountIs: (count: number) => unknown;
  readonly generateText: (options: object) => Promise<{ text: string }>;
}
interface Prompt {
  readonly prompt: readonly { readonly role: string }[];
}

const modules = process.env["RESTATE_MODULES"] ?? "";
/** The caller states which of the interfaces above the file has. */
const load = (file: string): Promise<unknown> => import(pathToFileURL(join(modules, file)).href);
const restate = (await load("@restatedev/restate-sdk/dist/index.js")) as RestateSdk;
const { durableCalls } = (await load(
  "@restatedev/vercel-ai-middleware/dist/index.js",
)) as Middleware;
const { generateText, jsonSchema, stepCountIs, tool, wrapLanguageModel } = (await load(
  "ai/dist/index.js",
)) as AiSdk;

const client = new Client({ name: "restate", version: "1.0.0" });
await client.connect(new StdioClientTransport(ECHO_SERVER));

let callId = 0;
const model = {
  specificationVersion: "v4",
  provider: "scripted",
  modelId: "plan",
  supportedUrls: {},
  doGenerate({ prompt }: Prompt) {
    const calls = CALLS[prompt.filter(({ role }) => role === "assistant").length] ?? [];
    const content = calls.map((message) => {
      callId += 1;
      const input = JSON.stringify({ message });
      return { type: "tool-call", toolCallId: `call-${callId}`, toolName: "echo", input };
    });
    return Promise.resolve({
      content: calls.length === 0 ? [{ type: "text", text: ANSWER }] : content,
      finishReason: {
        unified: calls.length === 0 ? "stop" : "tool-calls",
        raw: undefined,
      },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
      warnings: [],
    });
  },
};

async function echo(message: string): Promise<string> {
  const { content } = await client.callTool({ name: "echo", arguments: { message } });
  const [first] = content;
  if (first?.type !== "text") throw new Error("the tool answered without a text");
  return first.text;
}

async function fiveCalls(context: Context): Promise<string> {
  // The AI SDK runs the calls of one answer side by side; a context of Restate refuses to be awaited by two at once.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(step: () => Promise<T>): Promise<T> => {
    const next = last.then(step);
    last = next.catch(() => {});
    return next;
  };
  const { text } = await generateText({
    model: wrapLanguageModel({ model, middleware: durableCalls(context, { maxRetryAttempts: 3 }) }),
    prompt: "go",
    stopWhen: stepCountIs(10),
    tools: {
      echo: tool({
        description: "Answers with its message",
        inputSchema: jsonSchema({
          type: "object",
          properties: { message: { type: "string" } },
          required: ["message"],
        }),
        execute: ({ message }: { message: string }) =>
          inTurn(() => context.run("echo", () => echo(message))),
      }),
    },
  });
  if (text !== ANSWER) throw new Error(`the agent ended with ${JSON.stringify(text)}`);
  return text;
}

await restate.serve({
  port: Number(process.env["RESTATE_SERVICE_PORT"]),
  services: [restate.service({ name: "agents", handlers: { fiveCalls } })],
});
process.send?.("ready");

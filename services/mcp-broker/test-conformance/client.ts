// The client under test of the official conformance suite: the broker's own connections and logins,
// driven as the broker drives them. The suite appends the server's address to the command.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { randomBytes } from "node:crypto";
import { createLoginFlow } from "../src/auth/login-flow.ts";
import { LoginNeededError, createUpstreamLogins } from "../src/auth/connection-auth.ts";
import { createLoginStore } from "../src/auth/login-store.ts";
import { parseTokenKeys } from "../src/auth/token-cipher.ts";
import type { McpSession } from "../src/connection/mcp-session.ts";
import { createSessionOpener } from "../src/connection/open-session.ts";
import type { SessionHooks } from "../src/connection/session-hooks.ts";
import { createVerdictStore } from "../src/connection/verdict-store.ts";
import { createKeyedDigest } from "../src/auth/keyed-digest.ts";
import { createEgressGuard, parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { createServerIsolation } from "../src/process/isolate-server.ts";
import { openChildRecords } from "../src/process/child-records.ts";
import { resolveServer } from "../src/declaration/env-references.ts";
import { readDeclaration } from "@switchyard/project/mcp-servers/read-declaration";

const REDIRECT = "http://127.0.0.1:33418/callback";
/** A person stops trying, too. */
const MAX_LOGINS = 3;

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
// The context that the suite passes to the client: the tools to call, a client id registered before, …
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  client_id?: string;
  client_secret?: string;
  toolCalls?: { name: string; arguments?: Record<string, unknown> }[];
};
const server = `c${randomBytes(4).toString("hex")}`;

const directory = await mkdtemp(join(tmpdir(), "switchyard-conformance-"));
const log = createLog({ service: "conformance", level: "silent" });
const redisUrl = process.env["YARD_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const redis = await connectRedis({ url: redisUrl, name: "conformance", log });
const cipher = parseTokenKeys(randomBytes(32).toString("base64"));
if (cipher === null) throw new Error("unreachable: there is a key");
const store = createLoginStore(redis, cipher);
const guard = createEgressGuard({
  permitted: parsePrivateHosts("loopback"),
  setting: "YARD_TEST",
});

const { config, problem } = readDeclaration(
  server,
  {
    id: server,
    url,
    ...(scenario.startsWith("auth/") ? { oauth: oauthSettings() } : {}),
  },
  "file",
);
if (config === null) throw new Error(problem ?? "no configuration");
const open = createSessionOpener({
  children: {
    env: process.env,
    records: await openChildRecords(directory),
    isolate: createServerIsolation({
      env: process.env,
      stateDir: directory,
      setting: "off",
      ownUsers: false,
      onUnconfined: () => undefined,
    }),
  },
  version: "0.1.0",
  guard,
  verdicts: createVerdictStore({
    redis,
    now: Date.now,
    digest: createKeyedDigest(Buffer.from("conformance")),
    onTrouble: (error) => print("verdict", error),
  }),
  loginOf: createUpstreamLogins({ store, guard, now: Date.now }),
  hooks: () => hooks,
});

/** Answers elicitations with the defaults of the requested schema, as a person who presses enter does. */
const hooks: SessionHooks = {
  capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
  requests: {
    "elicitation/create": () => Promise.resolve({ action: "accept", content: {} }),
    "roots/list": () => Promise.resolve({ roots: [] }),
    "sampling/createMessage": () =>
      Promise.resolve({
        role: "assistant",
        model: "scripted/plan",
        content: { type: "text", text: "hello" },
      }),
  },
  onNotification: () => undefined,
};

try {
  await loggedIn(async () => {
    const session = await open(
      config,
      {
        onLost: (reason) => print("lost", reason),
        onToolsChanged: () => undefined,
        onTrouble: (trouble) => print("trouble", trouble),
      },
      new AbortController().signal,
    );
    try {
      for (const call of callsFor(session)) await callTool(session, call);
    } finally {
      await session.close();
    }
  });
} finally {
  redis.disconnect();
  await rm(directory, { recursive: true, force: true });
}

function print(what: string, how: unknown): void {
  process.stderr.write(
    `${what}: ${how instanceof Error ? (how.stack ?? how.message) : String(how)}\n`,
  );
}

function oauthSettings(): object {
  const { client_id: clientId, client_secret: clientSecret } = context;
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  };
}

interface ToolCall {
  readonly name: string;
  readonly arguments?: Record<string, unknown>;
}

/** The calls that the scenario names; by default every tool with arguments that fit. */
function callsFor({ tools }: McpSession): ToolCall[] {
  return (
    context.toolCalls ??
    tools.map(({ name, inputSchema }) => ({
      name,
      arguments: exampleOf(inputSchema),
    }))
  );
}

function exampleOf(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> };
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, exampleValue(type)]),
  );
}

function exampleValue(type: string | undefined): unknown {
  switch (type) {
    case "number":
    case "integer":
      return 5;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return "text";
  }
}

/** A refusal by the tool is the scenario's business and no failure of the connection. */
async function callTool(session: McpSession, call: ToolCall): Promise<void> {
  try {
    await session.callTool({
      tool: call.name,
      args: call.arguments ?? {},
      definition: session.tools.find(({ name }) => name === call.name)?.definition,
      timeoutMs: 20_000,
      signal: new AbortController().signal,
    });
  } catch (error) {
    if (loginNeeded(error)) throw error;
    print(`call of ${call.name} failed`, error);
  }
}

/** Does the work, and logs in when the server requires it; then repeats the work once. */
async function loggedIn(work: () => Promise<void>): Promise<void> {
  for (let logins = 0; ; logins += 1) {
    try {
      return await work();
    } catch (error) {
      if (!loginNeeded(error) || logins === MAX_LOGINS) throw error;
      await logIn();
    }
  }
}

function loginNeeded(error: unknown): boolean {
  return error instanceof Error && (error instanceof LoginNeededError || loginNeeded(error.cause));
}

/** The suite's authorization server agrees to everything and redirects at once. */
async function logIn(): Promise<void> {
  if (config === null) return;
  const { launch } = resolveServer(config, process.env);
  if (launch.transport === "stdio" || launch.oauth === null)
    throw new Error("nothing to log in to");
  const target = { server, caller: "conformance", launch: { ...launch, oauth: launch.oauth } };
  const flow = createLoginFlow({ store, guard, now: Date.now });
  const { authorizationUrl } = await flow.begin(target, REDIRECT);
  const response = await fetch(authorizationUrl, { redirect: "manual" });
  const back = new URL(response.headers.get("location") ?? "");
  await flow.finish(target, {
    state: back.searchParams.get("state") ?? "",
    code: back.searchParams.get("code") ?? "",
    iss: back.searchParams.get("iss") ?? undefined,
  });
}

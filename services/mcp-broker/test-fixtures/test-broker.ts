// A broker in the test's process, on real NATS and Redis, beside a policy service that the test controls.

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { type ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  checkPolicy,
  filterPolicy,
  type Decision,
  type Principal,
} from "@switchyard/contracts/policy/policy";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { endlessStorage } from "@switchyard/testing/test-storage";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { Registry } from "prom-client";
import type { z } from "zod";
import { parseTokenKeys } from "../src/auth/token-cipher.ts";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import type { SandboxSetting } from "../src/process/isolate-server.ts";
import type { OwnershipSettings } from "../src/ownership/server-owner.ts";
import { startBroker, type Broker } from "../src/start-broker.ts";

type CallRequest = z.input<typeof callTool.request>;
type CallReply = z.output<typeof callTool.reply>;

/** Servers that all tests of a file share. */
export interface TestWorld {
  readonly natsUrl: string;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly cli: Bus;
  readonly policy: PolicyPeer;
  startBroker(options: TestBrokerOptions): Promise<TestBroker>;
}

export interface TestBrokerOptions {
  /** Entries of the server file. */
  readonly servers: readonly object[];
  /** The isolation of servers whose entry does not configure a sandbox; `off` by default, since they write to the test's own files. */
  readonly sandbox?: SandboxSetting;
  /** Added to the PATH that every child needs. */
  readonly env?: Record<string, string>;
  readonly stateDir?: string;
  /** NATS users that may change servers; by default the test's own user. */
  readonly admins?: readonly string[];
  readonly redis?: Redis;
  /** On by default, as in production. */
  readonly decisionCache?: boolean;
  readonly ownership?: Partial<OwnershipSettings>;
  /** Keys that encrypt logins; by default those that all brokers of the world share, as replicas do. */
  readonly tokenKeys?: string;
  /** Addresses that are permitted beside public ones; loopback by default. */
  readonly privateHosts?: string;
}

export interface TestBroker {
  readonly broker: Broker;
  readonly serversFile: string;
  /** Everything that was logged so far. */
  readonly logText: () => string;
  readonly metrics: Registry;
  call(
    server: string,
    request: CallRequest,
    options?: CallOptions<typeof callTool>,
  ): Promise<CallReply>;
  tools(request?: z.input<typeof listTools.request>): Promise<z.output<typeof listTools.reply>>;
  /** Read from this broker and not over the bus, where another one of the same test may answer. */
  info(server: string): ServerInfo;
  /** Polls a server's information until it fits. */
  until(server: string, fits: (info: ServerInfo) => boolean): Promise<ServerInfo>;
  stop(): Promise<void>;
}

/** The answers of the test's policy service; a test changes them and restores them. */
export interface PolicyPeer {
  answer: (
    tool: string,
    /** The kind and the own name of the requested feature, such as `resource` and a URI. */
    about: { readonly kind: string; readonly own: string },
  ) => "allow" | "deny" | "fault" | "silence" | "invalid_token";
  /** The inspection in decisions that allow; none by default. */
  inspection?: Decision["inspection"];
  /** The run that a token belongs to; none by default. */
  runOf: (token: string | undefined) => string | null;
  /** The session that the run of a token belongs to; none by default. */
  sessionOf: (token: string | undefined) => string | null;
  /** The checks that were requested. */
  readonly checked: { tool: string; onBehalfOf: string; token: string | undefined }[];
}

export const decision: Decision = {
  effect: "allow",
  rule: "everything",
  reason: "test",
  policyDigest: `sha256:${"0".repeat(64)}`,
};

export function fixture(name: string): string {
  return fileURLToPath(new URL(`./${name}`, import.meta.url));
}

export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../../../node_modules/${path}`, import.meta.url));
}

/** A stdio entry of the server file that runs a fixture. */
export function fixtureServer(id: string, args: readonly string[], more: object = {}): object {
  const [script = "", ...rest] = args;
  return { id, command: process.execPath, args: [fixture(script), ...rest], ...more };
}

/** Starts NATS, with more text in its configuration, Redis and, by default, the policy service of the test; call it at the top of a file. */
export async function testWorld({ withPolicy = true, natsConfig = "" } = {}): Promise<TestWorld> {
  const [nats, redisServer] = await Promise.all([
    testNats(natsConfig === "" ? {} : { authorization: natsConfig }),
    testRedis(),
  ]);
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: redisServer.url, name: "test", log });
  const [cli, policyBus] = await Promise.all(
    ["cli", "policy"].map((user) => connectBus({ servers: nats.url, user })),
  );
  if (cli === undefined || policyBus === undefined)
    throw new Error("unreachable: two users, two buses");
  await ensureStreams(cli);
  const policy: PolicyPeer = {
    answer: () => "allow",
    runOf: () => null,
    sessionOf: () => null,
    checked: [],
  };
  if (withPolicy) servePolicy(policyBus, policy);
  await policyBus.flush();
  const tokenKeys = randomBytes(32).toString("base64");
  after(async () => {
    await Promise.all([cli.close(), policyBus.close()]);
    redis.disconnect();
  });
  return {
    natsUrl: nats.url,
    redis,
    redisUrl: redisServer.url,
    cli,
    policy,
    startBroker: (options) =>
      startTestBroker({ tokenKeys, ...options }, { natsUrl: nats.url, redis, cli }),
  };
}

async function startTestBroker(
  options: TestBrokerOptions & { readonly tokenKeys: string },
  world: { natsUrl: string; redis: Redis; cli: Bus },
): Promise<TestBroker> {
  const directory = await testDirectory();
  const serversFile = join(directory, "mcp-servers.json");
  await writeFile(serversFile, JSON.stringify({ servers: options.servers }));
  const lines: string[] = [];
  const log = createLog({
    service: "mcp-broker",
    level: "debug",
    destination: { write: (line) => lines.push(line) },
  });
  const bus = await connectBus({ servers: world.natsUrl, user: "broker" });
  const metrics = new Registry();
  const redis = options.redis ?? world.redis;
  const storage = endlessStorage;
  const kit = { audit: null, bus, redis, storage, log, metrics, version: "0.0.0" };
  const broker = await startBroker(kit, {
    servers: {
      serversFile,
      stateDir: options.stateDir ?? directory,
      env: { PATH: process.env["PATH"], ...options.env },
      sandbox: options.sandbox ?? "off",
    },
    admins: options.admins ?? ["cli"],
    ownership: {
      instance: "test",
      leaseMs: 5_000,
      ownedLimit: 256,
      rebalanceMs: 3_600_000,
      ...options.ownership,
    },
    decisionCache: options.decisionCache ?? true,
    tokenKeys: parseTokenKeys(options.tokenKeys),
    privateHosts: parsePrivateHosts(options.privateHosts ?? "loopback"),
    questionMs: 60_000,
    drainMs: 5_000,
  });
  await bus.flush();
  const stop = async (): Promise<void> => {
    await broker.stop();
    await bus.close();
  };
  after(stop);

  const info = (server: string): ServerInfo => {
    const member = broker.pool.members.find(({ connection }) => connection.entry.id === server);
    if (member === undefined) throw new Error(`the broker has no server ${server}`);
    return member.connection.info;
  };
  return {
    broker,
    serversFile,
    logText: () => lines.join(""),
    metrics,
    call: (server, request, callOptions) =>
      call(world.cli, callTool, request, { ...callOptions, tokens: { server } }),
    tools: (request = {}) => call(world.cli, listTools, request),
    info,
    until: (server, fits) => until(() => info(server), fits),
    stop,
  };
}

function servePolicy(bus: Bus, peer: PolicyPeer): void {
  const service = serve(bus, {
    name: "policy",
    version: "0.0.0",
    description: "test",
    onFault: () => undefined,
  });
  service.handle(checkPolicy, async ({ kind, tool, onBehalfOf, token }, { fail }) => {
    peer.checked.push({ tool: tool.name, onBehalfOf, token });
    const answer = peer.answer(tool.name, { kind, own: tool.tool });
    if (answer === "silence") await new Promise(() => undefined);
    if (answer === "fault") throw new Error("a bug in the policy");
    if (answer === "invalid_token")
      throw fail.invalid_token("the token expired", { reason: "expired" });
    const effect: Decision["effect"] = answer === "deny" ? "deny" : "allow";
    return {
      decision: {
        ...decision,
        effect,
        ...(peer.inspection && effect === "allow" && { inspection: peer.inspection }),
      },
      principal: principalOf(peer, onBehalfOf, token),
    };
  });
  service.handle(filterPolicy, ({ kind, tools, onBehalfOf, token }, { fail }) => {
    const answers = tools.map(({ name, tool }) => ({
      name,
      answer: peer.answer(name, { kind, own: tool }),
    }));
    if (answers.some(({ answer }) => answer === "fault")) throw new Error("a bug in the policy");
    if (answers.some(({ answer }) => answer === "invalid_token")) {
      throw fail.invalid_token("the token expired", { reason: "expired" });
    }
    const allowed = answers.filter(({ answer }) => answer === "allow").map(({ name }) => name);
    const principal = principalOf(peer, onBehalfOf, token);
    return { allowed, policyDigest: decision.policyDigest, principal };
  });
}

function principalOf(peer: PolicyPeer, user: string, token: string | undefined): Principal {
  const session = peer.sessionOf(token);
  const context = session === null ? {} : { context: { session } };
  return { user, agent: null, runId: peer.runOf(token), ...context };
}

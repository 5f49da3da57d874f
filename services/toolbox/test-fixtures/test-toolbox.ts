// A toolbox in the test's process, on real NATS and Redis, beside a policy service that is controlled by the test.

import { after } from "node:test";
import { call } from "@switchyard/bus/call";
import type { CallOptions } from "@switchyard/bus/call-options";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import {
  checkPolicy,
  filterPolicy,
  type Decision,
  type Principal,
} from "@switchyard/contracts/policy/policy";
import { listStops } from "@switchyard/contracts/policy/policy-budgets";
import { callBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { readEnv } from "@switchyard/service/env";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { createLog } from "@switchyard/service/log";
import { endlessStorage } from "@switchyard/testing/test-storage";
import { connectRedis } from "@switchyard/service/redis";
import { Registry } from "prom-client";
import type { z } from "zod";
import { toolboxEnv } from "../src/config.ts";
import { startToolbox } from "../src/start-toolbox.ts";

type CallRequest = z.input<typeof callBuiltin.request>;

export interface ToolboxWorld {
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly cli: Bus;
  readonly policy: PolicyPeer;
  /** The reason why commands cannot run here, as the `skip` of a test that needs them; else false. */
  readonly noCommands: string | false;
  /** Starts a toolbox with these variables; its workspaces are in a directory of its own unless the variables set another. */
  start(env?: Record<string, string>): Promise<TestToolbox>;
  call(
    request: CallRequest,
    options?: CallOptions<typeof callBuiltin>,
  ): Promise<z.output<typeof callBuiltin.reply>>;
  tools(
    request?: z.input<typeof listBuiltins.request>,
  ): Promise<z.output<typeof listBuiltins.reply>>;
}

export interface TestToolbox {
  readonly workspaces: string;
  readonly metrics: Registry;
  readonly logText: () => string;
  stop(): Promise<void>;
}

/** The decision of the fake policy service; a test changes it and sets it back. */
export interface PolicyPeer {
  answer: (
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ) => Decision["effect"] | "silence" | "invalid_token";
  /** The reply to a check waits for this promise. */
  hold: Promise<void> | null;
  /** Approvals that a person has given; a call that needs another one waits. */
  readonly approved: Set<string>;
  /** The arguments that a person put in the place of those of the calls that wait; null for none. */
  edited: { by: string; args: Record<string, unknown> } | null;
  /** Every question: name of the tool and arguments. */
  readonly asked: { tool: string; server: string | null; args: unknown; onBehalfOf: string }[];
}

/** The approval in the replies of the fake policy service. */
export const APPROVAL = `apr-${"a".repeat(32)}`;
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

export const DIGEST = `sha256:${"0".repeat(64)}`;

/** Builds a token that the fake policy service reads as a run of agent `demo`, in a session and of a requester if they are named. */
export function runToken(runId: string, session = "", requester = ""): string {
  return `run|${runId}|${session}|${requester}`;
}

/** Starts NATS, Redis and the fake policy service; call it at the top of a file. */
export async function toolboxWorld(): Promise<ToolboxWorld> {
  const [nats, redis, sandbox] = await Promise.all([testNats(), testRedis(), testSandbox()]);
  const [cli, policyBus] = await Promise.all([
    connectBus({ delegation: DELEGATION, servers: nats.url, user: "cli" }),
    connectBus({ delegation: DELEGATION, servers: nats.url, user: "policy" }),
  ]);
  await ensureStreams(cli);
  const policy: PolicyPeer = {
    answer: () => "allow",
    hold: null,
    approved: new Set(),
    edited: null,
    asked: [],
  };
  servePolicy(policyBus, policy);
  await policyBus.flush();
  after(() => Promise.all([cli.close(), policyBus.close()]));
  return {
    natsUrl: nats.url,
    redisUrl: redis.url,
    cli,
    policy,
    noCommands: sandbox.skip,
    start: (env = {}) =>
      start({
        nats: nats.url,
        redis: redis.url,
        env: { YARD_BIN_DIR: sandbox.directory, ...env },
      }),
    call: (request, options) => call(cli, callBuiltin, request, options),
    tools: (request = {}) => call(cli, listBuiltins, request),
  };
}

async function start(options: {
  nats: string;
  redis: string;
  env: Record<string, string>;
}): Promise<TestToolbox> {
  const workspaces = await testDirectory();
  const config = readEnv(toolboxEnv, {
    YARD_NATS_URL: options.nats,
    YARD_REDIS_URL: options.redis,
    YARD_WORKSPACES_DIR: workspaces,
    YARD_DRAIN_MS: "2000",
    ...options.env,
  });
  const lines: string[] = [];
  const log = createLog({
    service: "toolbox",
    level: "debug",
    destination: { write: (line) => lines.push(line) },
  });
  const redis = await connectRedis({ url: options.redis, name: "toolbox", log });
  const bus = await connectBus({ delegation: DELEGATION, servers: options.nats, user: "toolbox" });
  const metrics = new Registry();
  const toolbox = await startToolbox({
    bus,
    redis,
    storage: endlessStorage,
    log,
    metrics,
    config,
    env: options.env ?? {},
    version: "0.0.0",
    audit: null,
  });
  await bus.flush();
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await toolbox.stop();
    await bus.close();
    redis.disconnect();
  };
  after(stop);
  return { workspaces, metrics, logText: () => lines.join(""), stop };
}

function servePolicy(bus: Bus, peer: PolicyPeer): void {
  const service = serve(bus, {
    name: "policy",
    version: "0.0.0",
    description: "test",
    onFault: () => undefined,
  });
  service.handle(listStops, () => ({ stops: [] }));
  service.handle(checkPolicy, async ({ tool, args, onBehalfOf, token }, { fail }) => {
    peer.asked.push({ tool: tool.name, server: tool.server, args, onBehalfOf });
    const effect = peer.answer(tool.name, args);
    if (peer.hold !== null) await peer.hold;
    if (effect === "silence") return new Promise(() => undefined);
    if (effect === "invalid_token") throw fail.invalid_token("not ours", { reason: "signature" });
    const decision: Decision = {
      effect,
      rule: "tests",
      reason: "tests say so",
      policyDigest: DIGEST,
    };
    return { decision, principal: principalOf(onBehalfOf, token) };
  });
  service.handle(admitCall, ({ approvalId, editOf }) => {
    const { edited } = peer;
    if (edited !== null && editOf === undefined) {
      const reason = "other arguments";
      return {
        outcome: "refused" as const,
        approvalId: APPROVAL,
        state: "denied" as const,
        reason,
        edited,
      };
    }
    if (editOf !== undefined)
      return { outcome: "passed" as const, approvalId: editOf, grantId: null, by: "cli" };
    if (approvalId !== undefined && peer.approved.delete(approvalId))
      return { outcome: "passed" as const, approvalId: null, grantId: null, by: "cli" };
    const waiting = { approvalId: APPROVAL, expiresAt: TOMORROW, tier: "always" as const };
    return { outcome: "waiting" as const, ...waiting };
  });
  service.handle(filterPolicy, ({ tools, onBehalfOf, token }) => ({
    allowed: tools.filter(({ name }) => peer.answer(name, {}) !== "deny").map(({ name }) => name),
    policyDigest: DIGEST,
    principal: principalOf(onBehalfOf, token),
  }));
}

function principalOf(user: string, token: string | undefined): Principal {
  const [kind, runId = "", session = "", requester = ""] = token?.split("|") ?? [];
  if (kind !== "run") return { user, agent: null, runId: null };
  return {
    user: requester === "" ? user : requester,
    agent: "demo",
    runId,
    ...(session === "" ? {} : { context: { session } }),
  };
}

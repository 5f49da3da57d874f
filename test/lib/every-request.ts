import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import type { Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { contractsByOwner, isRpc } from "@switchyard/contracts/registry";
import { auditorUser, cliUser, serviceUsers, type BusUser } from "@switchyard/topology/topology";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { z } from "zod";
import type { KeyDirectory } from "../../apps/cli/src/key-directory.ts";
import { readSeed, seedFile } from "../../apps/cli/src/nkey-seed.ts";
import { holdingRunner } from "../../services/policy/test/holding-runner.ts";
import { sampleRequest } from "./sample-request.ts";
import { startServiceProcess, type TestService } from "./service-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const CHANNELS_FILE = fileURLToPath(new URL("../../examples/channels.json", import.meta.url));

/** All services of an installation that works, and their requests by service. */
export interface EveryRequest {
  readonly services: readonly TestService[];
  /** A connection like the command line's. */
  readonly cli: Bus;
  readonly rpcs: ReadonlyMap<string, readonly Rpc[]>;
  /** Result of a request made from its contract: `answered`, or the code of the error and its message. */
  readonly outcomeOf: (rpc: Rpc) => Promise<string>;
}

/**
 * Starts all services that serve requests, with a NATS of their own and the Redis that `redis` names to each, and a run for
 * requests that need one. Requests are made from the contracts, so that new ones are included; a contract whose request has to name
 * an object has it below. For the top level of a test file: everything ends with it.
 */
export async function everyRequest(options: {
  readonly directory: string;
  readonly keys: KeyDirectory;
  /** Variables by which a service's user finds Redis. */
  readonly redis: (user: string) => { readonly YARD_REDIS_URL: string };
  /** The test's own URL with the rights of the runner. */
  readonly runnerUrl: string;
}): Promise<EveryRequest> {
  const { directory, keys } = options;
  const nats = await testNats({ authorization: keys.authorization({ anonymous: true }) });
  const connect = (user: string) =>
    connectBus({ servers: nats.url, user, nkeySeed: () => readSeed(seedFile(keys.path, user)) });
  const buses = new Map<string, Bus>();
  for (const { name } of callers) buses.set(name, await connect(name));
  after(() => Promise.all([...buses.values()].map((bus) => bus.close())));
  const admin = await connect("admin");
  await ensureStreams(admin);
  await admin.close();

  const write = async (name: string, content: string) => {
    await writeFile(join(directory, name), content);
    return join(directory, name);
  };
  const policyFile = await write(
    "policy.yaml",
    "version: 1\nrules:\n  - { id: all, effect: allow, approval: auto, what: { tools: ['*'], resources: ['files.*'], prompts: ['files.*'], logging: [files] } }\n",
  );
  const serversFile = await write(
    "mcp-servers.json",
    JSON.stringify({
      mcpServers: {
        files: {
          command: process.execPath,
          args: [fileURLToPath(new URL("../e2e/fixtures/counting-server.ts", import.meta.url))],
          env: { CALLS_FILE: join(directory, "calls") },
        },
        remote: { url: "http://127.0.0.1:1/mcp", autoConnect: false },
      },
    }),
  );
  const modelsFile = await write(
    "models.json",
    JSON.stringify({
      default: "local/small",
      providers: {
        local: {
          type: "openai-compatible",
          baseURL: "http://127.0.0.1:1/v1",
          limits: { requestsPerMinute: 10 },
        },
      },
    }),
  );
  const workspace = join(directory, "workspace");
  await mkdir(workspace);

  const start = (service: string, user: string, env: Readonly<Record<string, string>>) =>
    startServiceProcess(service, {
      YARD_NATS_URL: nats.url,
      YARD_NATS_NKEY_FILE: seedFile(keys.path, user),
      ...options.redis(user),
      YARD_KEYS_DIR: keys.path,
      YARD_DRAIN_MS: "1000",
      ...env,
    });
  const policy = await start("policy", "policy", {
    YARD_POLICY_FILE: policyFile,
  });
  const others = await Promise.all([
    start("skill-importer", "importer", {}),
    start("mcp-broker", "broker", {
      YARD_MCP_SERVERS_FILE: serversFile,
      YARD_MCP_SANDBOX: "off",
      YARD_MCP_ALLOW_PRIVATE_HOSTS: "loopback",
      YARD_STATE_DIR: join(directory, "state"),
      // Without Redis a broker's leases soon expire.
      ...testConstants({ mcpLeaseMs: 600_000 }),
    }),
    start("toolbox", "toolbox", { YARD_WORKSPACE: workspace }),
    start("agent-runner", "runner", { YARD_MODELS_FILE: modelsFile }),
    start("scheduler", "scheduler", { YARD_SCHEDULES_AGENT: "demo" }),
    start("channels", "channels", { YARD_CHANNELS_FILE: CHANNELS_FILE }),
    start("gateway", "gateway", {}),
  ]);
  const busOf = (user: string): Bus => {
    const bus = buses.get(user);
    assert.ok(bus, user);
    return bus;
  };
  await until(async () => {
    const { servers } = await call(busOf("cli"), listServers, {});
    return servers.some(({ id, status }) => id === "files" && status === "connected");
  });
  const { token } = await (
    await holdingRunner(busOf("runner"), options.runnerUrl)
  ).grantRun({
    runId: "run",
    agent: "demo",
    requester: "cli",
    tools: [["*"]],
    ttlSeconds: 600,
  });

  const outcomeOf = async (rpc: Rpc): Promise<string> => {
    const caller = callerOf(rpc);
    if (caller === undefined) return "no user may call it";
    const isService = serviceUsers.some(({ name }) => name === caller.name);
    const about = { ...(isService && takesToken(rpc) ? { token } : {}), ...ABOUT[rpc.name] };
    const words = rpc.subject.matchAll(/\{(\w+)\}/g);
    const tokens = Object.fromEntries(
      Array.from(words, ([, word = ""]) => [word, word === "server" ? NAMES.server : "files"]),
    );
    try {
      const request = { ...sampleRequest(rpc.request, { ...NAMES, token }), ...about };
      await call(busOf(caller.name), rpc, request, { tokens, timeoutMs: 20_000 });
      return "answered";
    } catch (error) {
      if (!(error instanceof ServiceError)) return `invalid_request: ${String(error)}`;
      return `${error.code}${error.retryable ? " (retryable)" : ""}: ${error.message}`;
    }
  };

  const rpcs = Object.entries(contractsByOwner).map(
    ([service, contracts]) =>
      [service, contracts.flatMap((each) => (isRpc(each) ? [each] : []))] as const,
  );
  return {
    services: [policy, ...others],
    cli: busOf("cli"),
    rpcs: new Map(rpcs.filter(([, some]) => some.length > 0)),
    outcomeOf,
  };
}

const callers = [cliUser, auditorUser, ...serviceUsers];

/** Fields of a request beyond those that its schema requires, by the contract's name. */
const ABOUT: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  // The other requests find the server connected.
  "mcp.disconnect": { server: "remote" },
  "mcp.add": { server: { id: "added", command: "node" } },
  "channels.send": { text: "hello" },
  "channels.open-decision": { token: ["0".repeat(32), ...Array(3).fill("x".repeat(22))].join(".") },
  "channels.broadcast": { text: "hello" },
  "mcp.answer": { id: "q-00000000" },
  "policy.activate": { version: 1 },
  "sessions.send": { label: "mine" },
  "mcp.logout": { server: "remote" },
  "mcp.login.begin": { server: "remote", redirectUri: "http://127.0.0.1:1/" },
  "mcp.login.finish": { server: "remote" },
  "models.complete": {
    messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    maxTokens: 10,
  },
};
/** Tokens of subjects, and properties of requests, that name an object. */
const NAMES = {
  server: "files",
  tool: "append",
  args: { line: "x" },
  onBehalfOf: "runner",
  user: "runner",
};

/** The token is the runner's. */
const callerOf = (rpc: Rpc): BusUser | undefined =>
  callers.find(({ name, calls }) => name === "runner" && takesToken(rpc) && calls.includes(rpc)) ??
  callers.find(({ calls }) => calls.includes(rpc));
const takesToken = ({ request }: Rpc): boolean =>
  request instanceof z.ZodObject && "token" in request.shape;

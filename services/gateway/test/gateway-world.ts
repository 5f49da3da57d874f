import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { ensureStreams } from "@switchyard/bus/streams";
import { adminUser, client, cliUser, serviceUsers } from "@switchyard/topology/topology";
import type { UserRole } from "@switchyard/contracts/user-roles";
import { createUserKey as createKey } from "@switchyard/contracts/policy/user-tokens";
import { testNatsWithPast, type NatsWithPast } from "@switchyard/testing/test-nats-past";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { usersWithKeys } from "@switchyard/testing/test-users";
import type { ServiceDefinition } from "@switchyard/service/define-service";
import { createRunTokenKey } from "@switchyard/service/run-token";
import type { Constants } from "@switchyard/testing/test-constants";
import { testServices } from "@switchyard/testing/test-services";
import { policyService } from "../../policy/src/service.ts";
import { gatewayService } from "../src/service.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

type LogLine = Record<string, unknown>;

export interface Gateway {
  readonly url: string;
  /** Stops it in order. */
  stop(): Promise<unknown>;
}

export interface GatewayProcess {
  readonly url: string;
  readonly child: ChildProcess;
}

type Env = Readonly<Record<string, string>>;

export interface GatewayWorld {
  readonly nats: NatsWithPast;
  readonly redisUrl: string;
  connectAs(user: string): Promise<Bus>;
  /** Starts a gateway in the process of the test. */
  startGateway(env?: Env, constants?: Constants): Promise<Gateway>;
  /** Starts a gateway that can be killed. */
  startGatewayProcess(env?: Env): Promise<GatewayProcess>;
  /** Creates an API key of a caller. */
  keyOf(caller: string, roles: UserRole[], scopes?: string[]): Promise<{ key: string; id: string }>;
}

const RULES = `version: 1
approvers:
  - { id: bobs, users: [bobs-approver], callsOf: { users: [bob] } }
rules:
  - { id: all, effect: allow }
  - { id: asked, effect: allow, approval: always, what: { tools: [asked.*] } }
`;

/** Starts NATS with the generated permissions, Redis, a policy service and gateways. The test serves the other services. */
export async function startGatewayWorld(
  teams: readonly string[] = [],
  policyEnv: Env = {},
): Promise<GatewayWorld> {
  const startServices = testServices();
  const directory = await testDirectory();
  const policyFile = join(directory, "rules.yaml");
  const keyFile = join(directory, "run-token.jwk");
  await writeFile(policyFile, RULES);
  await writeFile(keyFile, (await createRunTokenKey()).privateJwk, { mode: 0o600 });
  const clients = teams.map((name) => client(name, "A team"));
  const { authorization, seedOf } = usersWithKeys([
    ...serviceUsers,
    cliUser,
    adminUser,
    ...clients,
  ]);
  const nats = await testNatsWithPast({ authorization });
  const redis = await testRedis();
  const connectAs = async (user: string) => {
    const bus = await connectBus({
      delegation: DELEGATION,
      servers: nats.url,
      user,
      nkeySeed: () => seedOf(user),
    });
    after(() => bus.close());
    return bus;
  };
  const envOf = async (user: string, env: Env) => {
    const seedFile = join(directory, `${user}.nk`);
    await writeFile(seedFile, seedOf(user), { mode: 0o600 });
    return {
      YARD_NATS_URL: nats.url,
      YARD_NATS_NKEY_FILE: seedFile,
      YARD_REDIS_URL: redis.url,
      ...env,
    };
  };
  const start = async (service: ServiceDefinition, env: Env, constants: Constants = {}) => {
    const lines: LogLine[] = [];
    const { stop } = await startServices([service], {
      env: await envOf(service.user, env),
      constants,
      onLine: (line) => void lines.push(JSON.parse(line) as LogLine),
    });
    return { url: urlIn(lines), stop };
  };
  const gatewayEnv = (env: Env): Env => ({ YARD_HTTP_REQUESTS_PER_MINUTE: "100000", ...env });
  await ensureStreams(await connectAs("admin"));
  await start(policyService, {
    YARD_POLICY_FILE: policyFile,
    YARD_KEYS_DIR: directory,
    ...policyEnv,
  });
  const cli = await connectAs("cli");
  return {
    nats,
    redisUrl: redis.url,
    connectAs,
    startGateway: (env = {}, constants) => start(gatewayService, gatewayEnv(env), constants),
    async startGatewayProcess(env = {}) {
      const { child, lines } = await startProcess(await envOf("gateway", gatewayEnv(env)));
      return { url: urlIn(lines), child };
    },
    async keyOf(caller, roles, scopes) {
      const request = { caller, roles, ...(scopes && { scopes }) };
      const { key, info } = await call(cli, createKey, request, { timeoutMs: 30_000 });
      return { key, id: info.id };
    },
  };
}

function urlIn(lines: readonly LogLine[]): string {
  return String(lines.find((line) => line["msg"] === "http ready")?.["url"]);
}

async function startProcess(env: Env) {
  const child = spawn(process.execPath, [MAIN], {
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  after(() => child.kill("SIGKILL"));
  const lines: LogLine[] = [];
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const entry = JSON.parse(line) as LogLine; // A service logs only JSON objects there.
    lines.push(entry);
    if (entry["msg"] === "service ready") resolve();
  });
  void once(child, "exit").then(() =>
    reject(
      new Error(
        `the gateway ended: ${JSON.stringify(lines.find(({ level }) => level === "fatal") ?? lines.at(-1))}`,
      ),
    ),
  );
  await ready;
  return { child, lines };
}

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { adminRedisUserName, monitorRedisUser } from "@switchyard/topology/redis-access";
import { testConstants } from "@switchyard/testing/test-constants";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { after } from "node:test";
import { ensureKeys } from "../../../apps/cli/src/key-directory.ts";
import { readSeed, seedFile } from "../../../apps/cli/src/nkey-seed.ts";
import { redisWords } from "../../lib/redis-words.ts";
import { startServiceProcess, type TestService } from "../../lib/service-process.ts";
import { agentFiles, rules } from "./installation-files.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";

export interface Installation {
  readonly teamA: Bus;
  readonly teamB: Bus;
  readonly cli: Bus;
  readonly admin: Bus;
  /** Resolves to its address. */
  readonly startGateway: (more?: Readonly<Record<string, string>>) => Promise<string>;
  /** Services by the names of their users. */
  readonly services: ReadonlyMap<string, TestService>;
  /** Redis' answer to these commands, sent as a user with all rights. */
  readonly redisAnswer: (...commands: string[][]) => Promise<string>;
}

const serverOf = (path: string): string =>
  fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/**
 * All services as processes, with keys, passwords and permissions as `yard keys init` makes them for two teams. `settings` are
 * variables of a service, by its user's name.
 */
export async function startInstallation(
  settings: Readonly<Record<string, Record<string, string>>> = {},
): Promise<Installation> {
  const directory = await testDirectory();
  const keys = await ensureKeys(join(directory, "keys"), { clients: [TEAM_A, TEAM_B] });
  const passwordOf = (user: string): string => keys.redis.password(user);
  const [nats, redis] = await Promise.all([
    testNats({ authorization: keys.authorization({ anonymous: false }) }),
    testRedis({
      access: {
        acl: keys.redis.acl,
        probeUser: monitorRedisUser.name,
        probePassword: passwordOf(monitorRedisUser.name),
      },
    }),
  ]);
  const connect = async (user: string): Promise<Bus> => {
    const nkeySeed = await readSeed(seedFile(keys.path, user));
    const bus = await connectBus({ servers: nats.url, user, nkeySeed: () => nkeySeed });
    after(() => bus.close());
    return bus;
  };
  const admin = await connect("admin");
  await ensureStreams(admin);

  const files = await writeFiles(directory);
  const envOf = (user: string): Record<string, string> => ({
    YARD_NATS_URL: nats.url,
    YARD_NATS_NKEY_FILE: seedFile(keys.path, user),
    YARD_REDIS_URL: `redis://${user}@${redis.host}:${redis.port}`,
    YARD_KEYS_DIR: keys.path,
    ...settings[user],
  });
  const services = new Map<string, TestService>();
  const start = async (
    service: string,
    user: string,
    env: Readonly<Record<string, string>>,
  ): Promise<TestService> => {
    const started = await startServiceProcess(service, { ...envOf(user), ...env });
    services.set(user, started);
    return started;
  };
  await Promise.all([
    start("policy", "policy", {
      YARD_POLICY_FILE: files.policy,
    }),
    start("skill-importer", "importer", { YARD_SKILL_ROOTS: files.root }),
    start("mcp-broker", "broker", {
      YARD_MCP_SERVERS_FILE: files.servers,
      YARD_MCP_SANDBOX: "off",
      YARD_STATE_DIR: join(directory, "state"),
    }),
    start("toolbox", "toolbox", {
      YARD_WORKSPACE: files.workspace,
      YARD_SANDBOX: "off",
    }),
    start("agent-runner", "runner", {
      YARD_RUNNER_SLOTS: "4",
      ...testConstants({ sessionMaxPerOwner: 20 }, settings["runner"]),
    }),
  ]);
  const [teamA, teamB, cli] = await Promise.all([connect(TEAM_A), connect(TEAM_B), connect("cli")]);
  await until(async () => {
    const { servers } = await call(cli, listServers, {});
    return servers.every(({ status }) => status === "connected");
  });
  const speaker = { user: adminRedisUserName, password: passwordOf(adminRedisUserName) };
  const redisAnswer = (...commands: string[][]): Promise<string> =>
    redisWords(redis.url, speaker, commands);
  const startGateway: Installation["startGateway"] = async (more = {}) => {
    const { lines } = await start("gateway", "gateway", more);
    const ready = lines.find((line) => line.includes('"msg":"http ready"')) ?? "{}";
    return String((JSON.parse(ready) as { url?: string }).url); // as the gateway logs it
  };
  return { teamA, teamB, cli, admin, startGateway, services, redisAnswer };
}

async function writeFiles(directory: string) {
  const [root, workspace] = [join(directory, "definitions"), join(directory, "workspace")];
  await mkdir(join(root, "agents"), { recursive: true });
  await mkdir(workspace);
  for (const [name, text] of Object.entries(agentFiles))
    await writeFile(join(root, "agents", `${name}.yaml`), text);
  const policy = join(directory, "rules.yaml");
  await writeFile(policy, rules);
  const servers = join(directory, "mcp-servers.json");
  const server = (path: string) => ({
    command: process.execPath,
    args: [serverOf(path)],
    env: { CALLS_FILE: join(directory, "calls") },
    callTimeoutMs: 600_000,
  });
  const mcpServers = {
    counting: server("test/e2e/fixtures/counting-server.ts"),
    eliciting: server("services/mcp-broker/test-fixtures/eliciting-server.ts"),
  };
  await writeFile(servers, JSON.stringify({ mcpServers }));
  return { root, workspace, policy, servers };
}

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { ensureStreams } from "@switchyard/bus/streams";
import {
  adminUser,
  auditorUser,
  client as team,
  cliUser,
  serviceUsers,
} from "@switchyard/topology/topology";
import { collectLogRecords, type LogRecords } from "@switchyard/testing/log-records";
import type { Constants } from "@switchyard/testing/test-constants";
import { testServices } from "@switchyard/testing/test-services";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import { usersWithKeys } from "@switchyard/testing/test-users";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { policyService } from "../src/service.ts";
import { startPolicy, type PolicyProcess } from "./policy-process.ts";

export interface PolicyWorld {
  readonly policyFile: string;
  readonly keyFile: string;
  /** The directory of the service's keys, with that file. */
  readonly keys: string;
  /** The private JWK that the first key file holds. */
  readonly firstKey: string;
  readonly redis: RunningServer;
  readonly natsUrl: string;
  connectAs(name: string): Promise<Bus>;
  /** A file with the key of a NATS user. */
  keyFileOf(name: string): Promise<string>;
  /** Starts a service in the process of the test. */
  startReplica(environment?: Environment, constants?: Constants): Promise<PolicyReplica>;
  /** Starts a service that can be killed, and resolves when it is ready. */
  startProcess(environment?: Environment): Promise<PolicyProcess>;
}

type Environment = Readonly<Record<string, string>>;

export interface PolicyReplica extends Pick<LogRecords, "records" | "logged"> {
  /** Stops it in order. Resolves to false when a step failed. */
  stop(): Promise<boolean>;
}

/** NATS with the generated permissions, Redis, and policy services with one policy. For the top level of a test file. */
export async function startPolicyWorld(options: {
  readonly rules: string;
  readonly teams: readonly string[];
}): Promise<PolicyWorld> {
  const startServices = testServices();
  const directory = await testDirectory();
  const policyFile = join(directory, "rules.yaml");
  const keyFile = join(directory, "run-token.jwk");
  const { privateJwk } = await createRunTokenKey();
  await writeFile(policyFile, options.rules);
  await writeFile(keyFile, privateJwk, { mode: 0o600 });

  const teams = options.teams.map((name) => team(name, "A team"));
  const { authorization, seedOf } = usersWithKeys([
    ...serviceUsers,
    cliUser,
    adminUser,
    auditorUser,
    ...teams,
  ]);
  const nats = await testNats({ authorization });
  const redis = await testRedis();
  const connectAs = async (name: string) => {
    const seed = seedOf(name);
    const bus = await connectBus({
      delegation: DELEGATION,
      servers: nats.url,
      user: name,
      nkeySeed: () => seed,
    });
    after(() => bus.close());
    return bus;
  };
  await ensureStreams(await connectAs("admin"));
  const keyFileOf = async (name: string) => {
    const file = join(directory, `${name}.nk`);
    await writeFile(file, seedOf(name), { mode: 0o600 });
    return file;
  };

  const basics = async () => ({
    YARD_NATS_URL: nats.url,
    YARD_NATS_NKEY_FILE: await keyFileOf("policy"),
    YARD_REDIS_URL: redis.url,
    YARD_POLICY_FILE: policyFile,
    YARD_KEYS_DIR: directory,
  });

  return {
    policyFile,
    keyFile,
    keys: directory,
    firstKey: privateJwk,
    redis,
    natsUrl: nats.url,
    connectAs,
    keyFileOf,
    async startReplica(environment = {}, constants = {}) {
      const { records, logged, onLine } = collectLogRecords();
      const env = { ...(await basics()), ...environment };
      const { stop } = await startServices([policyService], { env, constants, onLine });
      return { records, logged, stop: () => stop() };
    },
    async startProcess(environment = {}) {
      const replica = startPolicy({ ...(await basics()), ...environment });
      await replica.logged((record) => record["msg"] === "service ready");
      return replica;
    },
  };
}

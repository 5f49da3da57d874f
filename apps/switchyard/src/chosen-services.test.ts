import assert from "node:assert/strict";
import { test } from "node:test";
import { servicePlan } from "@switchyard/cli/dev/service-plan";
import { stateDirectory } from "@switchyard/cli/locations";
import { SERVICE_NAMES } from "@switchyard/contracts/user-names";
import { auditEnv } from "@switchyard/audit/start-audit";
import { natsEnv, processEnv, redisEnv } from "@switchyard/service/env";
import { RunnerEnv } from "@switchyard/agent-runner/config";
import { ChannelsEnv } from "@switchyard/channels/config";
import { Config as GatewayEnv } from "@switchyard/gateway/config";
import { brokerEnv } from "@switchyard/mcp-broker/config";
import { Config as PolicyEnv } from "@switchyard/policy/config";
import { schedulerEnv } from "@switchyard/scheduler/config";
import { ImporterEnv } from "@switchyard/skill-importer/config";
import { toolboxEnv } from "@switchyard/toolbox/config";
import { chosenServices } from "./chosen-services.ts";

const usersOf = async (setting: string) => (await chosenServices(setting)).map(({ user }) => user);

test("all services are chosen by default, each with the user of its name, after those that it needs", async () => {
  const services = await chosenServices("");
  const users = services.map(({ user }) => user);
  assert.deepEqual(new Set(users), new Set(SERVICE_NAMES));
  assert.equal(users.length, SERVICE_NAMES.length);
  for (const [index, { name, startsAfter }] of services.entries())
    for (const needed of startsAfter)
      assert.ok(
        services.slice(0, index).some(({ user }) => user === needed),
        `${name}: ${needed}`,
      );
  assert.deepEqual(await usersOf("policy, all"), await usersOf("all"));
});

test("some services are chosen by their names, in the order of their start", async () => {
  assert.deepEqual(await usersOf("gateway, policy"), ["policy", "gateway"]);
});

test("a name that is no service is refused with those that are", async () => {
  await assert.rejects(chosenServices("policy,polcy,mcp-broker"), {
    name: "StartError",
    message: /names polcy, mcp-broker/,
    hint: /policy, importer, broker/,
  });
});

const schemas = {
  policy: PolicyEnv,
  importer: ImporterEnv,
  broker: brokerEnv,
  toolbox: toolboxEnv,
  runner: RunnerEnv,
  channels: ChannelsEnv,
  scheduler: schedulerEnv,
  gateway: GatewayEnv,
};

test("a service reads the same settings from the environment of one process as from one of its own", () => {
  const shared = new Set(Object.keys({ ...processEnv, ...natsEnv, ...redisEnv, ...auditEnv }));
  const settings = Object.values(schemas).flatMap(({ shape }) => Object.keys(shape));
  const ofThePerson = Object.fromEntries(settings.map((name) => [name, "of the person"]));
  const plan = (apart: boolean) =>
    servicePlan({
      state: stateDirectory({ YARD_STATE_DIR: "/state" }),
      project: {
        directory: "/project",
        policyFile: "/project/policy.yaml",
        mcpServersFile: "/project/mcp-servers.json",
        channelsFile: null,
        triggersFile: null,
        hooks: null,
        modelsFile: null,
        defaultModel: "scripted/plan",
      },
      skillRoots: "/project",
      workspace: "/workspace",
      runners: 1,
      apart,
      natsUrl: "nats://127.0.0.1:1",
      redisUrl: "redis://127.0.0.1:2",
      redisIsOurs: true,
      bubblewrap: null,
      console: null,
      httpPort: null,
      env: ofThePerson,
    });
  const [together] = plan(false);
  for (const { name, env } of plan(true)) {
    // The plan's names are those of the table.
    const { shape } = schemas[name as keyof typeof schemas];
    const own = Object.keys(shape).filter((setting) => !shared.has(setting));
    for (const setting of own)
      assert.equal(together?.env[setting], env[setting], `${name}: ${setting}`);
  }
});

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { HOME, stateDirectory } from "../locations.ts";
import { servicePlan, type ServicePlanOptions } from "./service-plan.ts";

function options(env: NodeJS.ProcessEnv): ServicePlanOptions {
  return {
    state: stateDirectory({ YARD_STATE_DIR: "/state" }),
    project: {
      directory: "/project",
      policyFile: "/project/policy.yaml",
      mcpServersFile: "/project/mcp-servers.json",
      channelsFile: null,
      triggersFile: null,
      hooks: { file: "/project/hooks.json", variables: ["HOOK_SECRET", "YARD_NATS_URL"] },
      modelsFile: null,
      defaultModel: "scripted/plan",
    },
    skillRoots: "/project:user=/home/me/.clawft/skills",
    workspace: "/workspace",
    runners: 1,
    apart: true,
    natsUrl: "nats://127.0.0.1:1",
    redisUrl: "redis://127.0.0.1:2",
    redisIsOurs: true,
    bubblewrap: "/cache/bwrap",
    console: "/console/dist",
    httpPort: null,
    env,
  };
}

/** The processes of the services apart. */
function plan(env: NodeJS.ProcessEnv, runners = 1, redisIsOurs = true) {
  return servicePlan({ ...options(env), runners, redisIsOurs });
}

/** The process with all services, and those of further runners. */
function together(env: NodeJS.ProcessEnv, runners = 1) {
  const [all, ...others] = servicePlan({ ...options(env), runners, apart: false });
  assert.ok(all !== undefined);
  return { all, others };
}

test("starts each service after those it needs, each with a key of its own", () => {
  const specs = plan({});
  assert.deepEqual(
    specs.map(({ name, env }) => [name, env["YARD_NATS_NKEY_FILE"]]),
    ["policy", "importer", "broker", "toolbox", "runner", "channels", "scheduler", "gateway"].map(
      (name) => [name, `/state/keys/${name}.nk`],
    ),
  );
});

test("the services that make sandboxes get the bubblewrap that was found", () => {
  const given = plan({}).filter(({ env }) => env["YARD_BIN_DIR"] !== undefined);
  assert.deepEqual(
    given.map(({ name, env }) => [name, env["YARD_BIN_DIR"]]),
    [
      ["broker", "/cache"],
      ["toolbox", "/cache"],
      ["runner", "/cache"],
    ],
  );
});

test("each service logs in to our Redis as itself, with the passwords of this installation", () => {
  for (const { env } of plan({ YARD_KEYS_DIR: "/another" })) {
    const user = new URL(env["YARD_REDIS_URL"] ?? "").username;
    assert.equal(env["YARD_NATS_NKEY_FILE"], `/state/keys/${user}.nk`);
    assert.equal(env["YARD_KEYS_DIR"], "/state/keys");
  }
});

test("a configured Redis is used as its URL says", () => {
  for (const { env } of plan({}, 1, false))
    assert.equal(env["YARD_REDIS_URL"], "redis://127.0.0.1:2");
});

test("every entry point exists", () => {
  for (const { entry } of [...plan({}), together({}).all]) assert.ok(existsSync(entry), entry);
});

test("one process has all services, each with the key and the password of its own user", () => {
  const { all, others } = together({});
  assert.deepEqual(others, []);
  assert.equal(all.name, "switchyard");
  assert.equal(all.env["YARD_NATS_NKEY_FILE"], "/state/keys/{user}.nk");
  assert.equal(all.env["YARD_REDIS_URL"], "redis://{user}@127.0.0.1:2");
  assert.equal(all.speakers?.get("mcp-broker"), "broker");
});

test("further runners are processes beside the one with all services", () => {
  const { others } = together({}, 3);
  assert.deepEqual(
    others.map(({ name, env }) => [name, env["YARD_NATS_NKEY_FILE"]]),
    ["runner-2", "runner-3"].map((name) => [name, "/state/keys/runner.nk"]),
  );
});

test("no two services are given different values of one setting, so that one environment serves all", () => {
  const { all } = together({ HOOK_SECRET: "whsec", PATH: "/usr/bin" });
  const byUser = new Set(["YARD_NATS_NKEY_FILE", "YARD_REDIS_URL"]);
  for (const { name, env } of plan({ HOOK_SECRET: "whsec", PATH: "/usr/bin" }))
    for (const [setting, value] of Object.entries(env))
      if (!byUser.has(setting)) assert.equal(all.env[setting], value, `${name}: ${setting}`);
});

test("several runners share one NATS user and differ in name", () => {
  const runners = plan({}, 3).slice(4, -3);
  assert.deepEqual(
    runners.map(({ name }) => name),
    ["runner-1", "runner-2", "runner-3"],
  );
  assert.equal(new Set(runners.map(({ env }) => env["YARD_NATS_NKEY_FILE"])).size, 1);
});

test("what is recorded in the audit is the person's choice, for every service alike", () => {
  const chosen = { YARD_AUDIT: "strict", YARD_AUDIT_VALUES: "1", YARD_AUDITOR: "somebody" };
  for (const { name, env } of plan(chosen)) {
    assert.equal(env["YARD_AUDIT"], "strict", name);
    assert.equal(env["YARD_AUDIT_VALUES"], "1", name);
  }
  const [policy] = plan(chosen);
  assert.equal(policy?.env["YARD_AUDITOR"], undefined);
});

test("the user of a laptop may approve its own calls, unless it says otherwise", () => {
  const own = (env: NodeJS.ProcessEnv) => plan(env)[0]?.env["YARD_APPROVE_OWN"];
  assert.equal(own({}), "all");
  assert.equal(own({ YARD_APPROVE_OWN: "" }), "all");
  assert.equal(own({ YARD_APPROVE_OWN: "none" }), "none");
});

test("MCP servers and commands get the person's own PATH, also when npm has put our Node.js first", () => {
  const ours = dirname(process.execPath);
  const path = [join(HOME, "node_modules", ".bin"), ours, "/home/me/bin", "/usr/bin"];
  const own = plan({ PATH: path.join(delimiter) }).filter(({ name }) =>
    ["broker", "toolbox"].includes(name),
  );
  for (const { env, name } of own)
    assert.equal(env["PATH"], ["/home/me/bin", "/usr/bin", ours].join(delimiter), name);
  assert.equal(own.length, 2);
});

test("the person's files for the scanner reach the importer, wherever it runs", () => {
  const env = { YARD_SCAN_INDICATORS: "known/bad.yaml", YARD_SCAN_SUPPRESSIONS: "/etc/fine.yaml" };
  const given = plan(env).find(({ name }) => name === "importer")?.env ?? {};
  assert.equal(given["YARD_SCAN_INDICATORS"], resolve("known/bad.yaml"));
  assert.equal(given["YARD_SCAN_SUPPRESSIONS"], "/etc/fine.yaml");
  const without = plan({ YARD_SCAN_INDICATORS: "" }).find(({ name }) => name === "importer");
  assert.ok(!("YARD_SCAN_INDICATORS" in (without?.env ?? {})));
});

test("API keys reach the services that use them and no others", () => {
  const specs = plan({ OPENAI_API_KEY: "canary" });
  assert.deepEqual(
    specs.filter(({ env }) => Object.values(env).includes("canary")).map(({ name }) => name),
    ["broker", "runner", "channels"],
  );
});

test("the gateway gets the variables that hooks.json names, and nothing of ours under their name", () => {
  const specs = plan({ HOOK_SECRET: "whsec", YARD_NATS_URL: "nats://elsewhere:1" });
  const gateway = specs.at(-1)?.env ?? {};
  assert.deepEqual(
    [gateway["YARD_HOOKS_FILE"], gateway["HOOK_SECRET"], gateway["YARD_NATS_URL"]],
    ["/project/hooks.json", "whsec", "nats://127.0.0.1:1"],
  );
  assert.equal(specs[0]?.env["HOOK_SECRET"], undefined);
});

test("every service reads the keys of the project, whichever the person's environment names", () => {
  for (const { name, env } of plan({ YARD_KEYS_DIR: "/elsewhere" }))
    assert.equal(env["YARD_KEYS_DIR"], "/state/keys", name);
});

test("the person's own bus settings do not leak into the services", () => {
  const env = {
    YARD_NATS_URL: "nats://elsewhere:1",
    YARD_NATS_NKEY_FILE: "/me.nk",
    YARD_USER: "me",
  };
  for (const spec of plan(env)) {
    assert.equal(spec.env["YARD_NATS_URL"], "nats://127.0.0.1:1");
    assert.notEqual(spec.env["YARD_NATS_NKEY_FILE"], "/me.nk");
    assert.equal(spec.env["YARD_USER"], undefined);
  }
});

test("a quiet log does not silence the line that says where a service is ready", () => {
  for (const { name, env } of plan({ YARD_LOG_LEVEL: "error" })) {
    assert.equal(env["YARD_LOG_LEVEL"], "info", name);
  }
  for (const { name, env } of plan({ YARD_LOG_LEVEL: "debug" })) {
    assert.equal(env["YARD_LOG_LEVEL"], "debug", name);
  }
});

test("replicas do not share a health address that the person has set", () => {
  const env = { YARD_HEALTH_PORT: "0.0.0.0:8080" };
  for (const spec of plan(env, 2)) {
    assert.equal(spec.env["YARD_HEALTH_PORT"], "0", spec.name);
  }
});

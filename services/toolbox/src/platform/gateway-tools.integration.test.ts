import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { isError } from "@switchyard/contracts/errors";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { testDirectory } from "@switchyard/testing/test-servers";
import { runToken, toolboxWorld } from "../../test-fixtures/test-toolbox.ts";

type Data = Record<string, unknown>;

const SECRET = "a-secret-that-nobody-may-see";
const MODELS = {
  default: "scripted/plan",
  providers: {
    openai: { type: "openai", apiKeyEnv: "OPENAI_API_KEY" },
    claude: { type: "runtime", cli: "claude", env: { INNER: SECRET } },
  },
  models: { "openai/gpt-4.1": { contextWindow: 100_000 } },
};
const CHANNELS = {
  accounts: {
    telegram: {
      main: {
        caller: "cli",
        direct: { policy: "allowlist", allow: ["1"] },
        config: { token: SECRET, other: "${TOKEN}" },
      },
    },
  },
};
const TRIGGERS = `version: 1
# The morning.
triggers:
  - id: morning
    owner: cli
    agent: helper
    schedule: { kind: every, everyMs: 60000 } # each minute
    input: good morning
`;
const HELPER = `# Ours.
name: helper
description: Helps.
system_prompt: |
  You help.
`;
const WRITER = `---
name: writer
description: Writes.
---
You write.
`;

const world = await toolboxWorld();
const directory = await testDirectory();
const place = (name: string) => join(directory, name);
const outside = await testDirectory();
await world.start({ YARD_CONFIG_DIR: directory });
beforeEach(async () => {
  await mkdir(place("agents"), { recursive: true });
  await Promise.all([
    writeFile(place("models.json"), JSON.stringify(MODELS)),
    writeFile(place("channels.json"), JSON.stringify(CHANNELS)),
    writeFile(place("triggers.yaml"), TRIGGERS),
    writeFile(place("agents/helper.yaml"), HELPER),
    writeFile(place("agents/writer.md"), WRITER),
  ]);
});

const textOf = (name: string) => readFile(place(name), "utf8");
async function ok(tool: string, args: Data = {}): Promise<Data> {
  const { isError: failed, text, structuredContent } = await world.call({ tool, args });
  assert.equal(failed, false, text);
  assert.ok(!text.includes(SECRET), tool);
  return structuredContent as Data;
}
const hashNow = async () => (await ok("gateway_config_get"))["hash"];
async function refused(tool: string, args: Data): Promise<string> {
  const { isError: failed, text } = await world.call({ tool, args });
  assert.equal(failed, true, text);
  assert.ok(!text.includes(SECRET), tool);
  return text;
}

test("config_get shows all of it without secrets, or the part that a key names [F31]", async () => {
  const { hash, raw, config } = await ok("gateway_config_get");
  assert.match(String(hash), /^[0-9a-f]{64}$/);
  assert.deepEqual(JSON.parse(String(raw)), config);
  assert.deepEqual(Object.keys(config as Data), ["models", "channels", "triggers", "agents"]);
  const part = async (key: string) => (await ok("gateway_config_get", { key }))["config"];
  assert.equal(await part("models.default"), "scripted/plan");
  assert.equal(await part("models.models.openai/gpt-4.1.contextWindow"), 100_000);
  assert.equal(await part("channels.accounts.telegram.main.config.token"), "[redacted]");
  assert.equal(await part("channels.accounts.telegram.main.config.other"), "${TOKEN}");
  assert.deepEqual(await part("models.providers.claude.env"), { INNER: "[redacted]" });
  assert.equal(await part("triggers.0.id"), "morning");
  assert.equal(await part("agents.helper.system_prompt"), "You help.\n");
  assert.equal(await part("agents.writer.system_prompt"), "You write.\n");
  assert.equal((await ok("gateway_config_get"))["hash"], hash);
  for (const key of ["nope", "models.constructor", "agents.../../etc/passwd", "__proto__"])
    assert.match(await refused("gateway_config_get", { key }), /config path not found: /);
});

test("config_schema shows what can be changed, all of it or below a path [F34]", async () => {
  const { writable } = await ok("gateway_config_schema");
  const names = Object.keys(writable as Data);
  assert.ok(names.includes("models.default") && names.includes("agents.*.system_prompt"));
  const { writable: one } = await ok("gateway_config_schema", { path: "channels.accounts" });
  assert.ok(Object.keys(one as Data).every((name) => name.startsWith("channels.")));
  assert.match(
    await refused("gateway_config_schema", { path: "policies" }),
    /config schema path not found: policies/,
  );
});

test("a patch changes only its values, keeps secrets and comments, and reports which service reads it when [F33]", async () => {
  const { hash } = await ok("gateway_config_get");
  const patched = await ok("gateway_config_patch", {
    baseHash: hash,
    note: "test",
    patches: {
      models: {
        default: "openai/gpt-4.1",
        models: { "openai/gpt-4.1": { fallbacks: ["scripted/plan"] } },
      },
      channels: { accounts: { telegram: { main: { groups: { requireMention: false } } } } },
      triggers: [{ id: "morning", enabled: false }],
      agents: {
        helper: { system_prompt: "Line one\nLine two\n", model: "openai/gpt-4.1" },
        writer: { system_prompt: "Write well.\n" },
      },
    },
  });
  assert.deepEqual(patched["files"], [
    "models.json",
    "channels.json",
    "triggers.yaml",
    "agents/helper.yaml",
    "agents/writer.md",
  ]);
  assert.deepEqual(
    [patched["ok"], patched["noop"], (patched["changed"] as string[]).length],
    [true, false, 7],
  );
  assert.doesNotMatch(JSON.stringify(patched), /Line one|Write well/);
  const reported = (patched["services"] as Data[]).map(({ service, needsRestart }) => [
    service,
    needsRestart,
  ]);
  assert.deepEqual(reported, [
    ["runner", false],
    ["channels", false],
    ["scheduler", true],
    ["importer", false],
  ]);
  const models = JSON.parse(await textOf("models.json"));
  assert.deepEqual(models, {
    ...MODELS,
    default: "openai/gpt-4.1",
    models: { "openai/gpt-4.1": { contextWindow: 100_000, fallbacks: ["scripted/plan"] } },
  });
  const { accounts } = JSON.parse(await textOf("channels.json")) as typeof CHANNELS;
  const { main } = accounts.telegram;
  assert.deepEqual(main, { ...CHANNELS.accounts.telegram.main, groups: { requireMention: false } });
  const triggers = await textOf("triggers.yaml");
  assert.match(triggers, /# The morning\.[^]*# each minute[^]*enabled: false/);
  const helper = await textOf("agents/helper.yaml");
  assert.match(
    helper,
    /^# Ours\.[^]*system_prompt: \|\n {2}Line one\n {2}Line two\n[^]*model: openai\/gpt-4\.1/,
  );
  assert.equal(await textOf("agents/writer.md"), WRITER.replace("You write.", "Write well."));
  assert.notEqual(patched["hash"], hash);
  assert.equal((await ok("gateway_config_get"))["hash"], patched["hash"]);
});

test("apply takes the configuration as it was shown; an unchanged one writes nothing [F32] [complaint-7]", async () => {
  const { hash, config } = await ok("gateway_config_get");
  const before = await textOf("channels.json");
  assert.deepEqual(await ok("gateway_config_apply", { config, baseHash: hash }), {
    ok: true,
    noop: true,
    hash,
  });
  const { models } = config as { models: Data };
  const wanted = { ...(config as Data), models: { ...models, sampling: ["openai/gpt-4.1"] } };
  const { changed } = await ok("gateway_config_apply", { config: wanted, baseHash: hash });
  assert.deepEqual(changed, ["models.sampling"]);
  assert.equal(await textOf("channels.json"), before);
  assert.ok((await textOf("models.json")).includes(SECRET));
  // A value that is left out would be deleted.
  assert.match(
    await refused("gateway_config_apply", { config: { models }, baseHash: await hashNow() }),
    /gateway config\.apply cannot change protected config paths: .*channels, triggers, agents/,
  );
});

test("protected, dangerous, invalid or secret values are refused, and nothing is written [F32] [F33]", async () => {
  const names = ["models.json", "channels.json", "triggers.yaml", "agents/helper.yaml"];
  const before = await Promise.all(names.map(textOf));
  const baseHash = await hashNow();
  const account = (change: Data) => ({ channels: { accounts: { telegram: { main: change } } } });
  for (const [patches, text] of [
    [
      { models: { providers: { openai: { baseURL: "https://evil.example" } } } },
      /cannot change protected config paths: models\.providers\.openai\.baseURL/,
    ],
    [{ policies: { rules: [] } }, /cannot change protected config paths: policies/],
    [{ channels: null }, /cannot change protected config paths: channels$/],
    [
      account({ config: { token: "mine" } }),
      /protected config paths: channels\.accounts\.telegram\.main\.config\.token/,
    ],
    [account({ owners: ["1"] }), /protected config paths/],
    [
      { triggers: [{ id: "mine", owner: "cli", agent: "helper", input: "x" }] },
      /protected config paths: triggers/,
    ],
    [{ triggers: [{ id: "morning", input: "x" }] }, /protected config paths: triggers\.0\.input/],
    [
      account({ direct: { policy: "open" } }),
      /cannot enable dangerous config flags: channels\.accounts\.telegram\.main\.direct\.policy/,
    ],
    [account({ callers: ["*"] }), /cannot enable dangerous config flags/],
    [
      { models: { providers: { claude: { sandbox: "off" } } } },
      /cannot enable dangerous config flags/,
    ],
    [account({ groups: { requireMention: "no" } }), /groups\.requireMention: /],
    [
      { channels: { accounts: { telegram: { other: { reply: "on" } } } } },
      /there is no channels\.accounts\.telegram\.other/,
    ],
    [
      { models: { default: "nothing/x" } },
      /there is no provider "nothing" under models\.providers/,
    ],
    [
      { models: { models: { nonsense: { fallbacks: [] } } } },
      /models\.models\.nonsense is not a model/,
    ],
    [{ agents: { "../../evil": { system_prompt: "x" } } }, /there is no agents\.\.\.\/\.\.\/evil/],
    [{ agents: { helper: { system_prompt: null } } }, /agents\.helper\.system_prompt is needed/],
    [{ agents: { helper: { system_prompt: "[redacted] is it" } } }, /stands for a secret/],
    [JSON.parse('{"__proto__": {"default": "x"}}'), /protected config paths|noop/],
  ] as const) {
    const { text: said, structuredContent } = await world.call({
      tool: "gateway_config_patch",
      args: { patches, baseHash },
    });
    const noop = (structuredContent as Data | undefined)?.["noop"] === true;
    assert.match(noop ? "noop" : said, text);
  }
  // A wrong one beside a right one.
  await refused("gateway_config_patch", {
    baseHash,
    patches: { models: { default: "openai/gpt-4.1" }, policies: {} },
  });
  assert.deepEqual(await Promise.all(names.map(textOf)), before);
});

test("a change without a base or on the base of an older one is refused, and a change restarts nothing [F32] [F33] [complaint-7]", async () => {
  const before = await textOf("models.json");
  const { hash, config } = await ok("gateway_config_get");
  const wanted = { models: { default: "openai/gpt-4.1" } };
  for (const [tool, args, text] of [
    ["patch", { patches: wanted }, /Missing baseHash from config snapshot\. /],
    ["apply", { config }, /Missing baseHash from config snapshot\. /],
    [
      "patch",
      { patches: wanted, baseHash: hash, restartDelayMs: 0 },
      /gateway_config_patch restarts nothing, so restartDelayMs is not taken/,
    ],
    ["apply", { config, baseHash: hash, sessionKey: "desk" }, /so sessionKey is not taken/],
  ] as const)
    assert.match(await refused(`gateway_config_${tool}`, args), text);
  assert.equal(await textOf("models.json"), before);
  await writeFile(place("models.json"), JSON.stringify({ ...MODELS, sampling: [] }));
  assert.match(
    await refused("gateway_config_patch", { patches: wanted, baseHash: hash }),
    /config changed since last load/,
  );
  // Two concurrent changes run one after the other, and the second is refused.
  const { hash: now } = await ok("gateway_config_get");
  const both = await Promise.all(
    ["one", "two"].map((text) =>
      world.call({
        tool: "gateway_config_patch",
        args: { baseHash: now, patches: { agents: { helper: { system_prompt: text } } } },
      }),
    ),
  );
  assert.equal(both.filter((one) => one.isError).length, 1);
});

test("no link leads out of the directory, and a broken file is reported without its text", async () => {
  await writeFile(join(outside, "secret.yaml"), `name: leak\nsystem_prompt: ${SECRET}\n`);
  await symlink(join(outside, "secret.yaml"), place("agents/leak.yaml"));
  assert.match(await refused("gateway_config_get", {}), /outside the allowed/);
  await rm(place("agents/leak.yaml"));
  await writeFile(place("models.json"), `{"default": ${SECRET}`);
  assert.match(await refused("gateway_config_get", {}), /models\.json is not valid JSON/);
});

test("without YARD_RESTARTS a restart is refused, and services that reload their files need none [F30]", async () => {
  assert.match(
    await refused("gateway_restart", { service: "runner", reason: "new model" }),
    /Gateway restart is disabled \(commands\.restart=false\)\. Nothing was restarted: YARD_RESTARTS/,
  );
  for (const service of ["importer", "channels"]) {
    const { restarted, reason } = await ok("gateway_restart", { service });
    assert.equal(restarted, false);
    assert.match(String(reason), /by itself/);
  }
});

test("runs have the same tools, of which the policy decides [F1] [F39]", async () => {
  const token = runToken("r1");
  const names = async () =>
    (await world.tools({ token })).tools
      .map(({ name }) => name)
      .filter((name) => name.startsWith("gateway_"));
  assert.equal((await names()).length, 5);
  world.policy.answer = (tool) => (/apply|patch|restart/.test(tool) ? "deny" : "allow");
  try {
    assert.deepEqual((await names()).toSorted(), ["gateway_config_get", "gateway_config_schema"]);
    const patch = { tool: "gateway_config_patch", args: { patches: {} } };
    await assert.rejects(world.call({ ...patch, token }), (error) =>
      isError(error, callBuiltin, "denied"),
    );
  } finally {
    world.policy.answer = () => "allow";
  }
});

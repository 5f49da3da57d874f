import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { acpServer } from "./acp-driver.ts";
import type { DriverOptions } from "./driver.ts";
import type { Cli, HostStart } from "./host-protocol.ts";
import { launchOf } from "./launch-profiles.ts";

const home = await mkdtemp(join(tmpdir(), "yard-launch-"));
after(() => rm(home, { recursive: true, force: true }));

/** Texts that a configuration file has to quote. */
const door = {
  command: "/opt/my node",
  args: ['/opt/"bridge".ts', "/run/mcp"],
  env: { KEY: 'a"b\\c', OTHER: "2" },
};
const KEY = "canary-key";

const launch = (cli: Cli, thinking: HostStart["thinking"] = null) => {
  const start: HostStart = {
    type: "start",
    sideEffectsFile: "/run/x.effects",
    cli,
    command: [cli],
    env: {},
    model: "m",
    thinking,
    apiKey: KEY,
    baseURL: "http://127.0.0.1:1",
    directory: home,
    sandbox: null,
    tools: [],
    firstText: "",
    resumeText: "",
    known: [],
  };
  const options: DriverOptions = {
    start,
    bridge: door,
    home,
    work: home,
    session: null,
    spawn: () => Promise.reject(new Error("nothing is started here")),
    report: () => {},
    onSession: () => Promise.resolve(),
  };
  return launchOf(options);
};

/** Reads how the configuration of each CLI names our server, in one common form. */
const reported: Readonly<Record<Cli, () => Promise<typeof door>>> = {
  async claude() {
    const { args } = await launch("claude");
    const file = args[args.indexOf("--mcp-config") + 1] ?? "";
    assert.equal((await stat(file)).mode & 0o077, 0);
    const { mcpServers } = JSON.parse(await readFile(file, "utf8")) as {
      mcpServers: Record<string, typeof door>;
    };
    const { command, args: given, env } = mcpServers["switchyard"] ?? assert.fail("no server");
    return { command, args: given, env };
  },
  async codex() {
    await launch("codex");
    const file = join(home, "codex", "config.toml");
    assert.equal((await stat(file)).mode & 0o077, 0);
    const toml = await readFile(file, "utf8");
    // Both are JSON in TOML, too.
    const valuesOf = (table: string) => {
      const [, text = ""] = toml.split(`[${table}]\n`);
      const [own = ""] = text.split("\n[");
      return Object.fromEntries(
        [...own.matchAll(/^(\w+) = (["[].*)$/gm)].map(([, name, value = ""]) => [
          name,
          JSON.parse(value),
        ]),
      ) as Record<string, unknown>;
    };
    const { command, args } = valuesOf("mcp_servers.switchyard");
    return { command, args, env: valuesOf("mcp_servers.switchyard.env") } as typeof door;
  },
  gemini: () => overAcp("gemini"),
  opencode: () => overAcp("opencode"),
  acp: () => overAcp("acp"),
};

/** These CLIs receive the server when their session begins, and have no file that names it. */
async function overAcp(cli: Cli): Promise<typeof door> {
  const { args, env } = await launch(cli);
  assert.doesNotMatch(JSON.stringify({ args, env }), /\/run\/mcp/);
  const { command, args: given, env: variables } = acpServer(door);
  return {
    command,
    args: given,
    env: Object.fromEntries(variables.map(({ name, value }) => [name, value])) as typeof door.env,
  };
}

test("a CLI with a thinking option gets the configured level, and none when none is set [F9]", async () => {
  const effortOf = async (thinking?: HostStart["thinking"]) => {
    const { args } = await launch("claude", thinking);
    return args.includes("--effort") ? args[args.indexOf("--effort") + 1] : null;
  };
  assert.deepEqual(
    [await effortOf(), await effortOf("none"), await effortOf("xhigh")],
    [null, "low", "xhigh"],
  );
  const config = async (thinking?: HostStart["thinking"]) => {
    await launch("codex", thinking);
    return readFile(join(home, "codex", "config.toml"), "utf8");
  };
  assert.doesNotMatch(await config(), /model_reasoning_effort/);
  assert.match(await config("high"), /^model_reasoning_effort = "high"$/m);
});

test("one form of our server is translated for each CLI, and no secret is in its arguments [F4] [X43]", async () => {
  for (const [cli, server] of Object.entries(reported)) {
    assert.deepEqual(await server(), door, cli);
    const { args } = await launch(cli as Cli); // a key of `told`
    assert.ok(!args.join(" ").includes(KEY), cli);
  }
});

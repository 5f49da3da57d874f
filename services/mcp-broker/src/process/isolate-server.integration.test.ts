import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { SandboxError } from "@switchyard/service/process/sandbox";
import { readDeclaration } from "@switchyard/project/mcp-servers/read-declaration";
import { createServerIsolation, type SandboxSetting } from "./isolate-server.ts";
import { fixtureServer, testWorld, type TestBroker } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const { directory, skip } = await testSandbox();
// A directory of a person, which is no temporary one.
const home = await mkdtemp(join(homedir(), ".switchyard-isolation-test-"));
after(() => rm(home, { recursive: true, force: true }));
const at = (name: string): string => join(home, name);
const write = async (name: string, text = "a secret"): Promise<string> => {
  await mkdir(dirname(at(name)), { recursive: true });
  await writeFile(at(name), text);
  return at(name);
};
const keys = {
  nkey: await write("keys/broker.nk"),
  other: await write("keys/admin.nk"),
  operator: await write("state/operator.nk"),
  data: await write("state/data/redis/appendonly.aof"),
  ssh: await write(".ssh/id_ed25519"),
  claude: await write(".claude/.credentials.json"),
  servers: await write("mcp-servers-of-others.json"),
};
await write("workspace/letter.txt", "a letter");
await mkdir(at("cache"), { recursive: true });
await symlink(at("keys"), at("workspace/way-in"));

/** The environment of an installation: keys in files, secrets of other servers in the environment. */
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  YARD_NATS_NKEY_FILE: keys.nkey,
  YARD_MCP_SERVERS_FILE: keys.servers,
  YARD_PRIVATE_PATHS: at("state"),
  YARD_WORKSPACE: at("workspace"),
  OTHER_SERVERS_TOKEN: "canary-of-another-server",
};

interface Attempt {
  readonly what: string;
  readonly on?: string;
}

async function spyOf(broker: TestBroker, server = "spy") {
  await broker.until(server, ({ status }) => status === "connected");
  return async ({ what, on = "" }: Attempt): Promise<string> =>
    (await broker.call(server, { tool: "try", args: { what, on } })).text.replace(/^Error: /, "");
}

const brokerWith = (entry: object, more: object = {}, sandbox: "require" | "prefer" = "require") =>
  world.startBroker({
    servers: [fixtureServer("spy", ["spying-server.ts"], { env: { OWN_TOKEN: "own" }, ...entry })],
    env: { ...env, ...more },
    stateDir: at("broker-state"),
    sandbox,
  });

test(
  "a stdio server without sandbox settings in its entry cannot do what a hostile one would try",
  { skip },
  async () => {
    const attempt = await spyOf(await brokerWith({}, { YARD_BIN_DIR: directory }));
    const refused: readonly [Attempt, RegExp][] = [
      [{ what: "read", on: keys.nkey }, /^ENOENT$/],
      [{ what: "read", on: keys.other }, /^ENOENT$/],
      [{ what: "read", on: at("workspace/way-in/admin.nk") }, /^ENOENT$/],
      [{ what: "read", on: keys.operator }, /^ENOENT$/],
      [{ what: "read", on: keys.data }, /^ENOENT$/],
      [{ what: "read", on: keys.ssh }, /^ENOENT$/],
      [{ what: "read", on: keys.claude }, /^ENOENT$/],
      // A file is another one inside, which is empty or cannot be opened.
      [{ what: "read", on: keys.servers }, /^(EACCES)?$/],
      [{ what: "write", on: at("cache/x") }, /^EROFS$/],
      [{ what: "write", on: "/etc/switchyard-was-here" }, /^EROFS$/],
      [{ what: "signal", on: String(process.pid) }, /^ESRCH$/],
      [{ what: "list", on: at("broker-state/mcp-homes") }, /^spy$/],
    ];
    for (const [tried, expected] of refused)
      assert.match(await attempt(tried), expected, JSON.stringify(tried));
    const seen = await attempt({ what: "spy" });
    assert.doesNotMatch(seen, /canary|YARD_(?!MCP_CHILD=)/);
    const own = JSON.parse(await attempt({ what: "environment" })) as Record<string, string>;
    assert.equal(own["OWN_TOKEN"], "own");
    assert.equal(own["OTHER_SERVERS_TOKEN"], undefined);
  },
);

test(
  "it can do what servers need: read its program, work in its workspace, keep what it fetches, use the network",
  { skip },
  async (t) => {
    // An argument that is a file in the workspace does not make the workspace read-only.
    const broker = await world.startBroker({
      servers: [fixtureServer("spy", ["spying-server.ts", at("workspace/letter.txt")])],
      env: { ...env, YARD_BIN_DIR: directory },
      stateDir: at("broker-state"),
      sandbox: "require",
    });
    const attempt = await spyOf(broker);
    assert.equal(await attempt({ what: "read", on: at("workspace/letter.txt") }), "a letter");
    assert.equal(await attempt({ what: "write", on: at("workspace/answer.txt") }), "done");
    assert.equal(await readFile(at("workspace/answer.txt"), "utf8"), "changed");
    assert.equal(await attempt({ what: "write", on: "/tmp/mine" }), "done");
    await assert.rejects(stat("/tmp/mine"));
    const { npm_config_cache: npm = "", XDG_CACHE_HOME: cache = "" } = JSON.parse(
      await attempt({ what: "environment" }),
    ) as Record<string, string>;
    assert.ok(npm.startsWith(at("broker-state/mcp-homes/spy/")) && cache !== "");
    assert.equal(await attempt({ what: "write", on: join(dirname(npm), "kept") }), "done");
    const listening = createServer().listen(0, "127.0.0.1");
    t.after(() => listening.close());
    await new Promise((resolve) => listening.once("listening", resolve));
    const address = listening.address();
    assert.ok(typeof address === "object" && address !== null);
    assert.equal(await attempt({ what: "dial", on: String(address.port) }), "connected");
  },
);

test("an entry shows and opens more, or less, and no way to what is secret", { skip }, async () => {
  const broker = await world.startBroker({
    servers: [
      fixtureServer("wide", ["spying-server.ts"], {
        sandbox: {
          type: "default",
          readable: [at(".ssh"), at("keys")],
          writable: [at("cache"), keys.operator],
        },
      }),
      fixtureServer("strict", ["spying-server.ts"], { sandbox: "strict" }),
    ],
    env: { ...env, YARD_BIN_DIR: directory },
    stateDir: at("broker-state"),
    sandbox: "require",
  });
  const wide = await spyOf(broker, "wide");
  assert.equal(await wide({ what: "read", on: keys.ssh }), "a secret");
  assert.equal(await wide({ what: "write", on: at("cache/x") }), "done");
  for (const path of [keys.nkey, keys.operator])
    assert.equal(await wide({ what: "read", on: path }), "ENOENT", path);
  const strict = await spyOf(broker, "strict");
  assert.equal(await strict({ what: "read", on: at("workspace/letter.txt") }), "a letter");
  for (const path of [at(".bash_history"), "/etc/hostname", "/var/lib/dpkg/status", keys.ssh])
    assert.equal(await strict({ what: "read", on: path }), "ENOENT", path);
  assert.match(await strict({ what: "dial", on: "4222" }), /^ECONNREFUSED|^ENETUNREACH/);
  assert.match(await strict({ what: "read", on: "/proc/self/status" }), /^Seccomp:\t2$/m);
});

const entryOf = (fields: object) => {
  const { config } = readDeclaration("spy", { id: "spy", command: "node", ...fields }, "file");
  assert.ok(config?.transport === "stdio");
  return config;
};

test("where nothing isolates a server it is started only when it is trusted, which is reported, or when its entry turns the sandbox off", async () => {
  const started = async (fields: object, setting: SandboxSetting) => {
    const reasons: string[] = [];
    const isolate = createServerIsolation({
      env: { HOME: home, PATH: at("cache") },
      stateDir: at("broker-state"),
      setting,
      ownUsers: false,
      onUnconfined: (reason) => reasons.push(reason),
    });
    const outcome = await isolate(entryOf(fields)).then(
      ({ command }) => command,
      (error: unknown) =>
        error instanceof SandboxError ? error.message : assert.fail(String(error)),
    );
    return [outcome, reasons.length] as const;
  };
  const [refusal, reported] = await started({}, "require");
  assert.match(refusal, /^it is not marked as trusted, .*no bwrap .*"trusted": true/);
  assert.equal(reported, 0);
  assert.deepEqual(await started({ trusted: true }, "require"), ["node", 1]);
  assert.deepEqual(await started({}, "prefer"), ["node", 1]);
  assert.deepEqual(await started({}, "off"), ["node", 0]);
  assert.deepEqual(await started({ sandbox: "off" }, "require"), ["node", 0]);
  // A server that requires a sandbox runs in it or does not run.
  for (const sandbox of ["default", "strict", "bubblewrap"])
    assert.match(
      (await started({ sandbox, trusted: true }, "prefer"))[0],
      /^sandbox "bubblewrap" cannot be used/,
    );
});

const isRoot = process.getuid?.() === 0;

test(
  "without bubblewrap a broker that is root gives each server a user of its own, which reads and signals nothing of the broker",
  { skip: isRoot ? false : "only root may start processes as others" },
  async (t) => {
    const secret = await write("keys/own-user.nk");
    const open = await testDirectory();
    const broker = await world.startBroker({
      servers: [
        fixtureServer("one", ["spying-server.ts"]),
        fixtureServer("two", ["spying-server.ts"]),
      ],
      env: { ...env, PATH: dirname(process.execPath) },
      stateDir: open,
      sandbox: "require",
    });
    const [one, two] = [await spyOf(broker, "one"), await spyOf(broker, "two")];
    const users = [await one({ what: "who" }), await two({ what: "who" })];
    assert.equal(new Set(users).size, 2);
    for (const user of users) assert.match(user, /^(5\d{4}):\1 \d*$/);
    for (const attempt of [one, two]) {
      assert.equal(await attempt({ what: "signal", on: String(process.pid) }), "EPERM");
      assert.equal(await attempt({ what: "read", on: `/proc/${process.pid}/environ` }), "EACCES");
      assert.equal(await attempt({ what: "read", on: secret }), "EACCES");
      assert.doesNotMatch(await attempt({ what: "spy" }), /canary/);
    }
    const { HOME = "" } = JSON.parse(await one({ what: "environment" })) as Record<string, string>;
    // The directory of the test is closed to others, so they are in the machine's temporary one.
    for (const name of ["one", "two"])
      t.after(() => rm(join(dirname(HOME), name), { recursive: true, force: true }));
    assert.equal(await one({ what: "write", on: join(HOME, "mine") }), "done");
    assert.equal(await two({ what: "read", on: join(HOME, "mine") }), "EACCES");
  },
);

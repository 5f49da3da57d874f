import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { agent } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const AGENT = fileURLToPath(new URL("../../test-fixtures/spying-agent.ts", import.meta.url));
const lab = await startLab();
const sandbox = await testSandbox();
// The layout of a person's machine: an installation below the home directory, with keys, data and other runs.
const home = await mkdtemp(join(homedir(), ".switchyard-runtime-test-"));
after(() => rm(home, { recursive: true, force: true }));
const write = async (name: string): Promise<string> => {
  await mkdir(dirname(join(home, name)), { recursive: true, mode: 0o700 });
  await writeFile(join(home, name), "a secret");
  return join(home, name);
};
const secrets = {
  nkey: await write("state/keys/runner.nk"),
  operator: await write("state/operator.nk"),
  data: await write("state/data/redis/appendonly.aof"),
  another: await write("state/runtimes/other/0123456789abcdef/home/codex/auth.json"),
  ssh: await write(".ssh/id_ed25519"),
  claude: await write(".claude/.credentials.json"),
  project: await write("project/letter.txt"),
};
const open = (text: string) => {
  const server = createServer((_, reply) => void reply.end(text));
  after(() => server.close());
  return new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
};
const [model, other, extra] = [await open("the model"), await open("another"), await open("extra")];
const modelsFile = join(home, "models.json");
const spying = {
  type: "runtime",
  cli: "acp",
  command: [process.execPath, AGENT],
  baseURL: `http://127.0.0.1:${model}/v1`,
  hosts: [`localhost:${extra}`],
};
await writeFile(modelsFile, JSON.stringify({ providers: { spying } }));
const { services } = lab;
services.agents.set("spy", agent("spy", { model: "spying/default" }));
const runtimes = join(home, "state/own/runtimes");
await lab.runnerProcess({
  YARD_BIN_DIR: sandbox.directory,
  YARD_MODELS_FILE: modelsFile,
  YARD_STATE_DIR: dirname(runtimes),
  YARD_PRIVATE_PATHS: join(home, "state"),
  ...testConstants({ runSweepMs: 200 }),
});

/** Returns the outcome of each attempt, in order. */
async function tried(runId: string, attempts: readonly string[]): Promise<string[]> {
  await lab.command("spy", { runId, input: attempts.join("\n") });
  const events = await lab.eventsUntil(runId, (event) =>
    ["finished", "failed"].includes(event.name),
  );
  const { output } = events.at(-1)?.payload ?? {};
  assert.equal(typeof output, "string", JSON.stringify(events.at(-1)));
  return String(output)
    .trimEnd()
    .split("\n")
    .map((line, index) => line.slice((attempts[index] ?? "").length + " = ".length));
}

test(
  "a coding CLI sees its own directory and the programs that it needs, and nothing else of the machine",
  { skip: sandbox.skip },
  async () => {
    const reads = Object.values(secrets).map((path) => `read ${path}`);
    const closed = [...reads, "read /etc/shadow", "list /home", `read ${modelsFile}`];
    assert.deepEqual(
      await tried("sees", closed),
      closed.map(() => "ENOENT"),
    );
    const [processes = "", seccomp, own, system, tmp] = await tried("has", [
      "processes",
      "seccomp",
      "write mine.txt",
      "write /usr/switchyard-was-here",
      "write /tmp/mine",
    ]);
    assert.equal((await stat(runtimes)).mode & 0o777, 0o700);
    // The processes are bubblewrap's own, the one that carries its connections, and the agent itself.
    assert.ok(Number(processes) <= 4, processes);
    assert.deepEqual([seccomp, own, system, tmp], ["2", "done", "EROFS", "done"]);
  },
);

test(
  "it reaches its model and the hosts that the operator names, and no other port of the machine",
  { skip: sandbox.skip },
  async () => {
    assert.deepEqual(
      await tried("reaches", [
        `get http://127.0.0.1:${model}/`,
        `get http://localhost:${extra}/`,
        `dial 127.0.0.1:${other}`,
        `dial 192.0.2.1:443`,
        `tunnel 127.0.0.1:${other}`,
        `tunnel api.example.com:443`,
        `tunnel 127.0.0.1:${model}`,
      ]),
      [
        "the model",
        "extra",
        "ECONNREFUSED",
        "ENETUNREACH",
        "HTTP/1.1 403 Forbidden",
        "HTTP/1.1 403 Forbidden",
        "HTTP/1.1 200 Connection Established",
      ],
    );
  },
);

test(
  "a CLI that ends in its turn is reported with its exit code, its last output and the hosts that it could not reach",
  { skip: sandbox.skip },
  async () => {
    await lab.command("spy", { runId: "ends", input: "tunnel api.example.com:443\nend 3" });
    const events = await lab.eventsUntil("ends", "failed");
    const text = JSON.stringify(events.at(-1)?.payload);
    assert.match(text, /exit code 3/);
    assert.match(text, /out of order/);
    assert.match(text, /may not connect to api\.example\.com:443/);
  },
);

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { testDirectory } from "@switchyard/testing/test-servers";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { findBubblewrap, SandboxError, sandboxed } from "@switchyard/service/process/sandbox";
import { testSandbox } from "@switchyard/testing/test-sandbox";

const world = await testWorld();
const emptyPath = await testDirectory();
// Not below /tmp, which is another directory inside a sandbox.
const outside = await mkdtemp(join(homedir(), ".switchyard-sandbox-test-"));
after(() => rm(outside, { recursive: true, force: true }));
const { program, directory, skip } = await testSandbox();

test(
  "a process in a sandbox writes only where it may, and its end leaves nothing behind",
  { skip },
  async () => {
    const [open, closed] = [join(outside, "open"), join(outside, "closed")];
    await Promise.all([mkdir(open), mkdir(closed)]);
    await writeFile(join(closed, "secret.txt"), "a secret");
    const broker = await world.startBroker({
      servers: [
        fixtureServer("boxed", ["fixture-server.ts"], {
          sandbox: { type: "bubblewrap", writable: [open], hidden: [join(closed, "secret.txt")] },
        }),
      ],
      env: { PATH: process.env["PATH"] ?? "", YARD_BIN_DIR: directory },
    });
    await broker.until("boxed", ({ status }) => status === "connected");
    const count = (file: string) => broker.call("boxed", { tool: "count", args: { file } });
    assert.equal((await count(join(open, "calls"))).isError, false);
    const refused = await count(join(closed, "calls"));
    assert.equal(refused.isError, true);
    assert.match(refused.text, /EROFS|read-only/);
    // Data that is written to a hidden file is discarded.
    await count(join(closed, "secret.txt"));
    assert.equal(await readFile(join(closed, "secret.txt"), "utf8"), "a secret");
  },
);

test("a process in a sandbox has no network unless it is allowed", { skip }, async () => {
  const listInterfaces = async (network: boolean): Promise<string> => {
    const script = "console.log(Object.keys(require('node:os').networkInterfaces()).join())";
    const launch = { command: process.execPath, args: ["-e", script], cwd: null };
    const { command, args } = sandboxed(
      launch,
      { readable: [dirname(process.execPath)], writable: [], hidden: [], network },
      program,
    );
    return (await promisify(execFile)(command, [...args])).stdout.trim();
  };
  const [without, allowed] = await Promise.all([listInterfaces(false), listInterfaces(true)]);
  assert.equal(allowed, Object.keys(networkInterfaces()).join());
  assert.ok(["", "lo"].includes(without), without);
});

test(
  "a process in a sandbox has no capability, also when the broker is root, and cannot set the kernel up anew",
  { skip },
  async () => {
    const pattern = "/proc/sys/kernel/core_pattern";
    // The value that it has already, so that a test that fails does no harm.
    const script = `grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status
      mount -o remount,rw,bind / && echo writable
      p=$(cat ${pattern}); echo "$p" > ${pattern} && echo written
      true`;
    const launch = { command: "/bin/sh", args: ["-c", script], cwd: null };
    const { command, args } = sandboxed(
      launch,
      { writable: [], hidden: [], network: false },
      program,
    );
    const { stdout } = await promisify(execFile)(command, [...args]);
    assert.match(stdout, /^(Cap...:\t0{16}\n){3}$/);
  },
);

test("a sandbox that cannot be created is an error with the reason, and the server does not start without it", async () => {
  await assert.rejects(findBubblewrap({ path: emptyPath }), SandboxError);
  await assert.rejects(findBubblewrap({ program: "/nowhere/bwrap", path: emptyPath }), {
    name: "SandboxError",
    message: /\/nowhere\/bwrap does not work here/,
  });
  const broker = await world.startBroker({
    servers: [fixtureServer("boxed", ["fixture-server.ts"], { sandbox: "bubblewrap" })],
    env: { PATH: emptyPath },
  });
  const info = await broker.until("boxed", ({ status }) => status === "error");
  assert.match(
    info.lastError ?? "",
    /there is no bwrap on the PATH of this service; install bubblewrap/,
  );
});

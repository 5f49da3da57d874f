import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { isGroupAlive } from "@switchyard/service/process/process-group";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { testLimits } from "../../test-fixtures/test-limits.ts";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { openCommandCage } from "../command/command-sandbox.ts";
import { createExecuteCommand, STREAM_LIMIT_BYTES } from "./execute-command.ts";

// The directories mounted in the sandbox, which may be fewer than those of PATH.
const path = "/usr/local/bin:/usr/bin:/bin";
const { root, outside, context, put, run } = await testWorkspace();
const emptyPath = await testDirectory();
const bare = createExecuteCommand({ cage: { kind: "off" }, path });
const { program, skip } = await testSandbox();
const bubblewrap = { program, path };
const limits = testLimits();
const options = { setting: "auto", bubblewrap, readable: [], network: false, limits } as const;
const boxed = createExecuteCommand({ cage: await openCommandCage(options), path });
const kinds = [
  { name: "without a sandbox", tool: bare, skip: false },
  { name: "in a sandbox", tool: boxed, skip },
];

const listener = createServer((socket) => socket.end("reached"));
await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
after(() => listener.close());

for (const { name, tool, skip: skipped } of kinds) {
  test(
    `${name}: returns a program's output and its exit code, and never throws on one [E11]`,
    { skip: skipped },
    async () => {
      const { text, structured } = await run(tool, {
        command: `sh -c 'echo out; echo err >&2; exit 3'`,
      });
      assert.equal(text, "Exit code 3.\n--- stdout\nout\n--- stderr\nerr");
      assert.deepEqual(
        { ...structured },
        {
          stdout: "out\n",
          stderr: "err\n",
          exitCode: 3,
          signal: null,
          failed: true,
          timedOut: false,
          cancelled: false,
          exceeded: null,
          stdoutBytes: 4,
          stderrBytes: 4,
          truncated: false,
        },
      );
      const good = await run(tool, { command: "true" });
      assert.equal(good.structured["failed"], false);
      const none = await run(tool, { command: "no-such-program-here" });
      assert.equal(none.structured["failed"], true);
      assert.match(String(none.structured["stderr"]), /no-such-program-here/);
    },
  );

  test(
    `${name}: runs in the workspace or a directory of it, and nowhere else [E12]`,
    { skip: skipped },
    async () => {
      await mkdir(join(root, "sub"), { recursive: true });
      assert.equal((await run(tool, { command: "pwd -P" })).structured["stdout"], `${root}\n`);
      const sub = await run(tool, { command: "pwd -P", cwd: "sub" });
      assert.equal(sub.structured["stdout"], `${join(root, "sub")}\n`);
      await assert.rejects(
        run(tool, { command: "pwd", cwd: ".." }),
        /outside the allowed workspace/,
      );
      await symlink(outside, join(root, `out-${name.length}`));
      await assert.rejects(
        run(tool, { command: "pwd", cwd: `out-${name.length}` }),
        /outside the allowed workspace/,
      );
    },
  );

  test(`${name}: a command gets no variable of the service`, { skip: skipped }, async () => {
    testEnvironment({ YARD_TEST_SECRET: "canary" });
    const { structured } = await run(tool, { command: "env" });
    const names = String(structured["stdout"])
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0])
      .filter((variable) => !["PWD", "OLDPWD", "SHLVL", "_"].includes(variable ?? ""));
    assert.deepEqual(new Set(names), new Set(["HOME", "LANG", "PATH", "TMPDIR"]));
  });

  test(
    `${name}: a command that takes too long is ended with everything it started`,
    { skip: skipped },
    async () => {
      const { structured, text } = await run(tool, {
        command: `trap '' TERM; sleep 300 & echo started; wait; sleep 300`,
        shell: true,
        timeout: 3_000,
      });
      assert.equal(structured["timedOut"], true);
      assert.equal(structured["stdout"], "started\n");
      assert.match(text, /^Ended after 3000 ms/);
    },
  );

  test(`${name}: a cancelled call ends its command`, { skip: skipped }, async () => {
    const controller = new AbortController();
    const marker = `marker-${name.length}`;
    const running = tool.run(
      tool.input.parse({ command: `echo $$ > ${marker}; sleep 300`, shell: true }),
      { ...context, signal: controller.signal },
    );
    await until(() => existsSync(join(root, marker)));
    controller.abort();
    const { structured } = await running;
    assert.equal(structured["cancelled"], true);
  });

  test(
    `${name}: each stream is cut at 50 KB between two characters, and the result reports it [E11] [ER9]`,
    { skip: skipped },
    async () => {
      await put("long.txt", `x${"ä".repeat(STREAM_LIMIT_BYTES)}`);
      const { structured, text } = await run(tool, { command: "cat long.txt" });
      const stdout = String(structured["stdout"]);
      assert.equal(Buffer.byteLength(stdout), STREAM_LIMIT_BYTES - 1);
      assert.equal(stdout, `x${"ä".repeat((STREAM_LIMIT_BYTES - 2) / 2)}`);
      assert.equal(structured["truncated"], true);
      assert.equal(structured["stdoutBytes"], 1 + 2 * STREAM_LIMIT_BYTES);
      assert.match(text, /--- stdout \[truncated: the first 51199 of 102401 bytes\]/);
    },
  );
}

test("a program that cannot be started is reported as a shell reports it, whatever the reason", async () => {
  await put("plain.txt", "no program");
  const codes = [];
  for (const command of ["x".repeat(300), "./plain.txt/x", "./plain.txt", "./", "''x"])
    codes.push((await run(bare, { command })).structured["exitCode"]);
  assert.deepEqual(codes, [127, 127, 126, 126, 127]);
});

test("background processes of a command have ended when the call returns", async () => {
  const { structured } = await run(bare, {
    command: "sleep 300 >/dev/null 2>&1 & echo $$",
    shell: true,
  });
  assert.equal(await isGroupAlive(Number(structured["stdout"])), false);
});

test("a process that left the group does not keep the call waiting for its output", async () => {
  const { structured } = await run(bare, {
    command: `setsid sh -c 'echo $$ > left.pid; sleep 300' & while [ ! -s left.pid ]; do :; done; echo done`,
    shell: true,
  });
  const pid = Number(await readFile(join(root, "left.pid"), "utf8"));
  process.kill(pid, "SIGKILL");
  assert.equal(structured["stdout"], "done\n");
});

test("without shell: true no part of a command is interpreted by a shell [ER5]", async () => {
  await assert.rejects(run(bare, { command: "echo a > made.txt" }), /set shell to true/);
  await assert.rejects(run(bare, { command: "true && touch made.txt" }), /set shell to true/);
  assert.equal(existsSync(join(root, "made.txt")), false);
  await run(bare, { command: "echo a > made.txt", shell: true });
  assert.equal(await readFile(join(root, "made.txt"), "utf8"), "a\n");
});

test(
  "a command in a sandbox writes in the workspace and sees nothing else of this machine [ER5]",
  {
    skip,
  },
  async () => {
    await run(boxed, { command: "echo a > boxed.txt", shell: true });
    assert.equal(await readFile(join(root, "boxed.txt"), "utf8"), "a\n");
    const secret = join(outside, "secret.txt");
    const look = await run(boxed, { command: `cat ${secret}` });
    assert.match(String(look.structured["stderr"]), /No such file/);
    await run(boxed, {
      command: `mkdir -p ${outside}; echo a > ${join(outside, "new.txt")}`,
      shell: true,
    });
    assert.equal(existsSync(join(outside, "new.txt")), false);
    const home = await run(boxed, { command: `ls ${homedir()}` });
    assert.equal(home.structured["failed"], true);
    const usr = await run(boxed, { command: "touch /usr/new-file" });
    assert.equal(usr.structured["failed"], true);
    const processes = await run(boxed, { command: `kill -0 ${process.pid}`, shell: true });
    assert.equal(processes.structured["failed"], true);
  },
);

test(
  "a command in a sandbox has no capability, also when the service is root, and cannot set the kernel up anew",
  { skip },
  async () => {
    const own = await run(boxed, { command: "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status" });
    assert.match(String(own.structured["stdout"]), /^(Cap...:\t0{16}\n){3}$/);
    const mounts = await run(boxed, {
      command: "mount -o remount,rw,bind /usr && echo writable; umount /etc/passwd && echo bare",
      shell: true,
    });
    assert.equal(mounts.structured["stdout"], "");
    // The value that it has already, so that a test that fails does no harm.
    const pattern = "/proc/sys/kernel/core_pattern";
    const kernel = await run(boxed, {
      command: `p=$(cat ${pattern}); echo "$p" > ${pattern} && echo written`,
      shell: true,
    });
    assert.equal(kernel.structured["stdout"], "");
  },
);

test("a command in a sandbox has no network unless it is allowed", { skip }, async () => {
  const address = listener.address();
  assert.ok(typeof address === "object" && address !== null);
  const script = `require("node:net").connect(${address.port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))`;
  await writeFile(join(root, "reach.cjs"), script);
  const command = `"${process.execPath}" reach.cjs`;
  const readable = [dirname(process.execPath)];
  const shut = await openCommandCage({ ...options, readable });
  const closed = await run(createExecuteCommand({ cage: shut, path }), { command });
  assert.equal(closed.structured["stdout"], "ECONNREFUSED\n");
  const open = await openCommandCage({ ...options, readable, network: true });
  const allowed = await run(createExecuteCommand({ cage: open, path }), { command });
  assert.equal(allowed.structured["stdout"], "reached\n");
});

test(
  "a command in a sandbox finds nothing in what is secret, and cannot put it aside [46]",
  { skip },
  async () => {
    await mkdir(join(root, ".switchyard", "keys"), { recursive: true });
    await writeFile(join(root, ".switchyard", "keys", "admin.nk"), "seed");
    const secret = [join(root, ".switchyard")];
    const cage = await openCommandCage({ ...options, secret });
    const tool = createExecuteCommand({ cage, path });
    const command =
      "cat .switchyard/keys/admin.nk; ls -A .switchyard; mv .switchyard aside; ln .switchyard/keys/admin.nk hard; grep -r seed .";
    const { structured } = await run(tool, { command, shell: true });
    assert.equal(structured["stdout"], "");
    assert.deepEqual(await readdir(join(root, ".switchyard")), ["keys"]);
  },
);

test("where no sandbox works no command runs, unless commands are to have the service's rights [ER5]", async () => {
  const without = { ...options, bubblewrap: { path: emptyPath } };
  await assert.rejects(openCommandCage({ ...without, setting: "require" }), /no bwrap/);
  assert.deepEqual(await openCommandCage({ ...without, setting: "off" }), { kind: "off" });
  const uncaged = createExecuteCommand({ cage: await openCommandCage(without), path });
  await assert.rejects(
    run(uncaged, { command: "touch uncaged.txt" }),
    /there is no bwrap on the PATH of this service; install bubblewrap/,
  );
  assert.equal(existsSync(join(root, "uncaged.txt")), false);
});

test("in full-control commands can access what the service can access, with or without a sandbox [E12]", async () => {
  const workspace = { root, mode: "full-control", hidden: [] } as const;
  const args = boxed.input.parse({ command: "cat secret.txt", cwd: outside });
  const { structured } = await boxed.run(args, { ...context, workspace });
  assert.equal(structured["stdout"], "top secret");
});

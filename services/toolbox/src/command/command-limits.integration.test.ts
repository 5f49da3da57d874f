import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { until } from "@switchyard/local-servers/until";
import { testLimits } from "../../test-fixtures/test-limits.ts";
import { testWorkspace } from "../../test-fixtures/test-workspace.ts";
import { createExecuteCommand } from "../tools/execute-command.ts";
import { writeFile } from "../tools/write-file.ts";
import { openCommandCage } from "./command-sandbox.ts";

const path = "/usr/local/bin:/usr/bin:/bin";
const MIB = 1_024 * 1_024;
const { run, put, context } = await testWorkspace();
const { program, skip } = await testSandbox();

function openCage(limits: Parameters<typeof testLimits>[0]) {
  const bubblewrap = { program, path };
  const options = { setting: "auto", bubblewrap, readable: [], network: false } as const;
  return openCommandCage({ ...options, limits: testLimits(limits) });
}

async function toolWith(limits: Parameters<typeof testLimits>[0]) {
  return createExecuteCommand({ cage: await openCage(limits), path });
}

/** Runs a script in a sandbox with these limits. */
async function runIn(limits: Parameters<typeof testLimits>[0], command: string, timeout = 20_000) {
  return run(await toolWith(limits), { command, shell: true, timeout });
}

const cageHere = await openCage({});
const bombSkip =
  skip === false && !(cageHere.kind === "bubblewrap" && cageHere.sandbox.kernelCounts)
    ? "root may make no control group here, so a fork bomb would disturb the machine"
    : skip;

test("a fork bomb is ended or starves, and the next command runs", { skip: bombSkip }, async () => {
  const tool = await toolWith({ processes: 64 });
  const bomb = await run(tool, {
    command: "b() { b | b & b; }; b; wait",
    shell: true,
    timeout: 5_000,
  });
  assert.match(bomb.text, /more than 64 processes and threads|Cannot fork|Ended after 5000 ms/);
  const next = await run(tool, { command: "echo next" });
  assert.equal(next.structured["stdout"], "next\n");
});

test(
  "processes beyond the limit are not created, or end the command, with a message",
  { skip },
  async () => {
    const many = "i=0; while [ $i -lt 100 ]; do sleep 30 & i=$((i+1)); done; echo made; wait";
    const { text, structured } = await runIn({ processes: 40 }, many);
    if (structured["exceeded"] === null) assert.match(text, /Cannot fork|retry/);
    else assert.match(text, /^Ended: it had more than 40 processes/);
    const fewer = await runIn({ processes: 40 }, many.replace("100", "20").replace("30", "1"));
    assert.equal(fewer.structured["failed"], false, fewer.text);
  },
);

test(
  "a process that wants too much memory gets none, and a group of them is ended",
  { skip },
  async () => {
    // `tail` buffers a line without an end until the line ends.
    const hog = (megabytes: number): string => `head -c ${megabytes}M /dev/zero | tail > /dev/null`;
    const single = await runIn({ memoryBytes: 256 * MIB }, hog(400));
    assert.match(single.text, /memory exhausted|[Oo]ut of memory|Ended: it used more than 256 MiB/);
    const group = [1, 2, 3, 4].map(() => `(${hog(120)}; sleep 5) &`).join(" ");
    const { text, structured } = await runIn(
      { memoryBytes: 256 * MIB },
      `${group} ${hog(200)}; sleep 5`,
    );
    assert.equal(structured["exceeded"], "memory", text);
    assert.match(text, /^Ended: it used more than 256 MiB of memory \(YARD_COMMAND_MEMORY_MB\)/);
  },
);

test("memory that processes share counts once", { skip }, async () => {
  await put(
    "share.cjs",
    `const a = Buffer.alloc(${150 * MIB}, 1); process.stdout.write("x" + a.at(-1));`,
  );
  const { text } = await runIn({ memoryBytes: 1_024 * MIB }, `"${process.execPath}" share.cjs`);
  assert.match(text, /x1/);
});

test(
  "full directories give a clear error: a file, /tmp and every directory beside the workspace",
  { skip },
  async () => {
    const limits = { fileBytes: 2 * MIB, tmpBytes: 4 * MIB };
    const file = await runIn(
      limits,
      "head -c 3M /dev/zero > big; echo $? >&2; exec head -c 3M /dev/zero > big",
    );
    assert.match(file.text, /^Exit code 153\. It wrote a file of more than 2 MiB/);
    const fill = (directory: string): string =>
      `i=0; while [ $i -lt 100 ]; do head -c 1M /dev/zero > ${directory}/f$i || exit 3; i=$((i+1)); done`;
    const tmp = await runIn(limits, fill("/tmp"));
    assert.match(tmp.text, /^Exit code 3[^]*No space left on device/);
    const shm = await runIn(limits, fill("/dev/shm"));
    assert.match(shm.text, /^Exit code 3[^]*No space left on device/);
    for (const place of ["/", "/dev", "/usr", "/etc", join("/proc", "self")]) {
      const { structured } = await runIn(limits, `echo a > ${place}/new-file`);
      assert.equal(structured["failed"], true, place);
    }
  },
);

test(
  "a full workspace ends the command that fills it, accepts no file, and can be cleared",
  { skip },
  async () => {
    const tool = await toolWith({});
    const workspace = { ...context.workspace, limitBytes: 8 * MIB };
    const runHere = (command: string) =>
      tool.run(tool.input.parse({ command, shell: true }), { ...context, workspace });
    const fill = "i=0; while :; do head -c 1M /dev/zero > fill-$i; i=$((i+1)); sleep 0.05; done";
    const full = await runHere(fill);
    assert.equal(full.structured["exceeded"], "disk");
    assert.match(full.text, /^Ended: its workspace had more than 8 MiB \(YARD_WORKSPACE_MB\)/);
    const args = writeFile.input.parse({ path: "more.txt", content: "x" });
    await assert.rejects(
      writeFile.run(args, { ...context, workspace }),
      /^ToolError: The workspace is full: it has \d+ of 8 MiB/,
    );
    assert.equal((await runHere("rm fill-*; sleep 1.5")).structured["failed"], false);
    await writeFile.run(args, { ...context, workspace });
  },
);

test("a process that only calculates is ended after its processor time", { skip }, async () => {
  const { text } = await runIn({ cpuSeconds: 1 }, "exec sh -c 'while :; do :; done'");
  assert.match(text, /^Exit code 1(52|37)\./);
});

test(
  "system calls that make sandboxes weak are refused, and programs run as ever",
  { skip },
  async () => {
    const refused = await runIn(
      {},
      "unshare -U true; unshare -r true; mount -t tmpfs none /tmp; chroot / true",
    );
    assert.doesNotMatch(String(refused.structured["stdout"]), /./);
    assert.match(refused.text, /unshare.*Operation not permitted/);
    const status = await runIn(
      {},
      "grep -E 'Seccomp:|NoNewPrivs:' /proc/self/status; ls -l /proc/$$/fd | grep -c socket:",
    );
    assert.match(String(status.structured["stdout"]), /NoNewPrivs:\t1\nSeccomp:\t2\n2\n$/);
    const node = `"${process.execPath}" -e 'new Worker(String(1), { eval: true }); require("child_process").execSync("echo from a child", { stdio: "inherit" })'`;
    const works = await runIn(
      {},
      node.replace("new Worker", 'new (require("worker_threads").Worker)'),
    );
    assert.equal(works.structured["stdout"], "from a child\n", works.text);
  },
);

test(
  "a command that is cancelled while its sandbox is set up does not begin and leaves no process behind",
  { skip },
  async () => {
    const tool = await toolWith({});
    const mark = `27182.${process.pid}`;
    const marked = (): string[] =>
      readdirSync("/proc").filter(
        (entry) => /^\d+$/.test(entry) && commandLine(entry).includes(mark),
      );
    for (let delayMs = 0; delayMs < 30; delayMs += 2) {
      const signal = AbortSignal.timeout(delayMs);
      const ended = await tool
        .run(tool.input.parse({ command: `sleep ${mark}` }), { ...context, signal })
        .catch((error: unknown) => error);
      assert.ok(ended !== undefined);
    }
    await until(marked, (pids) => pids.length === 0);
  },
);

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It has ended.
  }
}

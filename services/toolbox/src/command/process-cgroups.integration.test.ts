import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "@switchyard/local-servers/until";
import { openProcessCgroups } from "./process-cgroups.ts";

const LIMITS = { processes: 8, memoryBytes: 64 * 1_024 * 1_024 };
const { processes = false, memory = false } = openProcessCgroups(LIMITS)?.holds ?? {};
const NONE = "no control group can be made here";
const skip = processes ? false : NONE;
const MODULE = fileURLToPath(new URL("process-cgroups.ts", import.meta.url));

/** Returns the control group of a process, in either version of control groups. */
function groupOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/cgroup`, "utf8");
  const version1 = /^\d+:pids:(.*)$/m.exec(text)?.[1];
  if (version1 !== undefined) return `/sys/fs/cgroup/pids${version1}`;
  return `/sys/fs/cgroup${/^0::(.*)$/m.exec(text)?.[1]}`;
}

test(
  "a control group is removed with its last process, and those of a killed service by the next one",
  { skip },
  async () => {
    const sleeper = spawn("sleep", ["300"], { stdio: "ignore" });
    const entered = openProcessCgroups(LIMITS)?.enter(sleeper.pid ?? 0) ?? assert.fail();
    const group = groupOf(sleeper.pid ?? 0);
    assert.match(group, /yard-command-/);
    assert.equal(readFileSync(`${group}/pids.max`, "utf8"), "8\n");
    sleeper.kill("SIGKILL");
    await entered.leave();
    assert.equal(existsSync(group), false);

    const script = `
    const { openProcessCgroups } = await import(${JSON.stringify(MODULE)});
    const { spawn } = await import("node:child_process");
    const sleeper = spawn("sleep", ["300"], { stdio: "ignore" });
    openProcessCgroups(${JSON.stringify(LIMITS)}).enter(sleeper.pid);
    console.log(sleeper.pid);
    setInterval(() => {}, 1000);`;
    const service = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(createInterface(service.stdout), "line");
    const left = groupOf(Number(line));
    assert.notEqual(left, groupOf(process.pid));
    service.kill("SIGKILL");
    await once(service, "exit");
    process.kill(Number(line), "SIGKILL");
    await until(() => {
      openProcessCgroups(LIMITS);
      return !existsSync(left);
    });
  },
);

test(
  "a command has the memory of its group, and an end by the kernel is detected",
  { skip: memory ? false : `${NONE} that holds memory` },
  async () => {
    // `tail` buffers a line without an end until the line ends.
    const script = "read go; head -c $0 /dev/zero | tail > /dev/null; exit 0";
    for (const [size, isTooMuch] of [
      ["1M", false],
      ["200M", true],
    ] as const) {
      const hog = spawn("/bin/sh", ["-c", script, size], { stdio: ["pipe", "ignore", "ignore"] });
      const group = openProcessCgroups(LIMITS)?.enter(hog.pid ?? 0) ?? assert.fail();
      hog.stdin.end("go\n");
      await once(hog, "exit");
      assert.equal(group.ranOutOfMemory(), isTooMuch);
      await group.leave();
    }
  },
);

import assert from "node:assert/strict";
import { test } from "node:test";
import { hierarchiesOf, saysKilled } from "./process-cgroups.ts";

const LIMITS = { processes: 64, memoryBytes: 268_435_456 };
const PIDS = [["pids.max", "64"]];

test("with control groups of version 2, a command's group is beside the service's and holds processes, memory and swap", () => {
  const text = "0::/system.slice/yard.slice/toolbox.service\n";
  assert.deepEqual(hierarchiesOf(LIMITS, { text, isUnified: true }), [
    {
      parent: "/sys/fs/cgroup/system.slice/yard.slice",
      processes: PIDS,
      memory: [
        ["memory.max", "268435456"],
        ["memory.swap.max", "0"],
        ["memory.oom.group", "1"],
      ],
    },
  ]);
});

test("in a container, whose own group is the root of the visible hierarchy, a command's group is in that root", () => {
  const [found] = hierarchiesOf(LIMITS, { text: "0::/\n", isUnified: true });
  assert.equal(found?.parent, "/sys/fs/cgroup/");
});

test("where both versions are mounted, the limits are where version 1 has them", () => {
  const text = "7:memory:/docker/a\n3:pids:/docker/b\n0::/docker/a\n";
  const found = hierarchiesOf(LIMITS, { text, isUnified: false });
  assert.deepEqual(
    found.map(({ parent, processes, memory }) => [parent, processes.length, memory.length]),
    [
      ["/sys/fs/cgroup/pids/docker/b", 1, 0],
      ["/sys/fs/cgroup/memory/docker/a", 0, 2],
    ],
  );
});

test("without control groups, or with version 2 mounted elsewhere, no group can be made", () => {
  assert.deepEqual(hierarchiesOf(LIMITS, { text: "", isUnified: false }), []);
  assert.deepEqual(hierarchiesOf(LIMITS, { text: "0::/a/b\n", isUnified: false }), []);
});

test("an end because of memory is detected in the files of both versions", () => {
  assert.equal(saysKilled("low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 1\n"), true);
  assert.equal(saysKilled("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n"), false);
  assert.equal(saysKilled("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), true);
  assert.equal(saysKilled("oom_kill_disable 1\nunder_oom 0\noom_kill 0\n"), false);
});

import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SkillRequirements } from "@switchyard/contracts/skill-importer/skills";
import { testDirectory } from "@switchyard/testing/test-servers";
import { checkDependencies } from "./check-dependencies.ts";

const NOTHING: SkillRequirements = {
  bins: [],
  anyBins: [],
  env: [],
  config: [],
  os: [],
  always: false,
  primaryEnv: null,
  install: [],
};

const directory = await testDirectory();
const bin = join(directory, "bin");
await mkdir(join(bin, "folder"), { recursive: true });
await writeFile(join(bin, "tool"), "#!/bin/sh\n");
await chmod(join(bin, "tool"), 0o755);
await writeFile(join(bin, "data"), "no program");
const machine = { env: { PATH: `relative:${bin}`, SET: "x", EMPTY: "" }, platform: "linux" };

function check(requirements: Partial<SkillRequirements>) {
  return checkDependencies({ ...NOTHING, ...requirements }, machine);
}

test("finds programs on the PATH, and neither folders nor files that cannot be run [B9]", async () => {
  const { met, checks, warnings } = await check({ bins: ["tool", "folder", "data", "absent"] });
  assert.equal(met, false);
  assert.deepEqual(
    checks.map(({ name, status }) => [name, status]),
    [
      ["tool", "found"],
      ["folder", "missing"],
      ["data", "missing"],
      ["absent", "missing"],
    ],
  );
  assert.equal(warnings[0], "Required binary not found in PATH: folder");
  assert.equal(warnings.length, 3);
});

test("one of anyBins is enough [BR11]", async () => {
  assert.equal((await check({ anyBins: ["absent", "tool"] })).met, true);
  const { met, warnings } = await check({ anyBins: ["absent", "gone"] });
  assert.equal(met, false);
  assert.deepEqual(warnings, ["None of these binaries found in PATH: absent, gone"]);
});

test("a variable must be set and not empty [B10]", async () => {
  const { met, warnings } = await check({ env: ["SET", "EMPTY", "toString"] });
  assert.equal(met, false);
  assert.deepEqual(warnings, [
    "Required environment variable not set: EMPTY",
    "Required environment variable not set: toString",
  ]);
});

test("another operating system is a warning, and the dependencies count as met [B11, X20]", async () => {
  const { met, checks, warnings } = await check({ os: ["windows", "darwin"] });
  assert.equal(met, true);
  assert.deepEqual(warnings, ["Skill requires OS: windows, darwin (current: linux)"]);
  assert.deepEqual(
    checks.map(({ status }) => status),
    ["missing", "missing"],
  );
  assert.deepEqual((await check({ os: ["windows", "linux"] })).warnings, []);
});

test("settings of OpenClaw do not apply here, and always skips all but the system [BR3, BR11]", async () => {
  const config = await check({ config: ["browser.enabled"] });
  assert.equal(config.met, true);
  assert.equal(config.checks[0]?.status, "not_applicable");
  const always = await check({ always: true, bins: ["absent"], env: ["NOT"], os: ["windows"] });
  assert.equal(always.met, true);
  assert.deepEqual(
    always.checks.map(({ status }) => status),
    ["not_applicable", "not_applicable", "missing"],
  );
  assert.equal(always.warnings.length, 1);
});

test("a name made for a shell or a path is never resolved nor run [BR10]", async () => {
  const mark = join(directory, "mark");
  const names = [
    `x; touch ${mark}`,
    `$(touch ${mark})`,
    "../bin/tool",
    join(bin, "tool"),
    "-v",
    "",
    ".",
  ];
  const { checks } = await check({ bins: names });
  assert(checks.every(({ status }) => status === "missing"));
  assert.equal(existsSync(mark), false);
});

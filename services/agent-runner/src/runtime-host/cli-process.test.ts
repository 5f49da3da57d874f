import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { confineCli } from "./cli-process.ts";

test("the directory of a run stays writable when an argument of its CLI is a file in it", async (t) => {
  const at = await mkdtemp(join(tmpdir(), "yard-confined-"));
  t.after(() => rm(at, { recursive: true, force: true }));
  const directory = join(at, "run");
  await mkdir(join(directory, "home"), { recursive: true });
  const policy = join(directory, "home", "policy.toml");
  await writeFile(policy, "");
  const plain = { command: process.execPath, args: ["--policy", policy], cwd: directory };
  const { launch, outlet } = await confineCli(plain, {
    sandbox: { program: "bwrap", secret: [], hosts: [] },
    env: { PATH: "/usr/bin:/bin" },
    directory,
    sockets: at,
  });
  outlet.close();
  const options = launch.args.slice(0, launch.args.indexOf("--"));
  const onRun = options.filter((_, index) => options[index + 1]?.startsWith(directory));
  assert.deepEqual(onRun.slice(0, 1), ["--bind"]);
  assert.ok(!onRun.includes("--ro-bind"), onRun.join(" "));
});

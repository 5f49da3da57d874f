import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import { HOME } from "./locations.ts";

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", ...options });
  return { code: status, stdout, stderr };
}

function script(file: string, body: string): void {
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
}

/** A repository with nothing but the launcher's part, and a PATH with an npm that writes down how it was called. */
function checkout(options: { nodeVersion?: string; npm?: boolean; npmFails?: boolean } = {}): {
  root: string;
  ensure: () => ReturnType<typeof run>;
  npmCalls: () => string[];
} {
  const root = tempDirectory();
  const bin = join(root, "bin");
  const calls = join(root, "npm-calls");
  mkdirSync(join(root, "scripts"));
  mkdirSync(bin);
  cpSync(
    join(HOME, "scripts/ensure-dependencies.sh"),
    join(root, "scripts/ensure-dependencies.sh"),
  );
  writeFileSync(join(root, "package-lock.json"), "{}");
  const version = options.nodeVersion ?? "24.0.0";
  const major = version.split(".")[0];
  script(join(bin, "node"), `[ "$1" = -p ] && echo ${major} || echo v${version}`);
  if (options.npm !== false) {
    const install = `mkdir -p node_modules/.bin && cp "${bin}/node" node_modules/.bin/node && echo '{}' > node_modules/.package-lock.json`;
    const end = options.npmFails === true ? "echo broken; exit 1" : `${install}; echo installed`;
    script(join(bin, "npm"), `echo "$PWD: $*" >> "${calls}"; ${end}`);
  }
  for (const name of ["dirname", "find", "mkdir", "cp", "cat", "cksum", "rm", "sleep"]) {
    const at = ["/usr/bin", "/bin"].map((dir) => join(dir, name)).find((file) => existsSync(file));
    symlinkSync(at ?? name, join(bin, name));
  }
  return {
    root,
    ensure: () =>
      run("/bin/sh", [join(root, "scripts/ensure-dependencies.sh")], { env: { PATH: bin } }),
    npmCalls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
  };
}

test("yard runs from any directory and through a symbolic link", () => {
  const directory = tempDirectory();
  symlinkSync(join(HOME, "yard"), join(directory, "first"));
  symlinkSync("first", join(directory, "y"));
  const { code, stdout, stderr } = run(join(directory, "y"), ["--version"], { cwd: "/" });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.equal(stderr, "");
});

test("yard passes arguments on as they are", () => {
  const { code, stderr } = run(join(HOME, "yard"), ["run", "two words", "a", "b*"]);
  assert.equal(code, 2);
  assert.match(stderr, /too many arguments/);
});

test("installs what is missing, once, and keeps stdout clean", () => {
  const { root, ensure, npmCalls } = checkout();
  const first = ensure();
  assert.equal(first.code, 0, first.stderr);
  assert.equal(first.stdout, "");
  assert.match(first.stderr, /installing the dependencies/);
  assert.deepEqual(npmCalls(), [`${root}: ci --no-audit --no-fund --loglevel=error`]);
  assert.deepEqual(ensure(), { code: 0, stdout: "", stderr: "" });
  assert.equal(npmCalls().length, 1);
});

test("installs again when package-lock.json has changed since the installation", () => {
  const { root, ensure, npmCalls } = checkout();
  ensure();
  const later = Date.now() / 1_000 + 60;
  utimesSync(join(root, "package-lock.json"), later, later);
  assert.equal(ensure().code, 0);
  assert.equal(npmCalls().length, 1, "a newer file with the same content is not a change");

  writeFileSync(join(root, "package-lock.json"), '{"changed":true}');
  utimesSync(join(root, "package-lock.json"), later, later);
  assert.equal(ensure().code, 0);
  assert.equal(npmCalls().length, 2);
});

test("two starts at once install once, and a stale lock is no obstacle", async () => {
  const { root, npmCalls } = checkout();
  mkdirSync(join(root, ".yard-install.lock"));
  writeFileSync(join(root, ".yard-install.lock/pid"), String(spawnSync("true").pid));
  const start = (): Promise<number | null> =>
    new Promise((resolve) => {
      const options = { env: { PATH: join(root, "bin") }, stdio: "ignore" as const };
      spawn("/bin/sh", [join(root, "scripts/ensure-dependencies.sh")], options).on("exit", resolve);
    });
  assert.deepEqual(await Promise.all([start(), start()]), [0, 0]);
  assert.equal(npmCalls().length, 1);
});

test("explains what to do when npm is missing, Node.js is too old, or the installation fails", () => {
  const withoutNpm = checkout({ npm: false }).ensure();
  assert.equal(withoutNpm.code, 1);
  assert.match(withoutNpm.stderr, /npm is not on PATH[\s\S]*apt-get install npm/);

  const old = checkout({ nodeVersion: "18.19.0" }).ensure();
  assert.equal(old.code, 1);
  assert.match(old.stderr, /v18\.19\.0 is too old[\s\S]*Node\.js 20 or newer/);

  const broken = checkout({ npmFails: true }).ensure();
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /npm ci failed/);
});

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { resolveServer, UnresolvedServerError, type ResolveOptions } from "./resolve.ts";
import type { RunCommand } from "./run-command.ts";
import { testDirectory } from "@switchyard/testing/test-servers";

/** A machine with nothing on it: no programs, no engines, no apt. */
async function emptyMachine(): Promise<ResolveOptions & { lines: string[]; root: string }> {
  const root = await testDirectory();
  const lines: string[] = [];
  const run: RunCommand = async (command) => ({
    code: null,
    stdout: "",
    stderr: `spawn ${command} ENOENT`,
  });
  return {
    kind: "nats",
    env: { HOME: root, PATH: join(root, "bin") },
    log: (line) => void lines.push(line),
    run,
    systemDirs: [],
    etcDir: join(root, "etc"),
    platform: "linux",
    lines,
    root,
  };
}

test("the error of a machine without any server lists every step, its reason and what to do", async () => {
  const machine = await emptyMachine();
  await assert.rejects(resolveServer(machine), (error: unknown) => {
    assert.ok(error instanceof UnresolvedServerError);
    assert.deepEqual(
      error.tried.map(({ step }) => step),
      ["url", "binary", "docker", "packages"],
    );
    assert.match(error.message, /^nats: no usable server was found$/m);
    assert.match(error.message, /^ {2}url: YARD_NATS_URL is not set$/m);
    assert.match(error.message, /^ {2}binary: no nats-server on PATH/m);
    assert.match(
      error.message,
      /^ {2}docker: docker does not answer \(spawn docker ENOENT\); podman/m,
    );
    assert.match(error.message, /^ {2}packages: this system has no apt$/m);
    assert.match(error.message, /brew install nats-server/);
    assert.match(error.message, /docker pull nats:/);
    assert.match(error.message, /https:\/\/github\.com\/nats-io\/nats-server\/releases/);
    return true;
  });
  assert.equal(machine.lines.length, 4);
  assert.ok(machine.lines.every((line) => line.startsWith("nats: ")));
});

test("takes only the steps that it is given", async () => {
  const machine = await emptyMachine();
  const steps = ["url", "docker"] as const;
  await assert.rejects(resolveServer({ ...machine, steps }), (error: unknown) => {
    assert.ok(error instanceof UnresolvedServerError);
    assert.deepEqual(
      error.tried.map(({ step }) => step),
      steps,
    );
    return true;
  });
});

test("on macOS the packages step only names the command that installs the server", async () => {
  const machine = await emptyMachine();
  const search = resolveServer({ ...machine, kind: "redis", platform: "darwin" });
  await assert.rejects(
    search,
    /packages: on macOS packages are not fetched; run: brew install redis/,
  );
});

test("an installed program is used before any container is tried", async () => {
  const machine = await emptyMachine();
  const binary = join(machine.root, "bin", "nats-server");
  await mkdir(join(machine.root, "bin"));
  await writeFile(binary, "", { mode: 0o755 });
  const asked: string[] = [];
  const run: RunCommand = async (command) => {
    asked.push(command);
    return { code: 0, stdout: "nats-server: v2.15.1", stderr: "" };
  };
  const found = await resolveServer({ ...machine, run });
  assert.deepEqual(found, { how: "binary", binary, version: "2.15.1", source: "PATH" });
  assert.deepEqual(asked, [binary]);
  assert.equal(machine.lines.at(-1), `nats: using ${binary} 2.15.1 (PATH)`);
});

test("a container is used where no program is installed, before packages are fetched", async () => {
  const machine = await emptyMachine();
  const run: RunCommand = async () => ({ code: 0, stdout: "", stderr: "" });
  const found = await resolveServer({ ...machine, run });
  assert.deepEqual(found, { how: "docker", engine: "docker", image: "nats:2.15-alpine" });
  assert.equal(machine.lines.at(-1), "nats: using docker image nats:2.15-alpine");
});

test("only the requested steps are taken", async () => {
  const machine = await emptyMachine();
  const env = { ...machine.env, YARD_NATS_URL: "nats://192.0.2.1:4222" };
  await assert.rejects(resolveServer({ ...machine, env, steps: ["binary"] }), (error: unknown) => {
    assert.ok(error instanceof UnresolvedServerError);
    assert.deepEqual(
      error.tried.map(({ step }) => step),
      ["binary"],
    );
    return true;
  });
});

test("a configured URL that is not a URL of its kind is an error, and nothing else is tried", async () => {
  const machine = await emptyMachine();
  const env = { ...machine.env, YARD_NATS_URL: "http://user:sec/r@et@127.0.0.1:4222" };
  await assert.rejects(resolveServer({ ...machine, env }), (error: unknown) => {
    assert.ok(error instanceof Error && !(error instanceof UnresolvedServerError));
    assert.equal(
      error.message,
      "nats: YARD_NATS_URL is set, but http://127.0.0.1:4222: it is not a URL of the form nats://host:port or tls://host:port. " +
        "Correct that or unset YARD_NATS_URL",
    );
    return true;
  });
  assert.deepEqual(machine.lines, []);
});

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startHost } from "./runtime-host.ts";
import { openRuntimeHosts } from "./runtime-hosts.ts";

const START = {
  cli: "acp",
  command: ["/nowhere/cli"],
  env: {},
  model: null,
  thinking: null,
  apiKey: null,
  baseURL: null,
  sandbox: null,
  tools: [],
  firstText: "",
  resumeText: "",
  known: [],
} as const;

test("a directory of runs that others can access, or that is a link, is refused before a CLI starts", async (t) => {
  const at = await mkdtemp(join(tmpdir(), "yard-runtimes-"));
  t.after(() => rm(at, { recursive: true, force: true }));
  const [open, link] = [join(at, "open"), join(at, "link")];
  await mkdir(open);
  await chmod(open, 0o755);
  await mkdir(join(at, "own"), { mode: 0o700 });
  await symlink(join(at, "own"), link);
  for (const directory of [open, link]) {
    const hosts = openRuntimeHosts({ directory, lingerMs: 0, env: {} });
    const started = hosts.start("run", { ...START });
    await assert.rejects(started, /must be a directory of this user alone \(mode 0700\)/);
  }
});

test("a host that cannot be started, or is killed while it writes, ends its turn and not the runner", async (t) => {
  const at = await mkdtemp(join(tmpdir(), "yard-host-"));
  const { execPath } = process;
  t.after(async () => {
    process.execPath = execPath;
    await rm(at, { recursive: true, force: true });
  });
  const killed = join(at, "killed");
  await writeFile(killed, '#!/bin/sh\nread start\nprintf \'{"type":"sta\'\nkill -9 $$\n', {
    mode: 0o700,
  });
  for (const program of [join(at, "missing"), killed]) {
    process.execPath = program;
    const host = startHost(
      { ...START, type: "start", directory: at, sideEffectsFile: `${at}.effects` },
      process.env,
    );
    const event = await host.next(10_000);
    assert.equal(event?.type, "failed", program);
    assert.equal(host.isOver(), true);
    await host.end();
  }
});

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openRuntimeHosts } from "./runtime-hosts.ts";

test("a directory of runs that others may enter, or that is a link, is refused before a CLI starts", async (t) => {
  const at = await mkdtemp(join(tmpdir(), "yard-runtimes-"));
  t.after(() => rm(at, { recursive: true, force: true }));
  const [open, link] = [join(at, "open"), join(at, "link")];
  await mkdir(open);
  await chmod(open, 0o755);
  await mkdir(join(at, "own"), { mode: 0o700 });
  await symlink(join(at, "own"), link);
  for (const directory of [open, link]) {
    const hosts = openRuntimeHosts({ directory, lingerMs: 0, env: {} });
    const started = hosts.start("run", {
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
    });
    await assert.rejects(started, /must be a directory of this user alone \(mode 0700\)/);
  }
});

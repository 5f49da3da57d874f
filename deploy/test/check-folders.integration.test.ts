import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const script = await readFile(new URL("../docker/check-folders.sh", import.meta.url), "utf8");
const base = await mkdtemp(join(tmpdir(), "yard-folders-"));
after(() => rm(base, { recursive: true, force: true }));
await chmod(base, 0o755);

/** Settings that may name a file of the project. */
const NAMED = [
  ["MODELS", "YARD_MODELS"],
  ["TRIGGERS", "YARD_TRIGGERS"],
  ["CHANNELS", "YARD_CHANNELS"],
  ["HOOKS", "YARD_HOOKS"],
  ["ISSUERS", "YARD_ISSUERS"],
  ["INDICATORS", "YARD_SCAN_INDICATORS"],
  ["SUPPRESSIONS", "YARD_SCAN_SUPPRESSIONS"],
] as const;

async function folders(): Promise<{ project: string; workspace: string }> {
  const parent = await mkdtemp(join(base, "case-"));
  await chmod(parent, 0o755);
  const [project, workspace] = [join(parent, "project"), join(parent, "workspace")];
  await mkdir(join(project, "policies"), { recursive: true });
  await mkdir(workspace);
  await writeFile(join(project, "mcp-servers.json"), "{}");
  await writeFile(join(project, "policies/p.yaml"), "version: 1");
  return { project, workspace };
}

/** Runs the container's script, as a user who does not own the folders. */
function check(
  { project, workspace }: { project: string; workspace: string },
  named: Readonly<Record<string, string>> = {},
) {
  const here = script.replaceAll("/config", project).replaceAll("/workspace", workspace);
  const isRoot = process.getuid?.() === 0;
  const { status, stderr } = spawnSync("sh", ["-euc", here, "sh", "./mine", "./files"], {
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"],
      POLICY: "policies/p.yaml",
      ...Object.fromEntries(NAMED.map(([name]) => [name, ""])),
      ...named,
    },
    // An owner without the right to read the folder is like another user.
    ...(isRoot ? { uid: 65_534, gid: 65_534 } : {}),
  });
  return { status, stderr };
}

test("folders that everybody may read are fine", async () => {
  assert.deepEqual(check(await folders()), { status: 0, stderr: "" });
});

test("a folder or a file that is closed to others is named, with two ways to open it", async () => {
  const closed = { project: "./mine", workspace: "./files" } as const;
  for (const which of ["project", "workspace"] as const) {
    const both = await folders();
    await chmod(both[which], 0o000);
    const { status, stderr } = check(both);
    await chmod(both[which], 0o700);
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`^${closed[which]} cannot be read by the containers`));
    assert.match(stderr, /chmod -R go\+rX[^]*YARD_UID=\$\(id -u\) docker compose up/);
  }
  const inside = await folders();
  await chmod(join(inside.project, "policies/p.yaml"), 0o000);
  assert.match(check(inside).stderr, /mine\/policies\/p\.yaml/);
});

test("the check of a project without a policy, servers or a named file lists what it lacks", async () => {
  const both = await folders();
  for (const [name, setting] of NAMED) {
    const { stderr } = check(both, { [name]: "mine.yaml" });
    assert.match(stderr, new RegExp(String.raw`no mine\.yaml; which ${setting} names`));
  }
  await rm(join(both.project, "policies/p.yaml"));
  const { status, stderr } = check(both);
  assert.match(stderr, /no policies\/p\.yaml; name the policy with YARD_POLICY/);
  assert.equal(status, 0, "the rules before stay in force");
  await rm(join(both.project, "mcp-servers.json"));
  assert.match(check(both).stderr, /no mcp-servers\.json/);
});

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { findSkillRoots } from "./skill-roots.ts";

const top = await testDirectory();
const home = join(top, "home");
const named = join(top, "named");
const work = join(home, "code/app");

async function make(...paths: string[]): Promise<void> {
  for (const path of paths) await mkdir(join(top, path), { recursive: true });
}

interface Given {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  trustFound?: boolean;
}

/** The existing directories. */
async function roots(given: Given = {}) {
  return (await allRoots(given)).filter((root) => !root.includes("?="));
}

async function allRoots(given: Given = {}) {
  const { cwd = join(work, "src/deep"), env = {}, trustFound = false } = given;
  const list = await findSkillRoots({ project: named, cwd, home, env, trustFound });
  return list.split(":").map((root) => root.replace(top, "").replace(`=${top}`, "="));
}

await make(
  "named",
  "home/code/app/src/deep",
  "home/.clawft/skills",
  "home/.clawft/workspace/skills",
);

test("takes the home directory for the person's own and never for a project [D3, X33]", async () => {
  assert.deepEqual(await roots(), [
    "/named",
    "user=/home/.clawft/skills",
    "workspace=/home/.clawft/workspace/skills",
  ]);
});

test("finds the project upwards; a .git makes none [D43, D31, D63]", async () => {
  await make("home/code/.git");
  const without = [
    "/named",
    "user=/home/.clawft/skills",
    "workspace=/home/.clawft/workspace/skills",
  ];
  assert.deepEqual(await roots(), without);
  await make("home/code/app/.switchyard/skills", "home/code/app/.switchyard/agents");
  assert.deepEqual((await roots()).slice(0, 4), [
    "/named",
    "found=/home/code/app/.switchyard/skills",
    "found=/home/code/app/.switchyard/agents",
    "user=/home/.clawft/skills",
  ]);
});

test("a found project needs trust, a named one does not [D53]", async () => {
  assert.equal((await roots({ trustFound: true }))[1], "/home/code/app/.switchyard/skills");
  await make("other/.clawft/agents");
  const env = { CLAWFT_PROJECT: join(top, "other") };
  assert.equal((await roots({ env }))[1], "/other/.clawft/agents");
});

test("leaves out what lies in a root before it: a file has one place", async () => {
  await make("named/.clawft/skills");
  assert.deepEqual(await roots({ cwd: join(named, ".clawft/skills") }), [
    "/named",
    "user=/home/.clawft/skills",
    "workspace=/home/.clawft/workspace/skills",
  ]);
});

test("waits for what is not there yet, with the rank and the trust that it will have [D3, D53]", async () => {
  const cwd = join(top, "fresh/deep");
  await make("fresh/deep");
  assert.deepEqual(await allRoots({ cwd }), [
    "/named",
    "found?=/fresh/deep/.switchyard/skills",
    "found?=/fresh/deep/.switchyard/agents",
    "found?=/fresh/deep/.clawft/skills",
    "found?=/fresh/deep/.clawft/agents",
    "user?=/home/.switchyard/skills",
    "user?=/home/.switchyard/agents",
    "user=/home/.clawft/skills",
    "user?=/home/.clawft/agents",
    "workspace?=/home/.switchyard/workspace/skills",
    "workspace=/home/.clawft/workspace/skills",
  ]);
  await make("fresh/.switchyard");
  assert.equal((await allRoots({ cwd }))[1], "found?=/fresh/.switchyard/skills");
  assert.equal(
    (await allRoots({ cwd, trustFound: true }))[1],
    "project?=/fresh/.switchyard/skills",
  );
  assert.ok((await allRoots({ cwd: home })).every((root) => !root.startsWith("found")));
});

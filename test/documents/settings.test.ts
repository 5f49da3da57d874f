import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  inputFiles,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { REMOVED_SETTINGS } from "@switchyard/service/removed-settings";
import { allStreams } from "@switchyard/topology/streams";
import { markdownFiles, root } from "./markdown-files.ts";

const SETTING = /\bYARD_[A-Z0-9_]*[A-Z]\b/g;
/** Names of streams begin alike and are not settings. */
const NO_SETTINGS = new Set<string>([
  sharedPayloads.bucket,
  servicePayloads.bucket,
  inputFiles.bucket,
  runArchive.bucket,
  ...allStreams.map(({ name }) => name),
]);
/** A mark of child processes, two variables for a person's own files and commands, and those of tests. */
const NOT_OF_OPERATORS = ["YARD_MCP_CHILD", "YARD_HOME", "YARD_HTTP_TOKEN", "YARD_TEST_CONTAINERS"];
/** It names settings that no program reads. */
const REMOVED = "libs/service/src/removed-settings.ts";

test("every setting that a program reads is in the list", () => {
  const sources = globSync("{apps,libs,services}/*/src/**/*.{ts,tsx}", { cwd: root });
  const listed = settingsIn(read("docs/reference/settings.md"));
  const known = new Set([...listed, ...NO_SETTINGS, ...NOT_OF_OPERATORS]);
  const missing = sources
    .filter((path) => !/\.test\.tsx?$/.test(path) && path !== REMOVED)
    .flatMap((path) =>
      [...settingsIn(read(path))]
        .filter((name) => !known.has(name))
        .map((name) => `${path}: ${name}`),
    );
  assert.deepEqual(missing, [], "scripts/generate/settings-list.ts has the list");
});

test("no setting is both in the list and removed", () => {
  const listed = settingsIn(read("docs/reference/settings.md"));
  assert.ok(listed.size > 50, "hardly any setting was found");
  assert.deepEqual(
    Object.keys(REMOVED_SETTINGS).filter((name) => listed.has(name)),
    [],
  );
});

test("what replaces a removed setting is a setting, if it is one, and there are at most 75", () => {
  const listed = settingsIn(read("docs/reference/settings.md"));
  const replacements = [...settingsIn(Object.values(REMOVED_SETTINGS).join("\n"))];
  assert.deepEqual(
    replacements.filter((name) => !listed.has(name) && !NOT_OF_OPERATORS.includes(name)),
    [],
  );
  assert.ok(replacements.length > 10, "hardly any replacement was found");
  const rows = read("docs/reference/settings.md").match(/^\| `YARD_\w+` /gm) ?? [];
  assert.ok(rows.length <= 75, `there are ${rows.length}`);
});

test("every setting that a document names is read somewhere", () => {
  const programs = globSync(
    [
      "{apps,libs,services,examples,scripts,test}/**/*.{ts,py,go,java}",
      "deploy/**/*",
      "docker-compose.yml",
    ],
    { cwd: root, exclude: (name) => name === "node_modules" },
  ).filter((path) => /\.[a-z]+$/.test(path) && !path.endsWith(".md") && path !== REMOVED);
  const known = settingsIn(programs.map((path) => read(path)).join("\n"));
  const unknown = markdownFiles().flatMap(({ path, text }) =>
    [...settingsIn(text)]
      .filter((name) => !known.has(name) && !NO_SETTINGS.has(name))
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(unknown, []);
  assert.ok(known.size > 50, "hardly any setting was found");
});

test("every metric of the services is in a document", () => {
  const sources = globSync("{services,libs}/*/src/**/*.ts", { cwd: root });
  const metrics = sources
    .filter((path) => !path.endsWith(".test.ts"))
    .flatMap((path) => [...read(path).matchAll(/"(yard_[a-z_]+)"/g)].map(([, name = ""]) => name));
  const reported = markdownFiles()
    .map(({ text }) => text)
    .join("\n");
  assert.ok(metrics.length > 20, "hardly any metric was found");
  assert.deepEqual(
    metrics.filter((name) => !reported.includes(name)),
    [],
  );
});

function settingsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(SETTING) ?? []);
}

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

test("every constant that a test replaces is one of the code, and each has a name of its own", () => {
  const named = globSync("{libs,services}/*/src/**/*.ts", { cwd: root })
    .filter((path) => !path.endsWith(".test.ts"))
    .flatMap((path) => matches(read(path), /\bconstant\(\s*"(\w+)"/g));
  assert.equal(new Set(named).size, named.length, named.toSorted().join(" "));
  const replaced = globSync(["{libs,services,apps,test,bench}/**/*.ts"], {
    cwd: root,
    exclude: (name) => name === "node_modules",
  })
    .filter((path) => !path.endsWith("constant.test.ts"))
    .flatMap((path) => matches(read(path), /\b(?:test|replace)Constants\(\{([^}]*)\}/g))
    .flatMap((values) => matches(values, /(\w+):/g));
  assert.deepEqual(
    replaced.filter((name) => !named.includes(name)),
    [],
  );
  assert.ok(replaced.length > 10, "hardly any constant was found");
});

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = ""]) => found);
}

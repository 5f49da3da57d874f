import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inputFiles, servicePayloads, sharedPayloads } from "@switchyard/topology/payload-stores";
import { allStreams } from "@switchyard/topology/streams";
import { markdownFiles, root } from "./markdown-files.ts";

const SETTING = /\bYARD_[A-Z_]*[A-Z]\b/g;
/** Names of streams begin alike and are not settings. */
const NO_SETTINGS = new Set<string>([
  sharedPayloads.bucket,
  servicePayloads.bucket,
  inputFiles.bucket,
  ...allStreams.map(({ name }) => name),
]);

test("every setting of a service is in its README", () => {
  const missing: string[] = [];
  for (const file of globSync("services/*/src/config.ts", { cwd: root })) {
    const readme = join(file, "..", "..", "README.md");
    const reported = settingsIn(read(readme));
    for (const name of settingsIn(read(file)))
      if (!reported.has(name)) missing.push(`${name} is not in ${readme}`);
  }
  assert.deepEqual(missing, []);
});

test("every setting that a document names is read somewhere", () => {
  const programs = globSync(
    [
      "{apps,libs,services,examples,scripts,test}/**/*.{ts,py,go,java}",
      "deploy/**/*",
      "docker-compose.yml",
    ],
    { cwd: root, exclude: (name) => name === "node_modules" },
  ).filter((path) => /\.[a-z]+$/.test(path) && !path.endsWith(".md"));
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

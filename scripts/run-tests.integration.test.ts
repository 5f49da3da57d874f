import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";

const runner = fileURLToPath(new URL("run-tests.ts", import.meta.url));
const head = `import assert from "node:assert/strict"; import { test } from "node:test";\n`;

/** Runs the tests of one kind of a repository that has these files, in `test` unless their names have a folder. */
async function run(
  files: Record<string, string>,
  env: Record<string, string> = {},
  kind = "integration",
) {
  const root = await testDirectory();
  const ending = kind === "unit" ? "test.ts" : `${kind}.test.ts`;
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name.includes("/") ? name : `test/${name}`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.${ending}`, head + text);
  }
  await symlink(
    fileURLToPath(new URL("../node_modules", import.meta.url)),
    join(root, "node_modules"),
  );
  const child = spawn(process.execPath, [runner, kind], {
    cwd: root,
    // The list of allowed skips is for these tests, not for the ones that they run.
    env: { ...process.env, YARD_ALLOWED_SKIPS: undefined, YARD_TEST_ROOT: root, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null]; // as Node documents
  return { root, code, output, last: output.trimEnd().split("\n").at(-1) };
}

test("a file that hangs is killed with its children, named and failed, and the others are run", async () => {
  const limit = { YARD_TEST_LIMIT_SECONDS: "4" };
  const { root, code, output, last } = await run(
    {
      "a-hangs": `import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs";
        test("passes before", () => {});
        test("waits for ever", async () => {
          writeFileSync("pid", String(spawn("sleep", ["600"]).pid));
          while (true) await new Promise((resolve) => setTimeout(resolve, 10));
        });`,
      "b-does-not-end": `test("passes", () => {}); setInterval(() => {}, 1000);`,
      "c-blocks": `test("turns and turns", () => { for (;;); });`,
      "d-passes": `test("is run all the same", () => {});`,
    },
    limit,
  );
  assert.equal(code, 1, output);
  assert.equal(last, "3 passed, 3 failed");
  assert.match(
    output,
    /✖ +1 +\S+ s {2}cpu +\S+ s {2}test\/a-hangs\.integration\.test\.ts \(killed\)/,
  );
  assert.match(output, /killed after 4 s, in: test\/a-hangs\S+ waits for ever/);
  assert.match(output, /test\/b-does\S+\n +killed after 4 s, after its last test: something keeps/);
  assert.match(output, /test\/c-blocks\S+\n +killed after 4 s, before any test ended/);
  assert.match(output, /✔ +1 .*d-passes/);
  assert.doesNotMatch(output, /Once more/, "who hung would only hang again");
  const pid = Number(await readFile(join(root, "pid"), "utf8"));
  await until(
    () => processIdentity(pid),
    (identity) => identity === null,
  );
});

test("a file that cannot be loaded or dies has failed, with what it printed last", async () => {
  const { code, output, last } = await run({
    broken: `import "./nothing.ts"; test("x", () => {});`,
    dies: `test("x", () => { console.error("last words"); process.exit(7); });`,
  });
  assert.equal(code, 1);
  assert.equal(last, "0 passed, 2 failed");
  assert.match(output, /test\/broken\S+\n.*Cannot find module/);
  assert.match(output, /ended with code 7\n +last words/);
});

test("unit tests of a package share a process, where a file that cannot be loaded fails by itself", async () => {
  const { code, output, last } = await run(
    {
      first: `test("passes", () => { globalThis.isShared = process.pid; });`,
      broken: `import "./nothing.ts"; test("is never there", () => {});`,
      second: `test("has what the first left", () => assert.equal(process.pid, globalThis.isShared, "another process"));`,
      third: `test("passes, too", () => {}); test("fails", () => assert.fail("as it should"));`,
    },
    {},
    "unit",
  );
  assert.equal(code, 1);
  assert.equal(last, "3 passed, 2 failed");
  assert.match(output, /✖ +1 +\S+ s {2}cpu +\S+ s {2}test\/third\.test\.ts$/m);
  assert.match(output, /test\/broken\.test\.ts\n.*Cannot find module/);
  assert.match(output, /test\/third\.test\.ts:\d+ fails\n.*as it should/);
});

/** A file of a package, which shares its process with the others and leaves a trace in it. */
const shared = (
  text: string,
): string => `globalThis.files = [...(globalThis.files ?? []), import.meta.url.split("/").at(-1).split(".")[0]];
  ${text}`;

test("integration tests of a package share a process, one file after the other, and each has its result", async () => {
  const { code, output, last } = await run({
    "libs/shelf/first": shared(`import { after } from "node:test";
      globalThis.isOpen = true;
      after(() => { globalThis.isOpen = false; });
      test("has what the file opened", () => assert.ok(globalThis.isOpen && later === 1));
      const later = 1;`),
    "libs/shelf/second": `test("passes", () => {}); test("fails", () => assert.fail("as it should"));`,
    "libs/shelf/third": `throw new Error("not to be loaded"); test("never", () => {});`,
    "libs/shelf/fourth": shared(`test("is loaded when the first has closed what it opened", () => {
      assert.deepEqual(globalThis.files, ["first", "fourth"]);
      assert.equal(globalThis.isOpen, false);
    });`),
    "services/alone/only": shared(
      `test("has a process of its own", () => assert.deepEqual(globalThis.files, ["only"]));`,
    ),
  });
  assert.equal(code, 1);
  assert.equal(last, "4 passed, 2 failed", output);
  assert.match(output, /✔ +1 +\S+ s {2}cpu +\S+ s {2}libs\/shelf\/first\.integration\.test\.ts$/m);
  assert.match(output, /✖ +1 +\S+ s {2}cpu +\S+ s {2}libs\/shelf\/second\.integration\.test\.ts$/m);
  assert.match(output, /libs\/shelf\/second\S+:\d+ fails\n.*as it should/);
  assert.match(output, /libs\/shelf\/third\S+\n.*not to be loaded/);
  assert.match(output, /Once more, one by one: libs\/shelf\/second\S+, libs\/shelf\/third\S+\n/);
});

test("a file that ends or blocks the process it shares has failed alone, and the files after it run in another one", async () => {
  const { code, output, last } = await run(
    {
      "libs/shelf/a-passes": `test("passes before", () => {});`,
      "libs/shelf/b-dies": `test("x", () => { console.error("last words"); process.exit(7); });`,
      "libs/shelf/c-blocks": `test("waits for ever", () => new Promise(() => setInterval(() => {}, 10)));`,
      "libs/shelf/d-passes": `test("is run all the same", () => {});`,
    },
    { YARD_TEST_LIMIT_SECONDS: "4" },
  );
  assert.equal(code, 1);
  assert.equal(last, "2 passed, 2 failed", output);
  assert.match(output, /libs\/shelf\/b-dies\S+\n +ended with code 7\n +last words/);
  assert.match(
    output,
    /libs\/shelf\/c-blocks\S+\n +killed after 4 s, in: libs\/shelf\/c-blocks\S+ waits for ever/,
  );
});

test("what a failed file or one of several leaves open is found in the file that opened it", async () => {
  const { code, output, last } = await run(
    {
      "libs/shelf/a-leaves": `test("passes", () => {}); setInterval(() => {}, 1000);`,
      "libs/shelf/b-passes": `test("passes", () => {});`,
      "services/cellar/a-fails": `setInterval(() => {}, 1000); test("fails", () => assert.fail("no"));`,
      "services/cellar/b-passes": `test("passes", () => {});`,
      "test/fails": `setInterval(() => {}, 1000); test("fails", () => assert.fail("no"));`,
    },
    { YARD_TEST_LIMIT_SECONDS: "4" },
  );
  assert.equal(code, 1);
  assert.equal(last, "3 passed, 3 failed", output);
  assert.match(
    output,
    /shelf\/a-leaves\S+\n +killed after 4 s, after its last test: something keeps/,
  );
  assert.match(output, /✔ +1 .*shelf\/b-passes/);
  assert.match(output, /✔ +1 .*cellar\/b-passes/);
  assert.equal(output.match(/killed after/g)?.length, 1);
  assert.match(output, /Once more, one by one: test\/fails\S+, services\/cellar\/a-fails\S+\n/);
});

const PASSES_LATER = `import { existsSync, writeFileSync } from "node:fs";
  test("passes the second time", () => {
    const wasThere = existsSync("seen"); writeFileSync("seen", "");
    assert.ok(wasThere, "not yet");
  });`;

test("a file that passes by itself is named as flaky, and one that does not has failed", async () => {
  const { code, output, last } = await run({
    flaky: PASSES_LATER,
    fails: `test("never passes", () => assert.fail("no"));`,
  });
  assert.equal(code, 1);
  assert.match(output, /\nFailed:\n {2}test\/fails\S+ never passes\n\n/);
  assert.equal(last, "1 passed, 1 failed");
  assert.match(output, /passes the second time\n +AssertionError \[ERR_ASSERTION\]: not yet/);
  assert.match(output, /Flaky, to be fixed: test\/flaky\S+ failed first and passed by itself/);
});

test("a file of unit tests that passes by itself is named as flaky", async () => {
  const { code, output, last } = await run({ flaky: PASSES_LATER }, {}, "unit");
  assert.equal(code, 0, output);
  assert.equal(last, "1 passed, 0 failed");
  assert.match(
    output,
    /Flaky, to be fixed: test\/flaky\.test\.ts failed first and passed by itself/,
  );
});

test("a skip is printed with its reason, and one that is not on the list fails", async () => {
  const files = {
    skips: `test("needs docker", { skip: "no container engine answers" }, () => {});
      test("needs a moon", { skip: "the moon is new" }, () => {});
      test("passes", () => {});`,
  };
  const free = await run(files);
  assert.equal(free.code, 0);
  assert.equal(free.last, "1 passed, 0 failed, 2 skipped");
  assert.match(free.output, /skips\S+ needs a moon: the moon is new/);
  const list = join(await testDirectory(), "allowed");
  await writeFile(list, "# engines\nno container engine :: there is no registry\n");
  const held = await run(files, { YARD_ALLOWED_SKIPS: list });
  assert.equal(held.code, 1);
  assert.equal(held.last, "1 passed, 1 failed, 1 skipped");
  assert.match(held.output, /counts as failed:\n {2}test\/skips\S+ needs a moon: the moon is new/);
});

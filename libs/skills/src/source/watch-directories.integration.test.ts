import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { watchDirectories } from "./watch-directories.ts";

/** A watch whose changes are awaited one by one. */
function watching(onChange: () => Promise<void> = () => Promise.resolve()) {
  let calls = 0;
  let arrived = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  const watch = watchDirectories({
    debounceMs: 20,
    retryMs: 20,
    onError: (error) => errors.push(error),
    async onChange() {
      calls += 1;
      arrived.resolve();
      arrived = Promise.withResolvers();
      await onChange();
    },
  });
  return { watch, errors, next: () => arrived.promise, calls: () => calls };
}

test("reports new, changed and deleted files", async () => {
  const directory = await testDirectory();
  const { watch, next } = watching();
  let change = next();
  watch.update({ directories: [directory], missing: [] });
  await change; // changes from before the watch began are reported at once
  for (const act of [
    () => writeFile(join(directory, "a"), "1"),
    () => writeFile(join(directory, "a"), "2"),
    () => rm(join(directory, "a")),
  ]) {
    change = next();
    await act();
    await change;
  }
  await watch.close();
});

test("watches a directory that was deleted and made again", async () => {
  const parent = await testDirectory();
  const directory = join(parent, "d");
  await mkdir(directory);
  const { watch, next } = watching();
  let change = next();
  watch.update({ directories: [parent, directory], missing: [] });
  await change;
  change = next();
  await rm(directory, { recursive: true });
  await mkdir(directory);
  await change;
  change = next();
  watch.update({ directories: [parent, directory], missing: [] });
  await change;
  change = next();
  await writeFile(join(directory, "a"), "1");
  await change;
  await watch.close();
});

test("calls again after a failure, without another change", async () => {
  const directory = await testDirectory();
  let failures = 2;
  const recovered = Promise.withResolvers<void>();
  const { watch, errors } = watching(() => {
    if (failures === 0) recovered.resolve();
    else failures -= 1;
    return failures === 0 && errors.length === 2
      ? Promise.resolve()
      : Promise.reject(new Error("x"));
  });
  watch.update({ directories: [directory], missing: [] });
  await recovered.promise;
  assert.equal(errors.length, 2);
  await watch.close();
});

test("reports a change even when changes do not stop", async () => {
  const directory = await testDirectory();
  const { watch, next } = watching();
  watch.begin({ directories: [directory], missing: [] });
  const reported = new AbortController();
  const change = next().then(() => reported.abort());
  for (let times = 0; !reported.signal.aborted; times += 1)
    await writeFile(join(directory, "a"), String(times));
  await change;
  await watch.close();
});

test("is silent after it was closed", async () => {
  const directory = await testDirectory();
  const { watch, calls } = watching();
  watch.update({ directories: [directory], missing: [] });
  await watch.close();
  await writeFile(join(directory, "a"), "1");
  watch.update({ directories: [directory], missing: [] });
  await watch.close();
  assert.equal(calls(), 0);
});

test("reports when a missing directory is created, level by level", async () => {
  const parent = await testDirectory();
  const path = join(parent, ".switchyard", "skills");
  const places = { directories: [], missing: [path] };
  const { watch, next, calls } = watching();
  watch.begin(places);
  let change = next();
  await writeFile(join(parent, "other"), "1");
  await mkdir(join(parent, ".switchyard"));
  await change;
  change = next();
  watch.update(places); // waits in `.switchyard` from now on
  await mkdir(path);
  await change;
  await watch.close();
  assert.ok(calls() >= 2);
});

test("reports a missing directory that was created before the watch began", async () => {
  const parent = await testDirectory();
  const path = join(parent, "a", "b");
  const { watch, next } = watching();
  watch.begin({ directories: [], missing: [path] });
  const change = next();
  await mkdir(path, { recursive: true });
  await change;
  const again = next();
  watch.update({ directories: [path], missing: [] });
  await again;
  await watch.close();
});

import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { watchFile } from "./watch-file.ts";

function watched(path: string, known: string): (string | null)[] {
  const texts: (string | null)[] = [];
  const watch = watchFile({
    path,
    known,
    onText: (text) => texts.push(text),
    onTrouble: (error) => assert.fail(String(error)),
  });
  after(() => watch.close());
  return texts;
}

/** Writes a file over and over. */
function changingAllTheTime(path: string): { stop(): Promise<void> } {
  const over = new AbortController();
  const writing = (async () => {
    for (let times = 0; !over.signal.aborted; times += 1) await writeFile(path, String(times));
  })();
  return {
    stop() {
      over.abort();
      return writing;
    },
  };
}

const reported = (texts: (string | null)[], count: number) =>
  until(
    () => texts,
    ({ length }) => length >= count,
  );

test("reports each new text once: written in place, replaced, removed", async () => {
  const directory = await testDirectory();
  const path = join(directory, "file.json");
  await writeFile(path, "zero");
  const texts = watched(path, "zero");
  await writeFile(path, "one");
  await reported(texts, 1);
  await writeFile(join(directory, "new"), "two");
  await rename(join(directory, "new"), path);
  await reported(texts, 2);
  await rm(path);
  await reported(texts, 3);
  await writeFile(path, "two");
  assert.deepEqual(await reported(texts, 4), ["one", "two", null, "two"]);
});

test("follows a Kubernetes volume, where a directory link is exchanged", async () => {
  const directory = await testDirectory();
  const version = async (name: string, text: string): Promise<void> => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, "file.json"), text);
    await symlink(name, join(directory, "..data_tmp"));
    await rename(join(directory, "..data_tmp"), join(directory, "..data"));
  };
  await version("..1", "one");
  await symlink(join("..data", "file.json"), join(directory, "file.json"));
  const texts = watched(join(directory, "file.json"), "one");
  await version("..2", "two");
  assert.deepEqual(await reported(texts, 1), ["two"]);
});

test("is not put off by another file of the directory that changes all the time", async () => {
  const directory = await testDirectory();
  const path = join(directory, "file.json");
  await writeFile(path, "zero");
  const texts = watched(path, "zero");
  const noise = changingAllTheTime(join(directory, "log"));
  try {
    await writeFile(path, "one");
    assert.deepEqual(await reported(texts, 1), ["one"]);
  } finally {
    await noise.stop();
  }
});

test("reports a text that was written before the watch began", async () => {
  const path = join(await testDirectory(), "file.json");
  await writeFile(path, "newer");
  assert.deepEqual(await reported(watched(path, "older"), 1), ["newer"]);
});

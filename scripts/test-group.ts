import { resolve } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";

// Runs the test files of its arguments one after the other in this process, each within a test that has the file's name: its own tests and hooks
// belong to that test, so what a file started is stopped before the next one is loaded.
for (const file of process.argv.slice(2))
  test(file, async (t) => {
    // The reporter writes the end of the file before, in case this one ends the process.
    await setImmediate();
    const loaded = import(pathToFileURL(resolve(file)).href);
    // Otherwise the first test would run before the rest of the file is evaluated.
    t.before(() => loaded);
    await loaded;
  });

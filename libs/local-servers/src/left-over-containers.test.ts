import assert from "node:assert/strict";
import { test } from "node:test";

import { dataDirLabel, removeLeftOvers } from "./left-over-containers.ts";
import type { CommandResult } from "./run-command.ts";
import { ServerStartError } from "./server-process.ts";

/** An engine that answers `ps` and `rm` from lists, and records its commands. */
function engine(answers: { ps: Partial<CommandResult>[]; rm?: Partial<CommandResult>[] }) {
  const asked: string[] = [];
  const lines: string[] = [];
  const control = async (...args: string[]): Promise<CommandResult> => {
    asked.push(args.join(" "));
    const left = args[0] === "ps" ? answers.ps : (answers.rm ?? []);
    return { code: 0, stdout: "", stderr: "", ...left.shift() };
  };
  const log = (line: string): void => void lines.push(line);
  return {
    asked,
    lines,
    remove: () => removeLeftOvers({ control, name: "x", dataDir: "/d", log, attempts: 3 }),
  };
}

const PS = "ps --all --quiet --filter label=switchyard.data-dir=/d";

test("without a container of an earlier start nothing is removed or said", async () => {
  const { asked, lines, remove } = engine({ ps: [{ stdout: "\n" }] });
  await remove();
  assert.deepEqual([asked, lines], [[PS], []]);
  assert.deepEqual(dataDirLabel("/d"), ["--label", "switchyard.data-dir=/d"]);
});

test("a container that is just being removed is waited for, and reported once", async () => {
  const { asked, lines, remove } = engine({
    ps: [{ stdout: "a1\nb2\n" }, { stdout: "b2\n" }],
    rm: [{ code: 1, stderr: "removal of container b2 is already in progress" }],
  });
  await remove();
  assert.deepEqual(asked, [PS, "rm --force a1 b2", PS, "rm --force b2", PS]);
  assert.deepEqual(lines, [
    "x: removing container a1, b2 that an earlier start left running in /d",
  ]);
});

test("an engine that does not answer stops the start: something may still write there", async () => {
  const { asked, remove } = engine({
    ps: [{ code: 1, stderr: "Cannot connect to the daemon\nmore" }],
  });
  await assert.rejects(remove(), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(
      error.message,
      /does not report what runs in \/d \(Cannot connect to the daemon\)$/,
    );
    return true;
  });
  assert.deepEqual(asked, [PS]);
});

test("a container that cannot be removed stops the start", async () => {
  const refused = { code: 1, stderr: "permission denied" };
  const { remove } = engine({
    ps: [{ stdout: "a1\n" }, { stdout: "a1\n" }, { stdout: "a1\n" }],
    rm: [refused, refused, refused],
  });
  await assert.rejects(remove(), /still uses \/d and cannot be removed \(permission denied\)/);
});

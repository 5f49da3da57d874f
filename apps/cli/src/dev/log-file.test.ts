import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { alsoInFile, olderLog } from "./log-file.ts";
import { readableLog } from "./merged-log.ts";

test("what goes to the screen also goes into a file that only its owner reads", () => {
  const file = join(tempDirectory(), "logs", "dev.log");
  const { terminal, lines } = collectingTerminal();
  const log = alsoInFile(file, readableLog(terminal));
  log.step("NATS is ready");
  log.output("runner-1", "a text");
  assert.equal(lines.length, 2);
  const written = readFileSync(file, "utf8").trimEnd().split("\n");
  assert.deepEqual(
    written.map((line) => JSON.parse(line)).map(({ process, msg }) => `${process} ${msg}`),
    ["yard NATS is ready", "runner-1 a text"],
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("a log that has grown long makes room, and one part of it is kept", () => {
  const file = join(tempDirectory(), "dev.log");
  writeFileSync(file, "x".repeat(16 * 1024 * 1024 + 1));
  alsoInFile(file, readableLog(collectingTerminal().terminal)).step("goes on");
  assert.equal(readFileSync(file, "utf8").trimEnd().split("\n").length, 1);
  assert.ok(statSync(olderLog(file)).size > 16 * 1024 * 1024);
});

test("without a place for the file there is one warning, and the screen has everything", () => {
  const directory = join(tempDirectory(), "blocked");
  writeFileSync(directory, "a file where a directory should be");
  const { terminal, lines } = collectingTerminal();
  alsoInFile(join(directory, "dev.log"), readableLog(terminal)).step("NATS is ready");
  assert.match(lines[0] ?? "", /cannot be written/);
  assert.match(lines[1] ?? "", /NATS is ready/);
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { chooseHttpPort, readChosenPorts, writeChosenPorts } from "./chosen-ports.ts";

const NONE = { nats: null, redis: null, http: null };

test("remembers the ports", async () => {
  const file = join(tempDirectory(), "ports.json");
  assert.deepEqual(await readChosenPorts(file), NONE);
  await writeChosenPorts(file, { nats: 4222, redis: null, http: null });
  assert.deepEqual(await readChosenPorts(file), { nats: 4222, redis: null, http: null });
});

test("a damaged file means no ports, not a failed start", async () => {
  const file = join(tempDirectory(), "ports.json");
  for (const content of ["", "{", "[]", '{"nats":99999,"redis":null}', '{"nats":"4222"}']) {
    writeFileSync(file, content);
    assert.deepEqual(await readChosenPorts(file), NONE, content);
  }
});

test("the gateway has the port of the last time, at first one of twenty that no other process claims", async () => {
  const folder = tempDirectory();
  const file = join(folder, "ports.json");
  const first = (await chooseHttpPort(file, folder)) ?? 0;
  assert.ok(first >= 4_224 && first < 4_244, `${first}`);
  writeFileSync(join(folder, `switchyard-port-${first}`), String(process.ppid));
  assert.notEqual(await chooseHttpPort(file, folder), first, "a living process has it");
  writeFileSync(join(folder, `switchyard-port-${first}`), "no process");
  assert.equal(await chooseHttpPort(file, folder), first, "its process has ended");
  await writeChosenPorts(file, { nats: null, redis: null, http: first });
  assert.equal(await chooseHttpPort(file, folder), first);
});

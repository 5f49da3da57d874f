import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { readChosenPorts, writeChosenPorts } from "./chosen-ports.ts";

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

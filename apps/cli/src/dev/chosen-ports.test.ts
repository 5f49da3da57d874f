import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
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

test("the gateway has the port of the last time, at first one of some that no other process claims", async () => {
  const claims = tempDirectory();
  const file = join(claims, "ports.json");
  const ports = [await freePort(), await freePort()];
  const [first = 0, second] = ports;
  const claim = join(claims, `switchyard-port-${first}`);
  assert.equal(await chooseHttpPort(file, { claims, ports }), first);
  writeFileSync(claim, String(process.ppid));
  assert.equal(await chooseHttpPort(file, { claims, ports }), second, "a living process has it");
  await writeChosenPorts(file, { nats: null, redis: null, http: first });
  assert.equal(await chooseHttpPort(file, { claims, ports }), second, "also the one of last time");
  writeFileSync(claim, "no process");
  assert.equal(await chooseHttpPort(file, { claims, ports }), first, "its process has ended");
  assert.equal(await chooseHttpPort(file, { claims, ports }), first, "the claim is its own");
});

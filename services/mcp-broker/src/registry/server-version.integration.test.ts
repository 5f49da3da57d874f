import assert from "node:assert/strict";
import { test } from "node:test";
import { client } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import {
  addServer,
  getServer,
  removeServer,
  resetServer,
  updateServer,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const api = client(world.cli, { addServer, getServer, removeServer, resetServer, updateServer });
const REGISTRY = "yard:{mcp}:servers";

test("a change for a version is made when the server has not changed since, on this broker or another", async () => {
  const held = fixtureServer("held", ["fixture-server.ts"], { env: { TOKEN: "s3cret" } });
  await world.startBroker({ servers: [held] });
  const read = () => api.getServer({ server: "held" });
  const update = (name: string, ifVersion?: string) =>
    api.updateServer({ server: "held", changes: { name }, ...(ifVersion && { ifVersion }) });
  const refused = async (change: Promise<unknown>, version: string | undefined) =>
    assert.rejects(change, (error) => {
      assert.ok(isError(error, updateServer, "version_changed"), String(error));
      assert.deepEqual(error.data, { version });
      return true;
    });
  const { version: first } = await read();
  assert.ok(first !== undefined);
  const both = await Promise.allSettled([update("One", first), update("Other", first)]);
  const made = both.filter((end) => end.status === "fulfilled");
  assert.equal(made.length, 1);
  const { server, version: second } = await read();
  assert.equal(server.name, made[0]?.value.server.name);
  assert.equal(made[0]?.value.version, second);
  assert.notEqual(second, first);
  await refused(update("Late", first), second);

  // Another broker's change that this one has not received yet.
  const stored = JSON.parse((await world.redis.hget(REGISTRY, "held")) ?? "{}") as {
    declaration: object;
  };
  const theirs = {
    ...stored,
    declaration: { ...stored.declaration, name: "Theirs" },
    updatedAt: "2999-01-01T00:00:00.000Z",
  };
  await world.redis.hset(REGISTRY, "held", JSON.stringify(theirs));
  await assert.rejects(update("Ours", second), (error) =>
    isError(error, updateServer, "version_changed"),
  );
  const found = await read();
  assert.equal(found.server.name, "Theirs");
  await refused(update("Ours", second), found.version);
  const last = await update("Ours", found.version);
  assert.equal(last.server.name, "Ours");
  // Its time is after the previous one, whatever the clock shows.
  assert.equal((await read()).updatedAt, "2999-01-01T00:00:00.001Z");
  await update("Whatever");
  assert.notEqual((await read()).version, last.version);
  await api.resetServer({ server: "held" });
  assert.equal((await read()).version, first);

  const remove = (id: string, ifVersion = "") => api.removeServer({ server: id, ifVersion });
  await refused(remove("held", second), first);
  await remove("held", first);
  await assert.rejects(read(), (error) => isError(error, getServer, "unknown_server"));

  // A server that no file names leaves no record, so another broker's change must not be lost.
  const added = fixtureServer("added", ["fixture-server.ts"]);
  await api.addServer({ server: { ...added } });
  const { version: before } = await api.getServer({ server: "added" });
  const kept = (await world.redis.hget(REGISTRY, "added")) ?? "";
  const changed = kept.replace(/"updatedAt":"[^"]*"/, '"updatedAt":"2999-01-01T00:00:00.000Z"');
  await world.redis.hset(REGISTRY, "added", changed);
  await assert.rejects(remove("added", before), (error) =>
    isError(error, removeServer, "version_changed"),
  );
  assert.equal(await world.redis.hget(REGISTRY, "added"), changed);
  await remove("added", (await api.getServer({ server: "added" })).version);
  assert.equal(await world.redis.hget(REGISTRY, "added"), null);
});

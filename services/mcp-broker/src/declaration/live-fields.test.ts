import assert from "node:assert/strict";
import { test } from "node:test";
import { serverFacts } from "./server-facts.ts";
import { makeSameConnection, takeLiveFields } from "./live-fields.ts";
import { readDeclaration } from "@switchyard/project/mcp-servers/read-declaration";

const read = (more: object) => readDeclaration("a", { id: "a", command: "x", ...more }, "file");

test("recognises the fields that do not affect the connection", () => {
  const before = read({});
  for (const same of [
    { description: "a", tags: ["a"] },
    { callTimeoutMs: 100 },
    { roots: ["/a"] },
    { name: "b" },
    { enabled: true, type: "stdio", args: [] },
  ])
    assert.ok(makeSameConnection(before, read(same)), JSON.stringify(same));
  for (const other of [
    { env: { A: "1" } },
    { args: ["a"] },
    { cwd: "/" },
    { enabled: false },
    { scope: "run" },
    { sandbox: "bubblewrap" },
    { trust: "review" },
    { sampling: { perMinute: 1 } },
    { maxConcurrency: 0 },
  ])
    assert.ok(!makeSameConnection(before, read(other)), JSON.stringify(other));
});

test("the facts for the policy about a server follow its new fields", () => {
  const { config } = read({ tags: ["old"] });
  const next = read({ tags: ["new"], allowedAgentRoles: ["ops"], env: { A: "1" } }).config;
  assert.ok(config !== null && next !== null);
  assert.deepEqual(serverFacts(config), { labels: ["old"] });
  takeLiveFields(config, next);
  assert.deepEqual(serverFacts(config), { labels: ["new"], roles: ["ops"] });
  assert.equal(serverFacts(config), serverFacts(config));
  assert.deepEqual(config.transport === "stdio" && config.env, {}, "nothing else is taken over");
});

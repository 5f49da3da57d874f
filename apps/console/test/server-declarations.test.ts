import assert from "node:assert/strict";
import { test } from "node:test";
import { declarationsOf } from "../src/pages/server-declarations.ts";

const entry = { command: "npx", args: ["-y", "some-server"] };

test("the configuration of any client is read, and names become ids [A55]", () => {
  for (const text of [
    JSON.stringify({ mcpServers: { "My Files": entry } }),
    JSON.stringify({ servers: { "My Files": entry } }),
    JSON.stringify({ mcp: { servers: { "My Files": entry } } }),
    JSON.stringify({ "My Files": entry }),
    `"My Files": ${JSON.stringify(entry)},`,
    JSON.stringify({ name: "My Files", ...entry }),
  ]) {
    const read = declarationsOf(text);
    assert.ok("servers" in read, text);
    assert.deepEqual(read.servers, [{ name: "My Files", ...entry, id: "my-files" }]);
  }
  const several = declarationsOf(
    JSON.stringify({ mcpServers: { a: entry, b: { url: "https://x.example/mcp" } } }),
  );
  assert.ok("servers" in several);
  assert.deepEqual(
    several.servers.map(({ id }) => id),
    ["a", "b"],
  );
});

test("what is no configuration says why", () => {
  const problemOf = (text: string): string => {
    const read = declarationsOf(text);
    return "problem" in read ? read.problem : assert.fail(text);
  };
  assert.match(problemOf("{"), /not JSON/);
  assert.match(problemOf("[]"), /JSON object/);
  assert.match(problemOf("{}"), /no server/);
  assert.match(problemOf(JSON.stringify(entry)), /needs a name/);
  assert.match(problemOf('{"mcpServers":{"a":{"type":"stdio"}}}'), /a has neither/);
});

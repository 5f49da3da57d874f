import assert from "node:assert/strict";
import { test } from "node:test";
import { declarationsOf, pairsOf } from "../src/pages/server-declarations.ts";

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

test("lines of an environment or of headers become members, and a wrong line is named [A55]", () => {
  const headers = "Authorization: Bearer ${TOKEN}\n\nX-At: 10:30\n";
  assert.deepEqual(pairsOf(headers, ":"), {
    pairs: { Authorization: "Bearer ${TOKEN}", "X-At": "10:30" },
  });
  assert.deepEqual(pairsOf("A=1=2\n B = ", "="), { pairs: { A: "1=2", B: "" } });
  for (const [text, problem] of [
    ["A", /name, = and a value: A/],
    ["=1", /name, = and a value: =1/],
    ["A=1\nA=2", /A is there twice/],
  ] as const) {
    const read = pairsOf(text, "=");
    assert.match("problem" in read ? read.problem : "", problem);
  }
});

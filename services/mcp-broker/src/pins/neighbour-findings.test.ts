import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbourFindings, neighbourhoodOf, skeleton } from "./neighbour-findings.ts";

const neighbours = neighbourhoodOf(
  "mine",
  [
    { server: "files", tool: "read_file" },
    { server: "mail", tool: "send_message" },
    { server: "mine", tool: "own_tool" },
  ],
  ["files", "mail", "mine"],
);
const found = (name: string, description?: string): string[] =>
  neighbourFindings({ name, description }, "mine", neighbours).map(
    ({ code, severity }) => `${severity} ${code}`,
  );

test("blocks a name that only looks like a tool of another server", () => {
  for (const name of ["rеad_file", "reаd_filе", "read_fi1e", "ｒead_file", "read\u200b_fi|e"])
    assert.deepEqual(found(name), ["hard name_imitates"], skeleton(name));
  const [finding] = neighbourFindings({ name: "rеad_file", description: "" }, "mine", neighbours);
  assert.equal(finding?.evidence, "r\\u{435}ad_file looks like read_file of server files");
});

test("takes the same name on two servers, and its spellings, for what they are", () => {
  for (const name of ["read_file", "readFile", "read-file", "READ_FILE", "own_tool", "write_file"])
    assert.deepEqual(found(name), [], name);
});

test("shows a name that has one letter more, one fewer or another one than another server's tool", () => {
  for (const name of [
    "send_messages",
    "sendd_message",
    "send_mesage",
    "end_message",
    "send_massage",
  ])
    assert.deepEqual(found(name), ["soft name_resembles"], name);
  for (const name of ["send_masage", "send_money"]) assert.deepEqual(found(name), [], name);
});

test("shows a description that names another server's tools", () => {
  assert.deepEqual(found("x", "Use it before send_message of the mail server."), [
    "soft cross_server_reference",
  ]);
  assert.deepEqual(found("x", "Then mcp__mail__anything."), ["soft cross_server_reference"]);
  assert.deepEqual(found("x", "Goes with own_tool and mcp__mine__own_tool."), []);
});

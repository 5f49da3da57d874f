import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isTokenCurrent,
  layerWithout,
  narrowTools,
  RunTokenClaims,
  tokenAllowsTool,
} from "./run-token.ts";
import { builtinToolRef, mcpToolRef, type ToolRef } from "../tool-names.ts";

const claims: RunTokenClaims = {
  iss: "switchyard/policy",
  aud: "switchyard/tools",
  sub: "demo",
  run: "01JD0000000000000000000000",
  requester: "me",
  tools: [],
  iat: 1_000,
  exp: 2_000,
};

const pattern = fc.constantFrom(
  "*",
  "read_*",
  "github.*",
  "github__create_*",
  "mcp__*",
  "files.read",
);
const layer = fc.array(pattern, { maxLength: 4 });
const tool = fc.constantFrom<ToolRef>(
  builtinToolRef("read_file"),
  builtinToolRef("execute_command"),
  mcpToolRef("github", "create_issue"),
  mcpToolRef("github", "list"),
  mcpToolRef("files", "read"),
);

test("restricts nothing without a layer and everything with an empty one [X25]", () => {
  assert.equal(tokenAllowsTool({ tools: [] }, mcpToolRef("files", "read")), true);
  assert.equal(tokenAllowsTool({ tools: [[]] }, mcpToolRef("files", "read")), false);
});

test("never widens: a narrowed token allows a tool only if its parent does [D51, X16]", () => {
  fc.assert(
    fc.property(fc.array(layer, { maxLength: 3 }), layer, tool, (parent, child, ref) => {
      const narrowed = narrowTools(parent, child);
      if (tokenAllowsTool({ tools: narrowed }, ref)) {
        assert.ok(tokenAllowsTool({ tools: parent }, ref));
        assert.ok(tokenAllowsTool({ tools: [child] }, ref));
      }
    }),
  );
});

test("a layer with ! keeps out what it names, and lets nothing pass by itself [D51]", () => {
  const allows = (tools: string[][], ref: ToolRef) => tokenAllowsTool({ tools }, ref);
  const without = layerWithout(["execute_command", "github.create_*"]);
  assert(without);
  assert.equal(allows([without], builtinToolRef("read_file")), true);
  assert.equal(allows([without], builtinToolRef("execute_command")), false);
  assert.equal(allows([without], mcpToolRef("github", "list")), true);
  assert.equal(allows([without], mcpToolRef("github", "create_issue")), false);
  assert.equal(allows([["!execute_command"]], builtinToolRef("read_file")), false);
  assert.equal(layerWithout([]), null);
  assert.deepEqual(layerWithout(["x", "*"]), []);
  assert.deepEqual(layerWithout(Array.from({ length: 300 }, (_, n) => `t${n}`)), []);
});

test("leaves the parent's layers as they are when the child names no tools", () => {
  const parent = [["github.*"]];
  assert.deepEqual(narrowTools(parent, null), parent);
});

test("is good from iat to just before exp, with a tolerance at the start only", () => {
  assert.equal(isTokenCurrent(claims, 999_000), true);
  assert.equal(isTokenCurrent(claims, 994_000), false);
  assert.equal(isTokenCurrent(claims, 1_999_999), true);
  assert.equal(isTokenCurrent(claims, 2_000_000), false);
});

test("has no claim that the schema does not know", () => {
  assert.equal(RunTokenClaims.safeParse(claims).success, true);
  assert.equal(RunTokenClaims.safeParse({ ...claims, admin: true }).success, false);
  assert.equal(RunTokenClaims.safeParse({ ...claims, iss: "somebody else" }).success, false);
});

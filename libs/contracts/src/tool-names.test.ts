import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  builtinToolRef,
  canonicalToolName,
  foldedToolName,
  mcpToolDescription,
  ownToolDescription,
  mcpToolRef,
} from "./tool-names.ts";
import { matchesTool } from "./tool-patterns.ts";

const serverId = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,23}$/);
const toolName = fc.string({ minLength: 1, maxLength: 300, unit: "binary" });
const plainTool = fc.stringMatching(/^[a-zA-Z0-9_-]{1,30}$/);

test("names an MCP tool mcp__{server}__{tool} [A10]", () => {
  assert.equal(canonicalToolName("filesystem", "read_file"), "mcp__filesystem__read_file");
});

test("prefixes the description with the server [A11]", () => {
  assert.equal(mcpToolDescription("github", "Opens an issue"), "[MCP: github] Opens an issue");
  assert.equal(mcpToolDescription("github", undefined), "[MCP: github]");
});

test("extracts the server's own description unchanged, also an empty one and none", () => {
  for (const own of ["Opens an issue", "", undefined])
    assert.equal(ownToolDescription("github", mcpToolDescription("github", own)), own);
});

test("makes a name that every provider accepts from any tool name [X1] [complaint-10]", () => {
  fc.assert(
    fc.property(serverId, toolName, (server, tool) => {
      assert.match(canonicalToolName(server, tool), /^mcp__[a-z0-9-]+__[a-zA-Z0-9_-]+$/);
      assert.ok(canonicalToolName(server, tool).length <= 64);
    }),
  );
});

test("keeps two tools of a server apart when their names are shortened", () => {
  fc.assert(
    fc.property(serverId, toolName, toolName, (server, one, other) => {
      fc.pre(one !== other);
      assert.notEqual(canonicalToolName(server, one), canonicalToolName(server, other));
    }),
  );
  const long = "x".repeat(80);
  assert.notEqual(canonicalToolName("a", `${long}1`), canonicalToolName("a", `${long}2`));
});

test("refuses a server id with an underscore, so a name has one reading [X2, CR3]", () => {
  assert.throws(() => canonicalToolName("my__server", "x"), /server id "my__server"/);
  assert.throws(() => canonicalToolName("", "x"), TypeError);
});

test("takes all spellings of a pattern for the same thing [X1]", () => {
  const ref = mcpToolRef("github", "create_issue");
  for (const pattern of ["mcp__github__*", "github__*", "github.*", "mcp_github_*"]) {
    assert.equal(matchesTool(pattern, ref), true, pattern);
    assert.equal(matchesTool(pattern, mcpToolRef("gitlab", "create_issue")), false, pattern);
  }
  fc.assert(
    fc.property(serverId, plainTool, (server, tool) => {
      fc.pre(!tool.startsWith("_") && server !== "mcp");
      const target = mcpToolRef(server, tool);
      for (const pattern of [
        `mcp__${server}__${tool}`,
        `${server}__${tool}`,
        `${server}.${tool}`,
        `mcp_${server}_${tool}`,
      ]) {
        assert.equal(matchesTool(pattern, target), true, pattern);
      }
    }),
  );
});

test("lets a loose pattern reach no MCP tool [D55, SEC-SKILL-08]", () => {
  const mcp = mcpToolRef("files", "read_file");
  assert.equal(matchesTool("read_*", builtinToolRef("read_file")), true);
  assert.equal(matchesTool("read_*", mcp), false);
  assert.equal(matchesTool("*file*", mcp), false);
  assert.equal(matchesTool("m*", mcp), false);
  assert.equal(matchesTool("mcp__*", mcp), true);
  assert.equal(matchesTool("*", mcp), true);
  assert.equal(matchesTool("*", builtinToolRef("read_file")), true);
});

test("a built-in tool is selected by another system's name for it, an MCP tool of that name is not", () => {
  assert.equal(matchesTool("list_directory", builtinToolRef("list_files")), true);
  assert.equal(matchesTool("list_directory", builtinToolRef("read_file")), false);
  assert.equal(matchesTool("list_directory", mcpToolRef("files", "list_files")), false);
  assert.equal(matchesTool("files.list_directory", mcpToolRef("files", "list_directory")), true);
});

test("matches exactly, by prefix and by server [D56, SEC-SKILL-08]", () => {
  assert.equal(matchesTool("read_*", builtinToolRef("read_file")), true);
  assert.equal(matchesTool("read_file", builtinToolRef("read_file")), true);
  assert.equal(matchesTool("read", builtinToolRef("read_file")), false);
  assert.equal(matchesTool("github__*", mcpToolRef("github", "create_issue")), true);
});

test("finds a shortened tool by its raw name and by its shown name", () => {
  const raw = "repos/create pull request with a very long name that goes on and on and on";
  const ref = mcpToolRef("github", raw);
  assert.equal(matchesTool(`github.${raw}`, ref), true);
  assert.equal(matchesTool(ref.name, ref), true);
  assert.equal(matchesTool("github.repos/*", ref), true);
});

test("finds a tool whose name has its letters in another Unicode form than the pattern", () => {
  const decomposed = mcpToolRef("docs", "l\u00f6schen".normalize("NFD"));
  assert.ok(matchesTool("docs.l\u00f6schen", decomposed));
  assert.ok(matchesTool("docs.l?schen", decomposed));
  assert.ok(!matchesTool("docs.loschen", decomposed));
});

test("does not let the tool part of a name stand for another server", () => {
  // Read without the server, mcp__a__b__c could be tool `b__c` of `a` or tool `c` of `a__b`.
  assert.equal(matchesTool("mcp__*__c", mcpToolRef("a", "b__c")), false);
  assert.equal(matchesTool("mcp__a__*", mcpToolRef("a", "b__c")), true);
  assert.equal(matchesTool("mcp__a__b__c", mcpToolRef("a", "b__c")), true);
});

test("folds case and dashes, as some clients do", () => {
  assert.equal(foldedToolName("mcp__my-server__Get-Item"), "mcp__my_server__get_item");
});

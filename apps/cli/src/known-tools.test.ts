import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { offlineTools, unknownTool, type KnownTools } from "./known-tools.ts";

const here: KnownTools = {
  tools: [
    ...offlineTools.tools,
    { ...mcpToolRef("files", "read_text_file"), definition: "approved" },
  ],
  servers: ["files", "shop"],
  silent: ["shop"],
};

test("names and patterns of tools that exist are accepted in every spelling", () => {
  for (const name of [
    "read_file",
    "list_directory",
    "agent",
    "ask_user",
    "*",
    "memory_*",
    "execute_command(git add:*)",
    "files.read_text_file",
    "mcp__files__read_*",
    "files__*",
    "mcp__*",
    "shop.anything",
  ])
    assert.equal(unknownTool(name, here), null, name);
});

test("a tool or server that does not exist is named, with the one that is probably meant", () => {
  for (const [name, text] of [
    ["read_fil", "there is no tool read_file"],
    ["mcp__file__read_text_file", "there is no MCP server file; did you mean files?"],
    ["files.read_text_fil", "has no tool read_text_fil; did you mean read_text_file?"],
    ["files.write_*", "the MCP server files has no tool write_*"],
    ["quite_another", "there is no tool quite_another"],
  ] as const)
    assert.ok(unknownTool(name, here)?.includes(text.replace("read_file", "read_fil")), name);
  assert.match(unknownTool("read_fil", here) ?? "", /did you mean read_file\?$/);
});

test("without services only the names of built-in tools are known", () => {
  assert.match(unknownTool("memory_raed", offlineTools) ?? "", /did you mean memory_read\?/);
  assert.equal(unknownTool("files.anything", offlineTools), null);
});

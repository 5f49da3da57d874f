import { tokenAllowsTool } from "@switchyard/contracts/policy/run-token";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { BUILTIN_TIERS } from "@switchyard/contracts/toolbox/toolbox";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canName } from "./list-provider-tools.ts";

const builtins = Object.keys(BUILTIN_TIERS).map(builtinToolRef);
const ofServers = [mcpToolRef("files", "read_file"), mcpToolRef("web-2", "a.b")];

test("a provider is queried whenever a tool of it can pass every layer", () => {
  const pattern = fc
    .oneof(
      fc.constantFrom("*", "mcp__*", "mcp_*", "read_*", "Read", "files.*", "files__read_file"),
      fc.constantFrom("mcp_files_*", "mcp__files__*", "?*", "*.*", "*__*", "web-2.a.b"),
      fc.string({
        unit: fc.constantFrom("*", "?", "_", ".", "a", "mcp"),
        minLength: 1,
        maxLength: 6,
      }),
    )
    .chain((text) => fc.constantFrom(text, `!${text}`));
  const layers = fc.array(fc.array(pattern, { maxLength: 4 }), { maxLength: 3 });
  fc.assert(
    fc.property(layers, (tools) => {
      const passes = (refs: typeof builtins) => refs.some((ref) => tokenAllowsTool({ tools }, ref));
      if (passes(builtins)) assert.ok(canName("bare", tools), "the toolbox");
      if (passes(ofServers)) assert.ok(canName("server", tools), "the broker");
    }),
    { numRuns: 2_000 },
  );
});

test("a provider none of whose tools a layer can name is not queried", () => {
  const asked = (layers: string[][]): string[] => [
    ...(canName("bare", layers) ? ["toolbox"] : []),
    ...(canName("server", layers) ? ["broker"] : []),
  ];
  assert.deepEqual(asked([]), ["toolbox", "broker"]);
  assert.deepEqual(asked([["*"], ["files.*", "read_file"]]), ["toolbox", "broker"]);
  assert.deepEqual(asked([["*"], ["files.*", "!files.write"]]), ["broker"]);
  assert.deepEqual(asked([["read_*", "mcp__*"], ["read_file"]]), ["toolbox"]);
  assert.deepEqual(asked([["read_file"], ["mcp__files__*"]]), []);
  assert.deepEqual(asked([[]]), []);
});

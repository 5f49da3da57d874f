import assert from "node:assert/strict";
import { test } from "node:test";
import { enabledTools } from "./enabled-tools.ts";

const tools = ["read_file", "read_dir", "write_file"].map((name) => ({ name }));
const left = (enabled: string[] | null, disabled: string[]): string[] =>
  enabledTools({ enabledTools: enabled, disabledTools: disabled }, tools).map(({ name }) => name);

test("includes enabled tools and excludes disabled ones, which take precedence [CR1]", () => {
  assert.deepEqual(left(null, []), ["read_file", "read_dir", "write_file"]);
  assert.deepEqual(left(["read_*"], []), ["read_file", "read_dir"]);
  assert.deepEqual(left(null, ["write_*"]), ["read_file", "read_dir"]);
  assert.deepEqual(left(["*_file"], ["write_file"]), ["read_file"]);
  assert.deepEqual(left(["nothing"], []), []);
});

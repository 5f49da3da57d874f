import assert from "node:assert/strict";
import { test } from "node:test";
import { HOME, stateDirectory } from "./locations.ts";

test("keeps the keys out of the repository, which agents may read", () => {
  const state = stateDirectory({ HOME: "/home/someone" });
  assert.equal(state.path, `${HOME}/.yard`);
  assert.ok(!state.keys.startsWith(HOME), state.keys);
  const moved = stateDirectory({ XDG_STATE_HOME: "/var/state" });
  assert.match(moved.keys, /^\/var\/state\/switchyard\/[^/]+-[0-9a-f]{12}\/keys$/);
});

test("a chosen state directory holds everything", () => {
  const state = stateDirectory({ YARD_STATE_DIR: "/data/yard" });
  assert.equal(state.keys, "/data/yard/keys");
  assert.equal(state.instanceFile, "/data/yard/dev.json");
});

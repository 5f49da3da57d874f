import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { callRisk } from "./call-risk.ts";

test("a call that waits for a person states its risk [E18]", () => {
  assert.equal(callRisk(builtinToolRef("read_file"), "session"), "low");
  assert.equal(callRisk(builtinToolRef("write_file"), "session"), "medium");
  assert.equal(callRisk(mcpToolRef("x", "read"), "session"), "medium", "only its server knows");
  assert.equal(
    callRisk(mcpToolRef("x", "read"), "always"),
    "high",
    "the rules want each call seen",
  );
  assert.equal(callRisk(builtinToolRef("execute_command"), "session"), "high");
});

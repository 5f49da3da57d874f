import assert from "node:assert/strict";
import { test } from "node:test";
import { systemPrompt } from "./rendered-skills.ts";

test("joins the parts of a prompt and skips empty ones", () => {
  assert.equal(
    systemPrompt(["You help.\n", "", "  ", "<skill_content/>"]),
    "You help.\n\n<skill_content/>",
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseModel } from "./complete-once.ts";

const CHOICES = ["anthropic/claude-haiku", "anthropic/claude-sonnet", "openai/gpt-small"] as const;

test("wishes choose among the offered models, the first wish that fits first", () => {
  assert.equal(chooseModel(CHOICES, ["sonnet"]), "anthropic/claude-sonnet");
  assert.equal(chooseModel(CHOICES, ["gemini", "GPT", "sonnet"]), "openai/gpt-small");
  assert.equal(chooseModel(CHOICES, ["claude"]), "anthropic/claude-haiku");
});

test("without a hint that matches, the first choice is used, so a server cannot name a model of its own", () => {
  assert.equal(chooseModel(CHOICES, []), "anthropic/claude-haiku");
  assert.equal(chooseModel(CHOICES, ["", " ", "expensive/model"]), "anthropic/claude-haiku");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { firstText, knownResults, resultsOf, resumeText, saidSince } from "./runtime-texts.ts";

const user = (text: string): LanguageModelV4Prompt[number] => ({
  role: "user",
  content: [{ type: "text", text }],
});
const SYSTEM: LanguageModelV4Prompt[number] = { role: "system", content: "Be brief." };
const CALLED: LanguageModelV4Prompt = [
  SYSTEM,
  user("Read a."),
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "secret thought" },
      { type: "text", text: "I read." },
      { type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "a" } },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c1",
        toolName: "read",
        output: { type: "error-text", value: "no such file" },
      },
    ],
  },
];

test("a new session gets the instructions and the unchanged input", () => {
  assert.equal(
    firstText([SYSTEM, user("/Read a.")]),
    "<instructions>\nBe brief.\n</instructions>\n\n/Read a.",
  );
  assert.equal(firstText([user("Read a.")]), "Read a.");
});

test("a session that is begun in the middle gets all messages and results, without the reasoning", () => {
  const text = firstText(CALLED);
  assert.match(text, /This is the conversation so far/);
  assert.match(text, /<user>\nRead a\.\n<\/user>/);
  assert.match(text, /I read\.\n\(calls read with \{"path":"a"\}\)/);
  assert.match(text, /\(read failed: no such file\)/);
  assert.doesNotMatch(text, /secret thought/);
});

test("a resumed session gets only the messages since its last answer", () => {
  const text = resumeText([...CALLED, user("Never mind.")]);
  assert.match(text, /read failed: no such file/);
  assert.match(text, /Never mind\./);
  assert.doesNotMatch(text, /Read a\./);
  assert.doesNotMatch(resumeText([SYSTEM, user("Read a.")]), /has come since/);
});

test("results are matched to their calls, and a person's later message is passed on as new", () => {
  assert.deepEqual(resultsOf(CALLED), [{ id: "c1", text: "no such file", isError: true }]);
  assert.deepEqual(
    knownResults(CALLED).map(({ tool, input, text }) => [tool, input, text]),
    [["read", { path: "a" }, "no such file"]],
  );
  assert.equal(saidSince(CALLED), "");
  assert.equal(saidSince([...CALLED, user("Faster.")]), "Faster.");
});

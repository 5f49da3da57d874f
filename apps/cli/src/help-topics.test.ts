import assert from "node:assert/strict";
import { test } from "node:test";
import { shellWords } from "../test-fixtures/shell-words.ts";
import { EXIT } from "./exit-codes.ts";
import { HELP_TOPICS, topicNamed, topicSummary, topicText } from "./help-topics.ts";
import { parseCommandLine } from "../test-fixtures/parse-command-line.ts";

test("the seven topics of the requirements are there, each with a summary, and fit a terminal [D34, DR9, X31]", () => {
  for (const topic of ["skills", "agents", "commands", "config", "memory", "tools", "workspace"])
    assert.equal(topicNamed(topic), topic);
  for (const topic of HELP_TOPICS) {
    assert.match(topicSummary(topic), /^\p{L}.*\.$/u, topic);
    for (const line of topicText(topic).split("\n")) assert.ok(line.length <= 100, line);
  }
  assert.equal(topicNamed("/Skill"), "skills");
  assert.equal(topicNamed("nothing"), null);
});

test("each command in a topic is one that yard takes", async () => {
  let lines = 0;
  for (const topic of HELP_TOPICS) {
    for (const line of topicText(topic).split("\n")) {
      const words = shellWords(line.trim().split(/ {3,}/)[0] ?? "");
      if (words[0] !== "yard" || words.includes("--help") || !line.startsWith("  ")) continue;
      lines += 1;
      await assert.doesNotReject(parseCommandLine(...words.slice(1)), `${topic}: ${line}`);
    }
  }
  assert.ok(lines > 25, "hardly any command was found");
});

test("the topic exit-codes has every code", () => {
  for (const code of Object.values(EXIT))
    assert.match(topicText("exit-codes"), new RegExp(`^  ${code} `, "m"));
});

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { explainFiles, validateFiles } from "./policy-offline.ts";

const RULES = `version: 1
rules:
  - { id: reads, effect: allow, approval: auto, what: { tools: [read_file] } }
  - { id: no-writes, effect: deny, what: { tools: [write_file] } }
`;
const TESTS = `tests:
  - { name: reads, given: { tool: read_file, args: { path: a } }, expect: allow, by: reads }
`;

function policy(files: Record<string, string>): string {
  const directory = join(tempDirectory(), "policies");
  mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  return directory;
}

test("rules are tested without a server, and those that no test is decided by are named", async () => {
  const files = policy({ "rules.yaml": RULES, "rules.test.yaml": TESTS });
  const reply = await validateFiles(files);
  assert.equal(reply.valid, true);
  assert.equal(reply.rules, 2);
  assert.deepEqual(reply.coverage, { covered: ["reads"], untested: ["no-writes"] });
  const failing = policy({
    "rules.yaml": RULES,
    "rules.test.yaml": TESTS.replace("allow,", "deny,"),
  });
  assert.equal((await validateFiles(failing)).valid, false);
  const wrong = await validateFiles(policy({ "rules.yaml": "version: 2\n" }));
  assert.equal(wrong.valid, false);
  assert.equal(wrong.problems[0]?.file, "rules.yaml");
});

test("a decision is explained without a server", async () => {
  const files = policy({ "rules.yaml": RULES });
  const question = {
    user: "cli",
    tool: { name: "write_file", server: null, tool: "write_file" },
    args: {},
  };
  const { decision, considered } = await explainFiles(files, question);
  assert.deepEqual([decision.effect, decision.rule], ["deny", "no-writes"]);
  assert.equal(considered.length, 2);
  const broken = policy({ "rules.yaml": "version: 2\n" });
  await assert.rejects(explainFiles(broken, question), { code: "usage" });
});

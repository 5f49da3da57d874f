import assert from "node:assert/strict";
import { test } from "node:test";
import { packageOf } from "./package.ts";

const sent = (...files: (readonly [string, string])[]) =>
  packageOf(
    "heart",
    files.map(([path, text]) => [path, Buffer.from(text)] as const),
  );

test("keeps both of two files that differ by case only, and names them", () => {
  const { files, findings } = sent(["SKILL.md", "x"], ["HEARTBEAT.md", "a"], ["heartbeat.md", "b"]);
  assert.deepEqual([...files.keys()], ["HEARTBEAT.md", "SKILL.md", "heartbeat.md"]);
  const [finding] = findings;
  assert.deepEqual(
    [findings.length, finding?.code, finding?.severity],
    [1, "path_twice", "warning"],
  );
  assert.match(finding?.message ?? "", /"HEARTBEAT\.md" and "heartbeat\.md"/);
});

test("keeps the first of two files with one path, and names it", () => {
  const { files, findings } = sent(["SKILL.md", "x"], ["a.md", "first"], ["a.md", "second"]);
  assert.equal(Buffer.from(files.get("a.md") ?? []).toString(), "first");
  assert.deepEqual(
    findings.map(({ code, severity }) => [code, severity]),
    [["path_twice", "warning"]],
  );
  assert.match(findings[0]?.message ?? "", /"a\.md" was sent twice/);
});

test("a path that is not safe still makes a package unusable", () => {
  const { findings } = sent(["SKILL.md", "x"], ["../a.md", "y"]);
  assert.equal(findings[0]?.severity, "error");
});

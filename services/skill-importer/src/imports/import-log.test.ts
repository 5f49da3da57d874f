import assert from "node:assert/strict";
import { test } from "node:test";
import type { Diagnostic } from "@switchyard/contracts/skill-importer/skills";
import { createLog } from "@switchyard/service/log";
import { importLog } from "./import-log.ts";
import type { ImportReport } from "./import-report.ts";

const REPORT: ImportReport = {
  skills: { found: 2, loaded: 1, skipped: 1, repaired: 0 },
  agents: { found: 0, loaded: 0, skipped: 0 },
  diagnostics: [
    {
      severity: "error",
      code: "invalid_yaml",
      message: "no",
      file: "a/SKILL.md",
      line: 1,
      column: 1,
    },
  ],
  directories: [],
  missing: [],
  withheld: [],
  bad: ["a/SKILL.md"],
  unusableAgents: [],
  hasChanged: true,
};

test("logs every definition that is missing, and everything that was not read", () => {
  const lines: string[] = [];
  const destination = {
    write: (line: string) => void lines.push(`${JSON.parse(line).msg} ${JSON.parse(line).code}`),
  };
  const log = importLog(createLog({ service: "test", level: "info", destination }));
  const [first] = REPORT.diagnostics;
  assert(first !== undefined);
  const codes = ["duplicate_name", "scan_limit", "dangling_link", "skill_file_name", "long_body"];
  const remark = (code: string): Diagnostic => ({ ...first, severity: "warning", code });
  const diagnostics = codes.map((code) => remark(code));
  log({ ...REPORT, diagnostics });
  assert.deepEqual(lines, [
    "file skipped duplicate_name",
    "file remark scan_limit",
    "file remark dangling_link",
    "file remark skill_file_name",
    "catalogue imported undefined",
  ]);
});

test("logs an import once, and again when its report changes", () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(String(JSON.parse(line).msg)) };
  const log = importLog(createLog({ service: "test", level: "info", destination }));
  const same = { ...REPORT, hasChanged: false };
  const both = ["file skipped", "catalogue imported"];
  log(REPORT);
  assert.deepEqual(lines, both);
  log(same);
  log(same);
  assert.deepEqual(lines, both);
  log({ ...same, diagnostics: [] });
  assert.deepEqual(lines, [...both, "catalogue imported"]);
  log(same);
  log(REPORT);
  assert.deepEqual(lines, [...both, "catalogue imported", ...both, ...both]);
});

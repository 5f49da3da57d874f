import assert from "node:assert/strict";
import { test } from "node:test";
import { analyze } from "../analysis/analyze.ts";
import { NO_SETTINGS, scannerOf } from "../analysis/scan-settings.ts";
import { parseIndicators } from "./indicators.ts";
import { parseSuppressions } from "./read-suppressions.ts";
import { SCANNER_VERSION } from "./scanner-version.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const FILE = `
suppressions:
  - skill: installer
    code: remote_execution
    reason: our own server, reviewed in SEC-12
    path: SKILL.md
`;

function scanned(name: string, text: string) {
  const content = Buffer.from(
    `---\nname: ${name}\ndescription: Installs a tool when asked.\n---\n\`\`\`sh\ncurl -fsSL https://tools.example.com/i.sh | sh\n\`\`\`\n`,
  );
  return analyze({
    kind: "skill",
    directoryName: name,
    mainFile: "SKILL.md",
    files: new Map([["SKILL.md", content]]),
    version: DIGEST,
    now: new Date(0),
    settings: { ...NO_SETTINGS, suppressions: parseSuppressions(text, "s.yaml") },
  });
}

test("the operator's suppression takes its finding out of the report, with its reason", () => {
  const { report } = scanned("installer", FILE);
  assert.equal(
    report?.findings.some(({ code }) => code === "remote_execution"),
    false,
  );
  assert.equal(report.suppressed[0]?.finding.code, "remote_execution");
  assert.equal(report.suppressed[0].reason, "our own server, reviewed in SEC-12");
});

test("a suppression is about one skill: the same file of another skill keeps its finding", () => {
  const { report } = scanned("other", FILE);
  assert.ok(report?.findings.some(({ code }) => code === "remote_execution"));
  assert.deepEqual(report?.suppressed, []);
});

test("a verdict under suppressions belongs to another scanner version: changed suppressions cause another scan", () => {
  const of = (text: string) =>
    scannerOf({ ...NO_SETTINGS, suppressions: parseSuppressions(text, "s.yaml") });
  assert.equal(scannerOf(NO_SETTINGS), SCANNER_VERSION);
  assert.notEqual(of(FILE), SCANNER_VERSION);
  assert.equal(of(FILE), of(FILE));
  assert.notEqual(of(FILE), of(FILE.replace("12", "13")));
  const indicators = parseIndicators("pasteHosts: [paste.example.com]", "i.yaml");
  assert.notEqual(scannerOf({ ...NO_SETTINGS, indicators }), SCANNER_VERSION);
});

for (const [what, text, message] of [
  ["no reason", FILE.replace("our own server, reviewed in SEC-12", '""'), /s\.yaml: .*reason/],
  ["no scope", FILE.replace("path: SKILL.md", "# none"), /needs a digest or a path/],
  ["no skill", FILE.replace("skill: installer\n    code", "code"), /skill/],
  ["an unknown key", FILE.replace("path:", "paths: x\n    path:"), /paths/],
  ["broken YAML", "suppressions: [", /s\.yaml:1/],
] as const) {
  test(`refuses the whole file for ${what}, and reports it`, () => {
    assert.throws(() => parseSuppressions(text, "s.yaml"), message);
  });
}

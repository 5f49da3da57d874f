import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import type { Terminal } from "../terminal.ts";
import { exportPolicies, importPolicies } from "./policy-cedar.ts";

function fileWith(name: string, text: string): string {
  const path = join(tempDirectory(), name);
  writeFileSync(path, text);
  return path;
}

function recordingTerminal() {
  const out: string[] = [];
  const notes: string[] = [];
  const paint: Terminal["paintOut"] = (_style, text) => text;
  const terminal: Terminal = {
    env: {},
    out: (line) => void out.push(line),
    note: (line) => void notes.push(line),
    error: (line) => void notes.push(line),
    paintOut: paint,
    paintNote: paint,
  };
  return { terminal, out, notes };
}

test("policies are imported as rules, and what is different is listed with its line", async () => {
  const path = fileWith(
    "bank.cedar",
    `@id("reads")\npermit (principal, action == Action::"files.read", resource);
permit (principal, action == Action::"files.read", resource) when { context.input.ip.isLoopback() };\n`,
  );
  const { terminal, out, notes } = recordingTerminal();
  await importPolicies(terminal, "cedar", path, {});
  assert.match(out.join("\n"), /^version: 1\nrules:\n {2}- id: "reads"\n {4}effect: "allow"/m);
  assert.deepEqual(notes, [
    `${path}:3: line-3: left-out: the call of isLoopback is not in the subset`,
  ]);
});

test("an import without a rule that denies as much fails", async () => {
  const { terminal, out } = recordingTerminal();
  const wide = fileWith(
    "wide.cedar",
    "permit (principal, action, resource);\nforbid (principal, action, resource) unless { context.mfa };\n",
  );
  await assert.rejects(importPolicies(terminal, "dogwood", wide, {}), {
    code: "invalid_config",
    message: /wide\.cedar:2: line-2: it would deny every call/,
  });
  const broken = fileWith("broken.cedar", "permit (principal)");
  await assert.rejects(importPolicies(terminal, "cedar", broken, {}), {
    message: /broken\.cedar:1: expected ,/,
  });
  const none = fileWith("none.cedar", "permit (principal, action, resource) when { context.mfa };");
  await assert.rejects(importPolicies(terminal, "cedar", none, {}), {
    message: /no policy could be imported/,
  });
  await assert.rejects(importPolicies(terminal, "rego", none, {}), { code: "usage" });
  assert.deepEqual(out, []);
});

test("rules are exported as Cedar, with the gaps as notes", async () => {
  const path = fileWith(
    "rules.yaml",
    `version: 1
rules:
  - { id: reads, effect: allow, approval: auto, what: { tools: [files.read] } }
  - { id: small, effect: allow, approval: auto, what: { tools: [files.write] }, when: [{ arg: /text, op: maxLength, value: 9 }] }
`,
  );
  const { terminal, out, notes } = recordingTerminal();
  await exportPolicies(terminal, "cedar", path, {});
  assert.match(out.join("\n"), /@id\("reads"\)/);
  assert.deepEqual(notes, ["small: /text maxLength 9"]);
  await assert.rejects(exportPolicies(terminal, "cedar", fileWith("no.yaml", "version: 2\n"), {}), {
    code: "usage",
  });
});

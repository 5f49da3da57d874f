import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { auditHash } from "@switchyard/contracts/policy/audit-chain";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { describeFailure } from "../cli-error.ts";
import { verify } from "./audit.ts";

const directory = mkdtempSync(join(tmpdir(), "switchyard-audit-"));
after(() => rmSync(directory, { recursive: true }));

const unsealed = {
  v: 1,
  service: "policy",
  writer: "policy-1f2e3d4c5b6a7988",
  seq: 1,
  at: "2026-01-01T00:00:00.000Z",
  prev: null,
  kind: "chain",
  change: "started",
  instance: "one",
  version: "0.0.0",
  others: [],
} as const;
const record = { ...unsealed, hash: auditHash({ ...unsealed, others: [] }) };

async function verified(...lines: unknown[]) {
  const file = join(directory, "export.jsonl");
  writeFileSync(
    file,
    lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""),
  );
  const { terminal, lines: printed, notes } = collectingTerminal();
  const code = await verify(terminal, { file }).catch((error: unknown) => describeFailure(error));
  return typeof code === "number"
    ? `${code} ${[...printed, ...notes].join("\n")}`
    : `${code.exitCode} ${code.message.replace(file, "FILE")}`;
}

test("a line that is not a record is reported with its number and what is wrong with it", async () => {
  assert.match(await verified(record), /^8 intact: 1 record in 1 chain\n/);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
  for (const name of ["v", "writer", "seq", "at", "prev", "hash"])
    assert.match(
      await verified(record, without(name)),
      new RegExp(`^2 FILE:2 is not an audit record: ${name}: `),
    );
  assert.match(await verified(record, "", { ...record, seq: "2" }), /^2 FILE:3 .*: seq: /);
  assert.match(await verified(without("instance")), /^2 FILE:1 .*: instance: /);
  assert.match(await verified("null"), /^2 FILE:1 is not an audit record: /);
  assert.equal(await verified("{"), "2 FILE:1 is not an audit record: it is not valid JSON");
});

test("a file without records is not intact, and the report states when one begins later", async () => {
  assert.equal(await verified(), "2 FILE has no audit record, so there is nothing to check");
  const { hash: _, ...first } = record;
  const later = { ...first, seq: 7, prev: record.hash };
  const reported = await verified({ ...later, hash: auditHash({ ...later, others: [] }) });
  assert.match(reported, /^8 intact: 1 record/);
  assert.match(
    reported,
    /policy-1f2e3d4c5b6a7988: begins with record 7 of 2026-01-01T00:00:00.000Z/,
  );
});

test("a record that was changed is read and broken, and a directory is not a file", async () => {
  assert.match(await verified({ ...record, instance: "two" }), /^1 broken: /);
  const { terminal } = collectingTerminal();
  const failure = await verify(terminal, { file: directory }).catch((error: unknown) =>
    describeFailure(error),
  );
  assert.ok(typeof failure !== "number");
  assert.deepEqual(
    [failure.code, failure.message],
    ["file_refused", `${directory} cannot be used (EISDIR)`],
  );
});

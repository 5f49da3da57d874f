import assert from "node:assert/strict";
import { test } from "node:test";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { fromLevel, jsonLog, readableLog } from "./merged-log.ts";

const NOW = new Date(2026, 0, 2, 12, 1, 2);
const RECORD = JSON.stringify({
  level: "warn",
  time: NOW.toISOString(),
  service: "mcp-broker",
  msg: "server disconnected",
  server: "files",
});

test("merges all services into one aligned log", () => {
  const { terminal, lines } = collectingTerminal();
  const log = readableLog(terminal, () => NOW);
  log.step("NATS 2.15.1 is ready");
  log.output("broker", RECORD);
  log.output("runner-1", "(node:1) a text that is not a record");
  log.output("runner-1", "");
  assert.deepEqual(lines, [
    "12:01:02 yard     NATS 2.15.1 is ready",
    "12:01:02 broker   warning: server disconnected  server=files",
    "12:01:02 runner-1 (node:1) a text that is not a record",
  ]);
});

test("as JSON every line is one document, and a service's own records stay as they are", () => {
  const { terminal, lines } = collectingTerminal();
  const log = jsonLog(terminal, () => NOW);
  log.warn("broker ended");
  log.output("broker", RECORD);
  log.output("broker", "text");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      { level: "warn", time: NOW.toISOString(), service: "yard", msg: "broker ended" },
      JSON.parse(RECORD),
      { level: "info", time: NOW.toISOString(), service: "broker", msg: "text" },
    ],
  );
});

test("leaves out what services say below the chosen level, and keeps what yard itself says", () => {
  const { terminal, lines } = collectingTerminal();
  const log = fromLevel(
    "warn",
    readableLog(terminal, () => NOW),
  );
  log.step("NATS 2.15.1 is ready");
  log.output("broker", RECORD);
  log.output("broker", RECORD.replace('"warn"', '"info"'));
  assert.equal(lines.length, 2);
});

test("a silent log has only what yard itself says", () => {
  const { terminal, lines } = collectingTerminal();
  const log = fromLevel(
    "silent",
    readableLog(terminal, () => NOW),
  );
  log.step("NATS 2.15.1 is ready");
  log.output("broker", RECORD.replace('"warn"', '"fatal"'));
  log.output("broker", "(node:1) a text that is not a record");
  assert.deepEqual(lines, ["12:01:02 yard     NATS 2.15.1 is ready"]);
});

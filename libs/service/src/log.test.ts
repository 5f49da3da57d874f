import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog, type Log } from "./log.ts";

const CANARY = "canary-4711";

test("writes one JSON line with time, level, service and instance", () => {
  const { log, lines } = recordingLog();
  log.info({ runId: "r1" }, "run finished");
  assert.equal(lines.length, 1);
  const record = parse(lines[0]);
  assert.equal(record["level"], "info");
  assert.equal(record["service"], "policy");
  assert.equal(record["instance"], "i1");
  assert.equal(record["msg"], "run finished");
  assert.equal(record["runId"], "r1");
  assert.equal(new Date(String(record["time"])).toISOString(), record["time"]);
});

test("redacts fields, messages, errors and the bindings of children and grandchildren", () => {
  const { log, lines } = recordingLog();
  const error = Object.assign(new Error(`sent Bearer ${CANARY}`), {
    apiKey: CANARY,
    headers: { cookie: CANARY },
  });
  log.info({ request: { headers: { authorization: CANARY } } }, `url redis://u:${CANARY}@h`);
  log.error({ err: error }, "failed");
  log.error(error);
  log.info(new Error("outer", { cause: error }));
  log.child({ token: CANARY, auth: { secret: { value: CANARY } } }).warn("child");
  log.child({ a: 1 }).child({ password: CANARY }, { level: "debug" }).debug("grandchild");
  log.info("with %s", `Bearer ${CANARY}`);
  assert.equal(lines.length, 7);
  for (const line of lines) {
    parse(line);
    assert.ok(!line.includes(CANARY), line);
  }
});

test("keeps message, stack and cause of an error under err", () => {
  const { log, lines } = recordingLog();
  log.error({ err: new Error("outer", { cause: new TypeError("inner") }) }, "failed");
  const record = parse(lines[0]) as {
    err: { message: string; stack: string; cause: { type: string } };
  };
  assert.equal(record.err.message, "outer");
  assert.match(record.err.stack, /log\.test\.ts/);
  assert.equal(record.err.cause.type, "TypeError");
});

test("writes nothing below its level", () => {
  const { log, lines } = recordingLog();
  log.level = "warn";
  log.info("quiet");
  log.child({ a: 1 }).info("quiet");
  assert.deepEqual(lines, []);
});

function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return {
    log: createLog({ service: "policy", level: "debug", instance: "i1", destination }),
    lines,
  };
}

function parse(line: string | undefined): Record<string, unknown> {
  return JSON.parse(line ?? "null") as Record<string, unknown>; // a log line is an object
}

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fieldsIn } from "./log-fields.ts";
import { root } from "./markdown-files.ts";

/** Fields of the faults of libs/bus. */
const FAULTS = ["contract", "correlationId", "subject"];

/** Fields from elsewhere than their log call: the file, the logged object, and its fields. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "libs/service/src/run-service.ts problems": ["problems"],
  "services/agent-runner/src/start-runner.ts where": FAULTS,
  "services/agent-runner/src/run/ended-run.ts code": ["code"],
  "services/mcp-broker/src/registry/read-state.ts child": ["pid", "server"],
  "services/policy/src/tokens/refused-tokens.ts fact": ["about", "caller", "count", "reason"],
  "services/scheduler/src/start-scheduler.ts reconciled": ["declared", "removed"],
  "services/skill-importer/src/service.ts facts": FAULTS,
};

/** Fields that pino and `createLog` write into each line. */
const OF_EVERY_LINE = ["instance", "level", "msg", "service", "time"];

test("every field that a service logs is in docs/reference/logs.md, and no other", () => {
  const files = globSync("{services,libs}/*/src/**/*.ts", { cwd: root }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const logged = new Set(OF_EVERY_LINE);
  const unresolved = new Set<string>();
  for (const file of files) {
    const found = fieldsIn(readFileSync(join(root, file), "utf8"));
    for (const field of found.fields) logged.add(field);
    for (const name of found.elsewhere) unresolved.add(`${file} ${name}`);
  }
  const hint = "say in ELSEWHERE of this test what is logged there";
  assert.deepEqual([...unresolved].toSorted(), Object.keys(ELSEWHERE).toSorted(), hint);
  for (const field of Object.values(ELSEWHERE).flat()) logged.add(field);
  const page = readFileSync(join(root, "docs/reference/logs.md"), "utf8");
  const reported = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name = ""]) => name);
  assert.deepEqual(reported, [...logged].toSorted());
});

test("a field is found in a literal, in a spread, in a condition and behind a name", () => {
  const text = `
    const facts = { one, two: f("x, { y }") };
    log.info({ ...facts, three: [a, b], ...(c ? {} : { four }) }, "said");
    this.#log.warn(told, "said"); log.error("nothing"); log.child({ five: 1 });`;
  assert.deepEqual(fieldsIn(text), {
    fields: ["one", "two", "three", "four", "five"],
    elsewhere: ["told"],
  });
});

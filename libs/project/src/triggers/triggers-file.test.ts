import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readTriggers, TriggersFileError } from "./triggers-file.ts";

const example = new URL("../../../../examples/triggers/triggers.yaml", import.meta.url);

function problems(triggers: string): readonly string[] {
  try {
    readTriggers(`version: 1\ntriggers:\n${triggers}`, "triggers.yaml");
  } catch (error) {
    assert.ok(error instanceof TriggersFileError);
    return error.problems;
  }
  return [];
}

const ALL = "  - id: a\n    owner: cli\n    agent: clerk\n    input: hello\n";

test("the example declares a time and two kinds of messages", () => {
  const { declarations, messages } = readTriggers(readFileSync(example, "utf8"), "triggers.yaml");
  assert.deepEqual(
    declarations.map(({ name, owner, job }) => [name, owner, job.schedule.kind, job.enabled]),
    [
      ["price-check", "cli", "cron", true],
      ["paid-order", "cli", "message", true],
      ["failed-run", "cli", "message", false],
    ],
  );
  assert.deepEqual(
    messages.map(({ source, concurrency, from }) => [
      source.subject,
      source.stored?.stream,
      concurrency,
      from,
    ]),
    [
      ["shop.orders.*.paid", undefined, 4, "new"],
      ["yard.evt.run.*.*.failed", "YARD_EVENTS", 10, "new"],
    ],
  );
  assert.deepEqual(
    messages.map(({ enabled }) => enabled),
    [true, false],
  );
  assert.match(messages[1]?.source.stored?.consumer ?? "", /^yard-job-[0-9a-f]{16}$/);
});

test("each mistake is reported with its line, its position and a correction", () => {
  const cases: [string, RegExp][] = [
    [
      `${ALL}    scedule: { kind: every, everyMs: 1000 }\n`,
      /^triggers\.yaml:7:5: unknown key "scedule" in triggers\[0\]; did you mean "schedule"\?$/,
    ],
    [
      `${ALL}    schedule: { kind: hourly }\n`,
      /:7:17: triggers\[0\]\.schedule\.kind must be one of at, every/,
    ],
    [
      `${ALL}    schedule: { kind: cron, expr: "99 * * * *" }\n`,
      /:7:5: schedule: the expression "99 \* \* \* \*"/,
    ],
    [`${ALL}    schedule: { kind: every }\n`, /:7:5: schedule\.everyMs is required for every/],
    [ALL, /^triggers\.yaml:3:5: trigger a must have either schedule or message/],
    [
      `${ALL}    message: { subject: ">" }\n`,
      /:7:16: triggers\[0\]\.message\.subject must begin with a word/,
    ],
    [
      `${ALL}    message: { subject: "yard.cmd.cli.run.start.x" }\n`,
      /may begin with yard only for events/,
    ],
    [`${ALL}    message: { subject: "yard.evt.audit.>" }\n`, /without those of the audit/],
    [`${ALL}    message: { subject: "a b" }\n`, /must be a NATS subject such as/],
    [
      `${ALL}    message: { subject: a, stream: YARD_AUDIT }\n`,
      /message\.stream must be a stream of yours/,
    ],
    [`${ALL}    message: { subject: a, from: all }\n`, /message\.from belongs to message\.stream/],
    [
      `${ALL}    message: { subject: a, dedupe: "{{id}}" }\n`,
      /message\.dedupe has "id", which is not a part of a message/,
    ],
    [
      `${ALL}    message: { subject: a, when: [{ field: /body/x, op: like, value: 1 }] }\n`,
      /when\[0\]\.op .*eq, in, prefix/,
    ],
    [
      `${ALL}    overlap: queue\n    message: { subject: a }\n`,
      /:7:5: overlap belongs to schedule/,
    ],
    [
      `${ALL}    schedule: { kind: every, everyMs: 1000 }\n    delivery: { mode: announce, channel: telegram }\n`,
      /:8:5: cron announce delivery requires delivery\.to/,
    ],
    [ALL.replace("owner: cli", "owner: runner"), /owner must be a user/],
    [ALL.replace("    agent: clerk\n", ""), /triggers\[0\]\.agent is missing/],
    [
      ALL.replace("hello", '"{{/body}}"') + "    schedule: { kind: every, everyMs: 1000 }\n",
      /:6:5: input may have .* only beside message/,
    ],
    [
      `${ALL}    message: { subject: a }\n${ALL}    message: { subject: b }\n`,
      /:8:5: triggers\[1\]\.id "a" is already the id of triggers\[0\]/,
    ],
  ];
  for (const [text, wanted] of cases) {
    const found = problems(text);
    assert.ok(
      found.some((problem) => wanted.test(problem)),
      `${String(wanted)}\n${found.join("\n")}`,
    );
  }
  assert.throws(() => readTriggers("triggers: [", "t.yaml"), /^TriggersFileError: t\.yaml:1:/);
});

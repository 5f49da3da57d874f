import {
  layerAllowsTool,
  MAX_TOOL_LAYERS,
  tokenAllowsTool,
} from "@switchyard/contracts/policy/run-token";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { readFork } from "../commands/derived-command.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";
import { hasRoomFor, narrowedLayers, narrowingOf, type ToolNarrowing } from "./tool-narrowing.ts";

const tools = [
  builtinToolRef("read_file"),
  builtinToolRef("write_file"),
  mcpToolRef("files", "read"),
  mcpToolRef("files", "write"),
  mcpToolRef("web", "search"),
];
const patterns = fc.constantFrom(
  "*",
  "read_*",
  "write_file",
  "mcp__files__*",
  "files.read",
  "web__*",
  "nothing",
  "",
  "x".repeat(300),
);
const narrowings: fc.Arbitrary<ToolNarrowing> = fc.record({
  allowed: fc.option(fc.array(patterns, { maxLength: 4 })),
  forbidden: fc.array(patterns, { maxLength: 3 }),
});

test("the tools that a run may call are in the agent's list and in those of every skill that it has read [D51] [X26] [SEC-SKILL-04]", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(patterns, { maxLength: 4 }), { maxLength: 3 }),
      fc.array(narrowings, { maxLength: 5 }),
      (own, skills) => {
        const after = narrowedLayers(own, skills);
        for (const tool of tools.filter((ref) => tokenAllowsTool({ tools: after }, ref))) {
          assert.ok(tokenAllowsTool({ tools: own }, tool), "a skill gave what the agent lacks");
          for (const { allowed, forbidden } of skills) {
            assert.ok(allowed === null || layerAllowsTool(allowed, tool));
            assert.ok(!layerAllowsTool(forbidden, tool));
          }
        }
      },
    ),
  );
});

test("keeps each tool that is in the lists of the agent and of all of its skills [D51]", () => {
  const layers = narrowedLayers(
    [["mcp__files__*", "read_file"]],
    [
      { allowed: ["files.*"], forbidden: [] },
      { allowed: null, forbidden: ["files.write"] },
    ],
  );
  const left = tools.filter((tool) => tokenAllowsTool({ tools: layers }, tool));
  assert.deepEqual(
    left.map(({ name }) => name),
    ["mcp__files__read"],
  );
});

test("a skill with the same tools as another one adds no layer to the token", () => {
  const one: ToolNarrowing = { allowed: ["a", "b"], forbidden: [] };
  const again: ToolNarrowing = { allowed: ["b", "a"], forbidden: [] };
  assert.equal(narrowedLayers([], [one, again, one]).length, 1);
});

test("more restrictions than a token holds let nothing pass, and are refused before", () => {
  const many = Array.from({ length: MAX_TOOL_LAYERS }, (_, index) => {
    return { allowed: [`tool_${index}`, "*"], forbidden: [] };
  });
  assert.ok(tokenAllowsTool({ tools: narrowedLayers([], many) }, builtinToolRef("read_file")));
  const more = { allowed: ["one_more", "*"], forbidden: [] };
  assert.equal(hasRoomFor(more, [], many), false);
  assert.equal(hasRoomFor(more, [], many.slice(1)), true);
  assert.deepEqual(narrowedLayers([], [...many, more]), [[]]);
});

test("a skill that names no tools leaves the run unchanged", () => {
  assert.equal(narrowingOf({ allowedTools: null }), null);
  assert.deepEqual(narrowingOf({ allowedTools: [] }), { allowed: [], forbidden: [] });
});

const at = "2026-01-01T00:00:01.000Z";
const digest = `sha256:${"c".repeat(64)}`;
const narrowing: ToolNarrowing = { allowed: ["read_file"], forbidden: [] };

/** Step 1 activates a skill, step 2 is an answer. */
const journal: JournalEntry[] = [
  startedEntry({ toolLayers: [["read_file", "write_file"]] }),
  ...step(1),
  {
    kind: "tool-completed",
    at,
    callId: "r1:1:0",
    text: "Read.",
    textBytes: 5,
    isError: false,
    decision: null,
    durationMs: 1,
    replayed: false,
    skill: { name: "reader", digest },
    narrowing,
  },
  ...step(2),
  { kind: "tool-failed", at, callId: "r1:2:0", code: "gone", message: "gone" },
];

test("the next holder of a run applies the tool restrictions of its skills [D51]", () => {
  assert.deepEqual(replay(journal).toolLayers, [["read_file", "write_file"], ["read_file"]]);
  assert.deepEqual(replay(journal.slice(0, 2)).toolLayers, [["read_file", "write_file"]]);
});

test("a copy of a run's steps keeps the tool restrictions of the skills in these steps [D51]", () => {
  assert.deepEqual(forkAt(3)?.narrowings, [narrowing]);
  assert.deepEqual(forkAt(2)?.narrowings, [narrowing]);
  assert.equal(forkAt(1)?.narrowings, undefined);
  const copy = startedEntry({ toolLayers: [["read_file", "*"]], fork: forkAt(2) });
  assert.deepEqual(replay([copy]).toolLayers, [["read_file", "*"], ["read_file"]]);
});

function forkAt(fromStep: number) {
  const subject = "yard.cmd.cli.run.fork.r1";
  const message = { subject, caller: "cli", streamSequence: 7, publishedAt: new Date(at) };
  const asked = { payload: { fromStep }, sourceJournal: journal };
  const read = readFork({ ...message, messageId: null }, "r1", asked);
  assert.ok("command" in read);
  return read.command.fork;
}

function step(number: number): JournalEntry[] {
  const part = {
    type: "tool-call" as const,
    callId: `r1:${number}:0`,
    toolCallId: `call-${number}`,
    tool: number === 1 ? "skill" : "read_file",
    input: {},
  };
  return [
    {
      kind: "model-responded",
      at,
      step: number,
      content: [part],
      usage: { inputTokens: 1, outputTokens: 1 },
      finishReason: "tool-calls",
      servedModel: "m",
      durationMs: 1,
    },
  ];
}

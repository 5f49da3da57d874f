import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalToolName } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import type { ModelMessage } from "ai";
import { journals } from "../../test-fixtures/journals.ts";
import { conversationOf } from "./conversation.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { applyEntry, startOf } from "./replay.ts";
import type { RunState } from "./run-state.ts";
import { runToolsOf } from "./run-tools.ts";
import { type ListedTool, selectTools } from "./tool-catalogue.ts";
import { newPrints } from "./tool-print.ts";

// Providers cache the beginning of a request: tools, then the system prompt, then messages.

const MANY = Array.from({ length: 120 }, (_, n): ListedTool => {
  const [server, tool] = [`s${n % 7}`, `t${n}`];
  const name = canonicalToolName(server, tool);
  return { name, server, tool, description: `Does ${n}.`, inputSchema: { type: "object" } };
});

interface Circumstances {
  /** The number of tools that the providers list from the start. */
  readonly listed: number;
  /** Changes the order of their lists, for each step another. */
  readonly turn: number;
  /** Steps after which the model finds a hidden tool, a person sends a message, or the runner compacts the conversation. */
  readonly finds: readonly number[];
  readonly says: readonly number[];
  readonly compacts: readonly number[];
}

const steps = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 });
const circumstances: fc.Arbitrary<Circumstances> = fc.record({
  listed: fc.constantFrom(0, 1, 50, 120),
  turn: fc.nat({ max: 119 }),
  finds: steps,
  says: steps,
  compacts: steps,
});

test("each request begins with the whole request before it, and only a summary changes what follows the task", () => {
  fc.assert(
    fc.property(journals, circumstances, (journal, drawn) => {
      const requests = requestsOf(journal, drawn);
      for (const [index, request] of requests.entries()) {
        const before = requests[index - 1];
        if (before === undefined) continue;
        assert.deepEqual(request.tools.slice(0, before.tools.length), before.tools);
        assert.equal(request.instructions, before.instructions);
        const stable = request.isSmaller ? 1 : before.messages.length;
        assert.deepEqual(request.messages.slice(0, stable), before.messages.slice(0, stable));
      }
    }),
    { numRuns: 200 },
  );
});

test("cache marks change no text, are four at most, and the last request's end keeps its mark", () => {
  fc.assert(
    fc.property(journals, circumstances, (journal, drawn) => {
      const plain = requestsOf(journal, drawn);
      const marked = requestsOf(journal, drawn, true);
      for (const [index, { messages, isSmaller }] of marked.entries()) {
        assert.deepEqual(messages.map(plainOf), plain[index]?.messages.map(plainOf));
        const marks = messages.flatMap((message, at) => (isMarked(message) ? [at] : []));
        assert.ok(marks.length >= 1 && marks.length <= 3, `${marks.length} marks`);
        assert.equal(marks.at(-1), messages.length - 1);
        const before = marked[index - 1];
        if (before !== undefined && !isSmaller && messages.length > before.messages.length)
          assert.ok(marks.includes(before.messages.length - 1), "the end of the request before");
      }
    }),
    { numRuns: 100 },
  );
});

/** The requests of a run, each made by another runner, to which the providers list their tools in another order. */
function requestsOf(journal: readonly JournalEntry[], drawn: Circumstances, hasCacheMarks = false) {
  const [started, ...entries] = journal;
  assert.ok(started?.kind === "started");
  let state = startOf({ ...started, instructions: "You help." });
  let isSmaller = false;
  const requests: {
    readonly tools: readonly object[];
    readonly instructions: string;
    readonly messages: readonly ModelMessage[];
    readonly isSmaller: boolean;
  }[] = [];
  for (const entry of entries) {
    if (entry.kind !== "model-responded") {
      state = applyEntry(state, entry);
      continue;
    }
    const { step, at } = entry;
    if (drawn.says.includes(step))
      state = applyEntry(state, { kind: "steered", at, by: "cli", message: `Mind ${step}.` });
    const { done, count } = { done: state.compaction?.upTo ?? 0, count: state.turns.length - 1 };
    if (drawn.compacts.includes(step) && count > done) {
      state = applyEntry(state, { ...SUMMARY, upTo: count, at });
      isSmaller = true;
    }
    const catalogue = listedTo(state, drawn, step);
    const isCut = catalogue.leftOut.length > 0;
    const tools = [...runToolsOf(state, { isCut }), ...catalogue.offered];
    const reader = { provider: "p", windowTokens: 4_000, hasCacheMarks };
    const { instructions } = state.started;
    const messages = conversationOf(state, reader);
    requests.push({ tools, instructions, messages, isSmaller });
    isSmaller = false;
    const shown = newPrints(state.shownTools, tools, catalogue);
    state = applyEntry(state, { ...entry, shown, heard: state.messages.length });
    const [hidden] = catalogue.leftOut;
    if (drawn.finds.includes(step) && hidden !== undefined) state = withFound(state, hidden);
  }
  return requests;
}

function listedTo({ shownTools, found }: RunState, { listed, turn }: Circumstances, step: number) {
  const tools = MANY.slice(0, listed);
  const from = (turn * step) % (tools.length || 1);
  return selectTools({
    tools: [...tools.slice(from), ...tools.slice(0, from)],
    layers: [],
    skills: ["summarise"],
    about: "Does 17.",
    found,
    shown: Object.keys(shownTools),
  });
}

const SUMMARY = {
  kind: "compacted" as const,
  summary: "It was done.",
  model: "p/m",
  usage: { inputTokens: 1, outputTokens: 1 },
  costUsd: null,
};

/** Returns the state after a search found the tool. */
function withFound(state: RunState, name: string): RunState {
  const found = [...state.found, name];
  return { ...state, found, shownTools: { ...state.shownTools, [name]: "digest" } };
}

/** A message without marks; a text and a single part of text are the same to providers. */
function plainOf({ role, content }: ModelMessage): object {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    role,
    parts: parts.map((part) => Object.assign({}, part, { providerOptions: undefined })),
  };
}

function isMarked({ content }: ModelMessage): boolean {
  return typeof content !== "string" && JSON.stringify(content).includes("ephemeral");
}

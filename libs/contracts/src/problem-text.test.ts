import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { StopScope } from "./policy/policy-budgets.ts";
import { startRun } from "./agent-runner/runs.ts";

function problemsOf(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

test("all problems of a request are listed, each with its path and without the validator's words", () => {
  assert.deepEqual(
    problemsOf(startRun.payload, {
      model: 7,
      thinking: "hihg",
      limits: { maxStep: 1, timeoutMs: 0 },
      readers: "team-b",
      lables: {},
    }),
    [
      "input: must be a text, a JSON object, or 1-64 parts: texts, and files as POST /files returns them",
      "model: must be a text",
      "thinking: must be one of off, none, minimal, low, medium, high, xhigh, max",
      "limits.timeoutMs: must be at least 1000",
      "limits: maxStep is unknown; did you mean maxSteps?",
      "readers: must be a list",
      ": lables is unknown; did you mean labels?",
    ],
  );
});

test("a value of several forms is refused with the problems of the nearest form", () => {
  assert.deepEqual(problemsOf(StopScope, { kind: "agnet" }), ["kind: kind is not a known one"]);
  const Form = z.union([z.string(), z.strictObject({ name: z.string(), size: z.int() })]);
  assert.deepEqual(problemsOf(Form, 7), [": must be a text or an object"]);
  assert.deepEqual(problemsOf(Form, { name: "a", size: 1.5 }), [": size must be a whole number"]);
});

test("limits, formats and lists are explained in plain words", () => {
  const cases: [z.ZodType, unknown, string][] = [
    [z.string().min(1), "", "must not be empty"],
    [z.string().max(3), "four", "must have at most 3 characters"],
    [z.array(z.string()).min(2), ["a"], "must have at least 2 entries"],
    [z.number().positive(), 0, "must be greater than 0"],
    [z.number().max(5), 6, "must be at most 5"],
    [z.url(), "x", "must be a URL"],
    [z.iso.datetime(), "today", "must be a time such as 2026-11-27T12:00:00Z"],
    [z.literal("a"), "b", "must be a"],
    [z.string().startsWith("/"), "a", "must begin with /"],
    [z.string().regex(/^a$/, "must be the letter a"), "b", "must be the letter a"],
  ];
  for (const [schema, value, text] of cases)
    assert.deepEqual(problemsOf(schema, value), [`: ${text}`], text);
});

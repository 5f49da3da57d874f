import type { RunState, Turn } from "./run-state.ts";
import { resolveReference } from "@switchyard/service/json-schema/schema-document";
import { problemsOfAnswer } from "@switchyard/service/json-schema/answer-schema";
import { answered, failure, type CallOutcome } from "./call-outcome.ts";
import type { OfferedTool } from "./tool-catalogue.ts";

export const FINAL_ANSWER = "final_answer";

type Schema = Readonly<Record<string, unknown>>;

/** Providers want an object; an answer of another type is its only property. */
const VALUE = "value";

/** The tool with which a model gives an answer of a given shape, and so ends the run. */
export function finalAnswerTool(schema: Schema): OfferedTool {
  return {
    name: FINAL_ANSWER,
    description:
      "Gives the final answer in the required form and ends the work. Call it once, alone, when everything is done.",
    inputSchema: isObjectSchema(schema) ? schema : wrapped(schema),
  };
}

/**
 * Wraps the schema as that of a property. Definitions stay at the top, where providers look for them, and references follow the
 * rest.
 */
function wrapped({ $defs, definitions, ...schema }: Schema): Schema {
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved);
    if (!isSchema(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key !== "$ref" || typeof inner !== "string") return [key, moved(inner)];
        return [key, inner.replace(/^#(?!\/(?:\$defs|definitions)\/)/, `#/properties/${VALUE}`)];
      }),
    );
  };
  return {
    type: "object",
    properties: { [VALUE]: moved(schema) },
    required: [VALUE],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs: moved($defs) }),
    ...(definitions === undefined ? {} : { definitions: moved(definitions) }),
  };
}

/** Accepts an answer that fits its schema; any other gets a result that lists its problems. */
export function takeFinalAnswer(callId: string, input: unknown, schema: Schema): CallOutcome {
  const problems = problemsOfAnswer(schema, answerIn(schema, input));
  if (problems.length === 0) return answered(callId, { text: "accepted", isError: false });
  return failure(
    callId,
    "invalid_answer",
    `the answer does not have the required form: ${problems.join("; ")}; correct it and call ${FINAL_ANSWER} again`,
  );
}

/** Returns the accepted answer of a turn as JSON text; null when there is none. */
export function acceptedAnswer(turn: Turn | undefined, schema: Schema): string | null {
  const call = turn?.calls.find(
    ({ part, result }) => part.tool === FINAL_ANSWER && result !== null && !result.isError,
  );
  return call === undefined ? null : JSON.stringify(answerIn(schema, call.part.input));
}

/** A text that happens to be a fitting answer is one, too. */
export function answerInText(text: string, schema: Schema): string | null {
  const json = text.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, "$1");
  try {
    const value: unknown = JSON.parse(json);
    return problemsOfAnswer(schema, value).length === 0 ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}

/** A model that answers in another form, or in prose, gets this many reminders in a row before the run fails. */
export const MAX_REMINDERS = 2;

/** The reminder sent to a model that answered in prose. */
export const REMINDER = `Your answer was not taken: call the tool ${FINAL_ANSWER} with an answer in the required form.`;

/** Counts how often in a row the model's answer did not have its form, since the run began or was last retried. */
export function missedAnswers({ turns, firstOwnTurn }: RunState): number {
  const own = turns.slice(firstOwnTurn);
  return own.length - 1 - own.findLastIndex((turn) => !isMissed(turn));
}

function isMissed({ calls }: Turn): boolean {
  const isRefused = calls.some(({ part, result }) => part.tool === FINAL_ANSWER && result?.isError);
  return calls.length === 0 || isRefused;
}

function answerIn(schema: Schema, input: unknown): unknown {
  if (isObjectSchema(schema)) return input;
  const isWrapped = typeof input === "object" && input !== null && Object.hasOwn(input, VALUE);
  return isWrapped ? (input as Record<string, unknown>)[VALUE] : undefined; // it has this property
}

/** True also for a reference to an object at the top, as generators write a model that contains itself. */
function isObjectSchema(schema: Schema): boolean {
  if (schema["$ref"] === undefined) return schema["type"] === "object";
  const resolved = resolveReference(schema, schema["$ref"]);
  return "target" in resolved && isSchema(resolved.target) && resolved.target["type"] === "object";
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

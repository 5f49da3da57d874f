import { z } from "zod";
import { cutText } from "@switchyard/contracts/cut-text";
import type { CallState, RunState } from "./run-state.ts";
import { FINAL_ANSWER, finalAnswerTool, takeFinalAnswer } from "./final-answer.ts";
import { fittingTools } from "./rank-tools.ts";
import { answered, failure, type CallOutcome } from "./call-outcome.ts";
import { CALL_TOOL, callToolTool } from "./call-tool.ts";
import type { ListedTool, OfferedTool } from "./tool-catalogue.ts";
import { printsOf } from "./tool-print.ts";
import { partOf, resultRef } from "./observation.ts";

/** Tools of the runner that read the run itself; nothing outside is touched. */

const READ_RESULT = "read_result";
const FIND_TOOLS = "find_tools";

/** A search returns at most this many tools. */
const MAX_FOUND = 5;
/** A longer schema is cut: the provider of the tool checks the arguments and reports what is missing. */
const MAX_SCHEMA_CHARS = 8_000;

const ReadResultInput = z.strictObject({
  result: z.string().max(64),
  offset: z.int().nonnegative().default(0),
});
const FindToolsInput = z.strictObject({ query: z.string().min(1).max(1_000) });

const readResultTool: OfferedTool = {
  name: READ_RESULT,
  description: "Reads on in a tool result that was too long to be shown at once.",
  inputSchema: {
    type: "object",
    properties: {
      result: { type: "string", description: 'The result as its note names it, such as "3:0"' },
      offset: { type: "integer", minimum: 0, description: "Character to begin at" },
    },
    required: ["result"],
    additionalProperties: false,
  },
};

const findToolsTool: OfferedTool = {
  name: FIND_TOOLS,
  description:
    "Searches the tools that are not shown, and describes those that it finds. They can be called by call_tool.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "What the tool is to do, in a few words" },
    },
    required: ["query"],
    additionalProperties: false,
  },
};

/** Returns the runner's own tools that the run may need, the same at each step. `isCut`: there are tools that are not shown. */
export function runToolsOf(
  { started }: Pick<RunState, "started">,
  { isCut }: { readonly isCut: boolean },
): OfferedTool[] {
  const { output, toolLayers } = started;
  const hasTools = toolLayers.every((layer) => layer.length > 0);
  return [
    ...(output === undefined ? [] : [finalAnswerTool(output)]),
    ...(hasTools ? [readResultTool] : []),
    ...(isCut ? [findToolsTool, callToolTool] : []),
  ];
}

/** Answers a call of one of them; null for any other tool. */
export function answerRunTool(
  { part: { callId, tool, input } }: CallState,
  state: RunState,
  hidden: readonly ListedTool[],
): CallOutcome | null {
  const { output } = state.started;
  if (tool === FINAL_ANSWER && output !== undefined) return takeFinalAnswer(callId, input, output);
  if (tool === READ_RESULT) return readResult(callId, input, state);
  if (tool === CALL_TOOL)
    return failure(callId, "invalid_arguments", `${CALL_TOOL}: wants a tool and its arguments`);
  if (tool === FIND_TOOLS) return findTools(callId, input, { hidden, away: state.unavailable });
  return null;
}

function readResult(callId: string, input: unknown, { turns, started }: RunState): CallOutcome {
  const read = ReadResultInput.safeParse(input);
  if (!read.success) return badArguments(callId, READ_RESULT, read.error);
  const { result: ref, offset } = read.data;
  const found = turns
    .flatMap(({ calls }) => calls)
    .find(({ part }) => resultRef(part.callId) === ref && part.tool !== READ_RESULT);
  const text = found?.result?.text;
  if (found === undefined || text === undefined)
    return answered(callId, { text: `there is no result ${ref}`, isError: true });
  if (offset >= text.length) {
    const problem = `result ${ref} has ${text.length} characters`;
    return answered(callId, { text: problem, isError: true });
  }
  const calls = turns.at(-1)?.calls.length ?? 1;
  const { contextWindow: windowTokens } = started;
  const shown = partOf({ callId: found.part.callId, text, offset, calls, windowTokens });
  return answered(callId, { text: shown, isError: false });
}

function findTools(
  callId: string,
  input: unknown,
  {
    hidden,
    away,
  }: { readonly hidden: readonly ListedTool[]; readonly away: RunState["unavailable"] },
): CallOutcome {
  const read = FindToolsInput.safeParse(input);
  if (!read.success) return badArguments(callId, FIND_TOOLS, read.error);
  const found = fittingTools(hidden, read.data.query).slice(0, MAX_FOUND);
  const lines = found.map(
    ({ name, description, inputSchema }) =>
      `${name}: ${cutText(description, 500)}\n  input schema: ${cutText(JSON.stringify(inputSchema), MAX_SCHEMA_CHARS)}`,
  );
  lines.push(found.length === 0 ? "no tool fits; use other words" : `call them by ${CALL_TOOL}`);
  // The tools of disconnected servers cannot be searched.
  if (away.length > 0)
    lines.push(
      `Not searched, because these servers are unavailable now: ${away.map(awayText).join("; ")}`,
    );
  const text = lines.join("\n");
  const names = found.map(({ name }) => name);
  return answered(callId, { text, isError: false, found: names, shown: printsOf(found) });
}

function awayText({ server, reason }: RunState["unavailable"][number]): string {
  return `${server} (${cutText(reason, 200)})`;
}

function badArguments(callId: string, tool: string, error: z.ZodError): CallOutcome {
  const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return failure(callId, "invalid_arguments", `${tool}: ${problems.join("; ")}`);
}

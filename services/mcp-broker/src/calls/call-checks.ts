import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract, type ValueProblem } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import type { CallOutcome } from "@switchyard/tool-provider/call-store";
import type { CatalogueTool, ToolCatalogue } from "../catalogue/tool-catalogue.ts";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import {
  hasLongInteger,
  roundedIntegers,
  withLongIntegers,
  withRoundedIntegers,
} from "../json/long-integers.ts";
import { createValidatorCache } from "@switchyard/service/json-schema/validator-cache";

const fail = failuresOf(contract.errors);

/** Validators follow from schemas alone, so all connections of the process share them. */
const validatorOf = createValidatorCache();

/** A tool that may be called, and the arguments as they are sent. */
export interface Admitted {
  readonly tool: CatalogueTool;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Checks that a call may go to its server right now: the tool is there, its definition is the approved one and the one that the
 * policy decided about, and the arguments fit its schema. Throws NotSentError.
 */
export function admitCall(
  catalogue: ToolCatalogue,
  call: {
    readonly ref: ToolRef;
    readonly args: Readonly<Record<string, unknown>>;
    /** Digest of the definition that the policy decided about. */
    readonly pin: string | undefined;
    /** False where the server alone checks its arguments. */
    readonly isChecked: boolean;
  },
): Admitted {
  const { ref, args, pin, isChecked } = call;
  const server = ref.server ?? "";
  const tool = catalogue.find(ref.name);
  if (tool === null)
    throw new NotSentError(
      fail.unknown_tool(`MCP server ${server} has no tool ${ref.tool} any more.`, {
        server,
        tool: ref.tool,
      }),
    );
  const { inspected } = tool;
  const state = pin === undefined || pin === inspected.pin ? tool.state : "changed";
  if (state !== "approved")
    throw new NotSentError(
      fail.tool_not_approved(
        `The tool ${ref.name} is ${state}, and the call was not sent. An administrator looks at it with mcp.pins.diff and approves it with mcp.pins.approve.`,
        { server, tool: ref.tool, state },
      ),
    );
  if (!isChecked) return { tool, args };
  const { problems: misfits, longIntegers } = checkValue(args, {
    digest: inspected.inputDigest,
    schema: inspected.inputSchema,
  });
  const problems = [...misfits, ...roundedIntegers(args).slice(0, MAX_ROUNDED).map(asRounded)];
  if (problems.length > 0)
    throw new NotSentError(
      fail.invalid_arguments(
        `The arguments do not fit the input schema of ${ref.name}: ${problemText(problems)}. The call was not sent.`,
        { problems },
      ),
    );
  return { tool, args: withLongIntegers(args, longIntegers) };
}

const MAX_ROUNDED = 5;

function asRounded(pointer: string): ValueProblem {
  const expected =
    "an integer of at most 2^53 - 1; write a longer one as text, with all its digits";
  return { pointer, expected };
}

/** The most long integers of one value that are checked: a check ends at the first misfit, so each one costs another check. */
const MAX_LONG_INTEGERS = 20;

/** The misfits of a value, and the pointers to digits of a long integer where a number is expected. */
function checkValue(
  value: unknown,
  { digest, schema }: { readonly digest: string; readonly schema: JsonRecord },
): { readonly problems: readonly ValueProblem[]; readonly longIntegers: readonly string[] } {
  const validate = validatorOf(digest, schema);
  const longIntegers: string[] = [];
  for (let checked = value; ;) {
    const problems = validate(checked);
    const found = problems
      .filter(({ expected }) => /\b(?:integer|number)\b/.test(expected))
      .flatMap(({ pointer }) => (hasLongInteger(checked, pointer) ? [pointer] : []));
    if (found.length === 0 || longIntegers.length >= MAX_LONG_INTEGERS)
      return { problems, longIntegers };
    longIntegers.push(...found);
    checked = withRoundedIntegers(checked, found);
  }
}

/**
 * Checks a result against the tool's output schema. By the specification the structured result of such a tool has to fit it,
 * unless the tool reports an error.
 */
export function checkResult({ inspected }: CatalogueTool, outcome: CallOutcome): CallOutcome {
  if (outcome.kind !== "result" || inspected.outputSchema === null || outcome.result.isError)
    return outcome;
  const { structuredContent } = outcome.result;
  const problems: readonly ValueProblem[] =
    structuredContent === undefined
      ? [{ pointer: "", expected: "structuredContent, as the tool has an output schema" }]
      : checkValue(structuredContent, {
          digest: inspected.outputDigest,
          schema: inspected.outputSchema,
        }).problems;
  if (problems.length === 0) return outcome;
  return { kind: "invalid", problems: [...problems], result: outcome.result };
}

/** The problems in one line, for messages. */
export function problemText(problems: readonly ValueProblem[]): string {
  return problems
    .map(({ pointer, expected }) => `${pointer === "" ? "the whole" : pointer}: ${expected}`)
    .join("; ");
}

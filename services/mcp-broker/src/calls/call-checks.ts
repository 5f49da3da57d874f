import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract, type ValueProblem } from "@switchyard/contracts/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";
import type { CallOutcome } from "@switchyard/service/tool-provider/call-store";
import type { CatalogueTool, ToolCatalogue } from "../catalogue/tool-catalogue.ts";
import { createValidatorCache } from "../validation/validator-cache.ts";

const fail = failuresOf(contract.errors);

/** Validators follow from schemas alone, so all connections of the process share them. */
const validatorOf = createValidatorCache();

/**
 * Whether a call may go to its server right now: the tool is there, its definition is the approved
 * one and the one that the policy was asked about, and the arguments fit its schema. Throws
 * NotSentError.
 */
export function admitCall(
  catalogue: ToolCatalogue,
  call: {
    readonly ref: ToolRef;
    readonly args: Readonly<Record<string, unknown>>;
    /** Of the definition that the policy was asked about. */
    readonly pin: string | undefined;
  },
): CatalogueTool {
  const { ref, args, pin } = call;
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
  const problems = validatorOf(inspected.inputDigest, inspected.inputSchema)(args);
  if (problems.length > 0)
    throw new NotSentError(
      fail.invalid_arguments(
        `The arguments do not fit the input schema of ${ref.name}: ${problemText(problems)}. The call was not sent.`,
        { problems: [...problems] },
      ),
    );
  return tool;
}

/**
 * Holds a result against the tool's output schema. By the specification the structured result of
 * such a tool has to fit it, unless the tool reports an error.
 */
export function checkResult({ inspected }: CatalogueTool, outcome: CallOutcome): CallOutcome {
  if (outcome.kind !== "result" || inspected.outputSchema === null || outcome.result.isError)
    return outcome;
  const { structuredContent } = outcome.result;
  const problems: readonly ValueProblem[] =
    structuredContent === undefined
      ? [{ pointer: "", expected: "structuredContent, as the tool has an output schema" }]
      : validatorOf(inspected.outputDigest, inspected.outputSchema)(structuredContent);
  if (problems.length === 0) return outcome;
  return { kind: "invalid", problems: [...problems], result: outcome.result };
}

/** The problems in one line, for messages. */
export function problemText(problems: readonly ValueProblem[]): string {
  return problems
    .map(({ pointer, expected }) => `${pointer === "" ? "the whole" : pointer}: ${expected}`)
    .join("; ");
}

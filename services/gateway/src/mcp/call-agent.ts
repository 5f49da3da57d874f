import { answerQuestion, type RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { approveCall } from "@switchyard/contracts/policy/approvals";
import { fullRunId } from "@switchyard/contracts/ids";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import {
  inputRequired,
  inputResponse,
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { followRun, type RunFollow, type RunItem } from "../agent-runs/follow-run.ts";
import type { RunEnd } from "../agent-runs/run-event.ts";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import { cancelRun, startAgentRun } from "../agent-runs/start-run.ts";
import type { Requester } from "../identity/requester.ts";
import { approvalForm, decide } from "./approval-form.ts";
import { errorResult, failedCall } from "./mcp-errors.ts";
import { AgentInput, checked, sessionOf, untilKnown } from "./run-tools.ts";
import { taskOfNewRun, type TaskResult } from "./run-tasks.ts";
import { progressOf, type ToolCall } from "./tool-call.ts";

/** A task is a result of the extension, which the SDK has no type for. */
type Answer = CallToolResult | InputRequiredResult | TaskResult;

/** The state that a client returns with its person's answers. It can only select among the requester's own runs. */
const State = z.strictObject({
  run: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/),
  asked: z.array(
    z.strictObject({
      approval: z.string().optional(),
      /** The binding of the approval that was shown. */
      binding: z.string().optional(),
      question: z.string().optional(),
    }),
  ),
});

/**
 * Runs an agent and returns its answer. When the run waits for a person, the client prompts its own if it can; otherwise the
 * result explains how to decide, and the run stays. A client that cancels the call, or disconnects from a stateless request,
 * cancels the run.
 */
export async function callAgent(agent: string, request: ToolCall): Promise<Answer> {
  const { context, requester, parts } = request;
  const state = readState(context.mcpReq.requestState());
  try {
    if (state !== null) {
      const runId = fullRunId(requester.caller, state.run);
      const problem = await answerAll(request, runId, state);
      if (problem !== null) return errorResult("waiting", problem);
      return await followToAnswer(followRun(parts, requester, { runId, history: true }), request);
    }
    return await checked(AgentInput, request, async ({ input, session }) => {
      const run = { agent, input, via: "mcp", ...sessionOf(session) };
      const follow = await startAgentRun(parts, requester, run);
      if (request.abilities.tasks) {
        await untilKnown(follow);
        return taskOfNewRun(follow.runId);
      }
      return followToAnswer(follow, request);
    });
  } catch (error) {
    return failedCall(error, request.onFault);
  }
}

async function followToAnswer(follow: RunFollow, request: ToolCall): Promise<Answer> {
  const { context, requester, parts } = request;
  const { runId } = follow;
  const { signal } = context.mcpReq;
  const reportProgress = progressOf(context);
  const stop = (): void => follow.stop();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    for await (const item of follow.items) {
      if (item.kind === "end") return resultOfRun(runId, item);
      const note = noteOf(item);
      if (note !== null) reportProgress(note);
      if (item.kind !== "event" || item.name !== "waiting") continue;
      const { run } = await requester.ask(getRun, { runId });
      const open = (run.waits ?? []).filter(needsPerson);
      if (open.length > 0) return await park(runId, open, request);
    }
    if (!parts.isStopping()) await cancelRun(requester, runId, "the MCP client cancelled the call");
    return errorResult("cancelled", `run ${runId} was given up by its client`);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

/** Returns a run's end as the tool result for the model that called it. */
export function resultOfRun(runId: string, end: RunEnd): CallToolResult {
  const { status, output, failure, usage } = end;
  const structuredContent = { runId, status, ...(usage !== null && { usage }) };
  if (failure === null) return { content: [{ type: "text", text: output }], structuredContent };
  const text = `${failure.code}: ${failure.message} (run ${runId})`;
  return { content: [{ type: "text", text }], structuredContent, isError: true };
}

/** Returns the progress message for an item of a run under way; null for items without one. */
function noteOf(item: RunItem): string | null {
  if (item.kind !== "event") return null;
  switch (item.name) {
    case "started":
      return `${item.facts.agent} started`;
    case "tool-requested":
      return `calls ${item.facts.tool}`;
    case "tool-completed":
      return `${item.facts.tool} answered`;
    case "tool-denied":
    case "tool-failed":
      return `${item.facts.tool} was ${item.name === "tool-denied" ? "denied" : "not answered"}`;
    case "waiting":
      return "waits";
    case "child-started":
      return `${item.facts.agent} works for it`;
    default:
      return null;
  }
}

async function park(runId: string, open: readonly RunWait[], request: ToolCall): Promise<Answer> {
  const { requester, abilities } = request;
  const inputRequests: InputRequests = {};
  const asked: z.infer<typeof State>["asked"] = [];
  if (abilities.forms)
    for (const wait of open) {
      if (wait.approvalId !== undefined && requester.may(approveCall)) {
        const { form, binding } = await approvalForm(requester, wait.approvalId);
        inputRequests[wait.approvalId] = form;
        asked.push({ approval: wait.approvalId, binding });
      } else if (wait.reason === "question" && requester.may(answerQuestion)) {
        inputRequests[wait.callId] = questionForm(wait);
        asked.push({ question: wait.callId });
      }
    }
  if (asked.length > 0) {
    const run = runId.slice(runId.indexOf("~") + 1);
    return inputRequired({ inputRequests, requestState: JSON.stringify({ run, asked }) });
  }
  const waits = open.map((wait) => describeWait(runId, wait)).join("; ");
  return errorResult(
    "waiting",
    `run ${runId} has no answer yet: it ${waits}. Afterwards run_get with runId ${runId} has its answer.`,
  );
}

function questionForm({ question = "", options = [], schema }: RunWait): InputRequests[string] {
  const fits =
    schema === undefined ? {} : { description: `JSON that fits ${JSON.stringify(schema)}` };
  return inputRequired.elicit({
    message: question,
    requestedSchema: {
      type: "object",
      properties: {
        answer: {
          type: "string",
          title: "Answer",
          ...fits,
          ...(options.length > 0 && { enum: [...options] }),
        },
      },
      required: ["answer"],
    },
  });
}

/** Sends the person's answers to the run. Returns one sentence when it still waits. */
async function answerAll(
  { requester, context }: ToolCall,
  runId: string,
  { asked }: z.infer<typeof State>,
): Promise<string | null> {
  const responses = context.mcpReq.inputResponses ?? {};
  const { run } = await requester.ask(getRun, { runId });
  const waits = run.waits ?? [];
  const still: string[] = [];
  for (const { approval, binding, question } of asked) {
    const wait = waits.find((one) =>
      approval === undefined ? one.callId === question : one.approvalId === approval,
    );
    if (wait === undefined) continue; // The wait was ended elsewhere meanwhile.
    const problem =
      approval === undefined
        ? await answerOne(requester, { runId, wait, responses })
        : await decide(requester, { approvalId: approval, binding }, { responses, key: approval });
    if (problem !== null) still.push(problem);
  }
  if (still.length === 0) return null;
  return `run ${runId} still waits: ${still.join("; ")}. Afterwards run_get with runId ${runId} has its answer.`;
}

async function answerOne(
  requester: Requester,
  about: { runId: string; wait: RunWait; responses: Record<string, unknown> },
): Promise<string | null> {
  const { runId, wait, responses } = about;
  const response = inputResponse(responses, wait.callId);
  const said = response.kind === "elicit" ? response.content?.["answer"] : undefined;
  if (typeof said !== "string") return describeWait(runId, wait);
  const answer = wait.schema === undefined ? said : fromJson(said);
  await requester.ask(answerQuestion, { runId, callId: wait.callId, answer });
  return null;
}

function fromJson(text: string): string | number | boolean | unknown[] | Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>; // The contract checks the form of an answer.
  } catch {
    return text;
  }
}

function readState(state: unknown): z.infer<typeof State> | null {
  if (typeof state !== "string") return null;
  const parsed = State.safeParse(fromJson(state));
  return parsed.success ? parsed.data : null;
}

import type { AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import type { Command, Rpc } from "@switchyard/contracts/define";
import { AgentName, RunId, fullRunId } from "@switchyard/contracts/ids";
import {
  getRun,
  requestCancel,
  startRun,
  type RunDetail,
} from "@switchyard/contracts/agent-runner/runs";
import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { followRun, type RunFollow } from "../agent-runs/follow-run.ts";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import { sessionKeyOf, startAgentRun } from "../agent-runs/start-run.ts";
import { failedCall, errorResult } from "./mcp-errors.ts";
import type { ToolCall } from "./tool-call.ts";

export const AGENT_TOOL = "agent__";
const KNOWN_WITHIN_MS = 5_000;

export const AgentInput = z.strictObject({
  input: z.string().min(1).describe("What the agent is to do."),
  session: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe("A name of your own for a conversation: calls with the same name share its history."),
});

export function agentTool({ name, description }: Pick<AgentSummary, "name" | "description">): Tool {
  return {
    name: `${AGENT_TOOL}${name}`,
    title: `Agent ${name}`,
    description: `Runs the agent ${name} and returns its answer. ${description}`.trim(),
    inputSchema: schemaOf(AgentInput),
  };
}

const StartInput = AgentInput.extend({ agent: AgentName });
const GetInput = z.strictObject({
  runId: RunId,
  waitSeconds: z.number().min(0).max(50).default(0).describe("Wait so long for the end."),
});
const CancelInput = z.strictObject({ runId: RunId, reason: z.string().max(512).optional() });

/** Tools for clients without tasks, to start runs that take longer than a call may. */
export const runTools: readonly {
  readonly tool: Tool;
  /** The role and scopes of this contract decide who may use the tool. */
  readonly contract: Rpc | Command;
  readonly call: (request: ToolCall) => Promise<CallToolResult>;
}[] = [
  {
    contract: startRun,
    tool: {
      name: "run_start",
      description: "Starts a run of an agent and returns at once with its runId; see run_get.",
      inputSchema: schemaOf(StartInput),
    },
    call: (request) =>
      checked(StartInput, request, async ({ agent, input, session }) => {
        const run = { agent, input, via: "mcp", ...sessionOf(session) };
        const follow = await startAgentRun(request.parts, request.requester, run);
        await untilKnown(follow);
        return dataResult({ runId: follow.runId });
      }),
  },
  {
    contract: getRun,
    tool: {
      name: "run_get",
      description:
        "Returns the progress of a run, what it waits for, and its answer when it has one.",
      inputSchema: schemaOf(GetInput),
      annotations: { readOnlyHint: true },
    },
    call: (request) =>
      checked(GetInput, request, async ({ runId, waitSeconds }) => {
        const full = fullRunId(request.requester.caller, runId);
        if (waitSeconds > 0) await untilEnd(request, full, waitSeconds * 1_000);
        const { run } = await request.requester.ask(getRun, { runId: full });
        return dataResult(shortRun(run));
      }),
  },
  {
    contract: requestCancel,
    tool: {
      name: "run_cancel",
      description: "Cancels a run.",
      inputSchema: schemaOf(CancelInput),
    },
    call: (request) =>
      checked(CancelInput, request, async ({ runId, reason }) => {
        const full = fullRunId(request.requester.caller, runId);
        const about = { runId: full, ...(reason !== undefined && reason !== "" && { reason }) };
        return dataResult(await request.requester.ask(requestCancel, about));
      }),
  },
];

export function sessionOf(session: string | undefined): { session?: string } {
  return session === undefined ? {} : { session: sessionKeyOf("mcp", session) };
}

/** Reads the arguments; the model receives an error for arguments that do not fit. */
export async function checked<S extends z.ZodType, A>(
  schema: S,
  request: ToolCall,
  call: (args: z.output<S>) => Promise<A>,
): Promise<A | CallToolResult> {
  const parsed = schema.safeParse(request.args);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join(".")}: ${message}`,
    );
    return errorResult("invalid_arguments", problems.join("; "));
  }
  return call(parsed.data).catch((error: unknown) => failedCall(error, request.onFault));
}

/** Waits for the first event of the run, so that the next request finds it, or some seconds if all runners are busy. Then stops following. */
export async function untilKnown(follow: RunFollow): Promise<void> {
  const timer = setTimeout(() => follow.stop(), KNOWN_WITHIN_MS);
  await follow.items.next().finally(() => clearTimeout(timer));
  follow.stop();
}

/**
 * Waits until the run has ended, waits for a person, or the time is over. The caller checks afterwards whether the requester
 * may see the run.
 */
async function untilEnd(
  { parts, requester, context }: ToolCall,
  runId: string,
  ms: number,
): Promise<void> {
  await requester.ask(getRun, { runId });
  const follow = followRun(parts, requester, { runId, history: true });
  const stop = (): void => follow.stop();
  const timer = setTimeout(stop, ms);
  context.mcpReq.signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const item of follow.items) {
      if (item.kind !== "event" || item.name !== "waiting") continue;
      const { run } = await requester.ask(getRun, { runId });
      if (run.waits?.some(needsPerson) === true) return;
    }
  } finally {
    clearTimeout(timer);
    context.mcpReq.signal.removeEventListener("abort", stop);
    stop();
  }
}

function shortRun(run: RunDetail): Record<string, unknown> {
  const { runId, agent, status, output, failure, usage, waits = [] } = run;
  const waitsFor = waits.map((wait) => describeWait(runId, wait));
  return { runId, agent, status, output, failure, usage, ...(waits.length > 0 && { waitsFor }) };
}

function dataResult(data: Record<string, unknown>): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data };
}

function schemaOf(schema: z.ZodType): Tool["inputSchema"] {
  return z.toJSONSchema(schema, { io: "input" }) as Tool["inputSchema"]; // The schemas above are objects.
}

import { RunAgentInputSchema } from "@ag-ui/core/schemas";
import type { Message, RunAgentInput } from "@ag-ui/core";
import { checkCounted } from "@switchyard/bus/bounded-json";
import { approveCall, denyCall } from "@switchyard/contracts/policy/approvals";
import { fullRunId } from "@switchyard/contracts/ids";
import { answerQuestion, type RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import type { Context } from "hono";
import { z } from "zod";
import { followRun, type FollowParts, type RunFollow } from "../agent-runs/follow-run.ts";
import { sessionKeyOf, startAgentRun } from "../agent-runs/start-run.ts";
import { fileOfDataUrl, inlineFile } from "../agent-runs/inline-file.ts";
import { storeInput, type InputPiece } from "../agent-runs/store-input.ts";
import { streamRun } from "../agent-runs/stream-run.ts";
import { requesterOf, type Requester } from "../identity/requester.ts";
import { openSlots } from "../identity/slots.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";
import { AgUiRenderer, interruptOf } from "./ag-ui-renderer.ts";

const BODY_LIMITS = bodyLimits(4 * 1024 * 1024);
const STREAMS = 200;
const Decision = z.looseObject({
  approved: z.boolean(),
  reason: z.string().max(500).optional(),
});

/**
 * `POST /ag-ui/{agent}`: AG-UI 1.0. A thread is a session, the client's run id is one run however often it is sent, and a run
 * that waits for a person ends the stream with interrupts, which the next request answers. A closed connection cancels nothing.
 */
export function createAgUiEndpoint(
  parts: FollowParts,
): (c: Context<GatewayEnv>) => Promise<Response> {
  const slots = openSlots("AG-UI runs", STREAMS);
  return async (c) => {
    const body = await readBody(c, BODY_LIMITS);
    const parsed = checkCounted(RunAgentInputSchema, body.value, body);
    const [issue] = parsed.error?.issues ?? [];
    if (!parsed.success)
      throw invalid(`${issue?.path.join(".") ?? "(body)"}: ${issue?.message ?? "is not valid"}`);
    // The schema checks exactly this type.
    const input = parsed.data as RunAgentInput;
    const requester = requesterOf(c, parts);
    const release = slots.take(requester.caller);
    try {
      const agent = c.req.param("agent") ?? "";
      const follow =
        input.resume === undefined || input.resume.length === 0
          ? await begin(parts, requester, { agent, input })
          : await resume(parts, requester, { agent, input });
      return streamRun(c.env.outgoing, follow, {
        rendererOf: (stream) => new AgUiRenderer(stream, follow.runId, input),
        onEnd: release,
      });
    } catch (error) {
      release();
      throw error;
    }
  };
}

async function begin(
  parts: FollowParts,
  requester: Requester,
  { agent, input }: { agent: string; input: RunAgentInput },
): Promise<RunFollow> {
  const { threadId, runId, messages } = input;
  const last = messages.at(-1);
  const pieces = last?.role === "user" ? piecesOf(last) : [];
  if (!pieces.some((piece) => !("text" in piece) || piece.text !== ""))
    throw invalid("messages: the last one must be the user's, with text or a file");
  return startAgentRun(parts, requester, {
    agent,
    input: await storeInput(requester, pieces),
    session: sessionKeyOf("ag-ui", threadId),
    repeatKey: `${agent} ${threadId} ${runId}`,
    via: "ag-ui",
  });
}

/** Answers the interrupts of the run. All open ones have to be answered at once, as the protocol requires. */
async function resume(
  parts: FollowParts,
  requester: Requester,
  { agent, input }: { agent: string; input: RunAgentInput },
): Promise<RunFollow> {
  const answers = input.resume ?? [];
  const [name = ""] = (answers[0]?.interruptId ?? "").split("/");
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) throw invalid("resume: unknown interruptId");
  const runId = fullRunId(requester.caller, name);
  const { run } = await requester.ask(getRun, { runId });
  if (run.agent !== agent) throw invalid("resume: the interrupts are those of another agent");
  const open = (run.waits ?? []).filter((wait) => interruptOf(runId, wait) !== null);
  const given = open.map((wait) => {
    const id = interruptOf(runId, wait)?.id;
    const answer = answers.find(({ interruptId }) => interruptId === id);
    if (answer === undefined) throw invalid(`resume: the interrupt ${id ?? ""} is not answered`);
    return { wait, answer };
  });
  const follow = followRun(parts, requester, { runId, history: open.length === 0 });
  try {
    for (const { wait, answer } of given) await give(requester, { runId, wait, answer });
  } catch (error) {
    follow.stop();
    throw error;
  }
  return follow;
}

async function give(
  requester: Requester,
  about: { runId: string; wait: RunWait; answer: { status: string; payload?: unknown } },
): Promise<void> {
  const { runId, wait, answer } = about;
  const { approvalId: id } = wait;
  if (id === undefined) {
    const said = answer.status === "cancelled" ? "The person gave no answer." : answer.payload;
    const value = z.looseObject({ answer: z.unknown() }).safeParse(said).data?.answer ?? said;
    const given = typeof value === "string" ? value : JSON.stringify(value ?? "");
    await requester.ask(answerQuestion, { runId, callId: wait.callId, answer: given });
    return;
  }
  const decision = Decision.safeParse(answer.payload);
  if (answer.status !== "cancelled" && !decision.success)
    throw invalid(`resume: an approval's payload is {"approved": true} or {"approved": false}`);
  const { approved = false, reason } = decision.data ?? {};
  const why = reason === undefined || reason === "" ? {} : { reason };
  await requester.ask(approved ? approveCall : denyCall, { id, ...why });
}

function piecesOf({ content }: Extract<Message, { role: "user" }>): InputPiece[] {
  if (typeof content === "string") return [{ text: content }];
  return content.map((part) => {
    if (part.type === "text") return { text: part.text };
    const { type, value, mimeType: mediaType } = part.source;
    if (type === "file") return { ref: value };
    const about = { name: part.type, mediaType };
    const piece = type === "data" ? inlineFile(value, about) : fileOfDataUrl(value, part.type);
    if (piece !== null) return piece;
    throw invalid(
      `messages: the source of the ${part.type} cannot be read: send it in base64, and no web address, since nothing is loaded from there`,
    );
  });
}

function invalid(detail: string): Problem {
  return new Problem({ status: 400, code: "invalid_request", detail });
}

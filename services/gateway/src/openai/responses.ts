import { randomUUID } from "node:crypto";
import { approveCall, denyCall } from "@switchyard/contracts/policy/approvals";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId } from "@switchyard/contracts/ids";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, requestCancel, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import type { Context } from "hono";
import { followRun, type FollowParts, type RunFollow } from "../agent-runs/follow-run.ts";
import { refusedStart } from "../agent-runs/accepted-runs.ts";
import { sessionKeyOf, startAgentRun } from "../agent-runs/start-run.ts";
import { storeInput, textOfPieces, type InputPiece } from "../agent-runs/store-input.ts";
import { streamRun } from "../agent-runs/stream-run.ts";
import type { Requester } from "../identity/requester.ts";
import type { Slots } from "../identity/slots.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import type { Served } from "./chat-completions.ts";
import { inputOf, type ChatMessage } from "./conversation.ts";
import { invalid } from "./openai-errors.ts";
import { isUnstored, labelsOf, metadataIn, UNSTORED } from "./options.ts";
import { outputSchemaOf } from "./output-format.ts";
import { queuedResponse, responseOf, type ResponseFacts } from "./response-shape.ts";
import { ResponseRenderer } from "./response-renderer.ts";
import {
  ApprovalAnswer,
  readResponses,
  settingsOf,
  type ResponsesRequest,
} from "./responses-request.ts";

/**
 * `POST /v1/responses`: starts a run, or with `previous_response_id` continues its session or answers the wait of that
 * response's run. A closed connection cancels nothing: `GET /v1/responses/{id}` resumes.
 */
export async function serveResponses(c: Context<GatewayEnv>, served: Served): Promise<Response> {
  const { parts, requester, release } = served;
  const request = readResponses(served.body);
  const previous = await previousOf(requester, request);
  const { follow, from } =
    (previous === null ? null : await goOn(parts, requester, { previous, request })) ??
    (await begin(c, served, { previous, request }));
  const metadata = labelsOf({ metadata: request.metadata });
  const isBackground = request.background === true;
  const asked = { createdAt: Math.floor(Date.now() / 1_000), model: request.model };
  const facts: ResponseFacts = {
    ...asked,
    id: idOf(follow.runId, from, isBackground ? asked : null),
    runId: follow.runId,
    previousId: request.previous_response_id ?? null,
    isBackground,
    isStored: request.store !== false,
    metadata,
    from,
  };
  if (request.stream === true)
    return streamRun(c.env.outgoing, follow, {
      rendererOf: (stream) => new ResponseRenderer(facts, stream),
      onEnd: release,
    });
  const renderer = new ResponseRenderer(facts, null);
  try {
    if (facts.isBackground) return c.json(renderer.response());
    for await (const item of follow.items) if (renderer.item(item)) break;
    return c.json(renderer.response());
  } finally {
    follow.stop();
    release();
  }
}

/** `GET /v1/responses/{id}`; with `stream=true` the events are sent from `starting_after` on. */
export async function getResponse(
  c: Context<GatewayEnv>,
  { parts, requester, slots }: { parts: FollowParts; requester: Requester; slots: Slots },
): Promise<Response> {
  const named = nameIn(requester, c.req.param("id") ?? "");
  const run = await runOrQueued(requester, named);
  const facts = factsOf(named, run);
  if (c.req.query("stream") !== "true")
    return c.json(
      run === null
        ? queuedResponse(facts, await refusedStart(parts.bus, named.runId))
        : responseOf(facts, run),
    );
  const after = Number(c.req.query("starting_after") ?? -1);
  if (!Number.isSafeInteger(after)) throw invalid("starting_after", "is a sequence_number");
  const release = slots.take(requester.caller);
  const follow = followRun(parts, requester, { runId: named.runId, history: true });
  return streamRun(c.env.outgoing, follow, {
    rendererOf: (stream) => new ResponseRenderer(facts, stream, after),
    onEnd: release,
  });
}

export async function cancelResponse(
  c: Context<GatewayEnv>,
  requester: Requester,
): Promise<Response> {
  const named = nameIn(requester, c.req.param("id") ?? "");
  const run = await runOrQueued(requester, named);
  const reason = "cancelled by the client of the Responses API";
  await requester.ask(requestCancel, { runId: named.runId, reason });
  const facts = factsOf(named, run);
  const hasEnded = run !== null && run.status !== "running" && run.status !== "waiting";
  return c.json({
    ...(run === null ? queuedResponse(facts, null) : responseOf(facts, run)),
    ...(!hasEnded && { status: "cancelled" }),
  });
}

interface Turn {
  readonly follow: RunFollow;
  /** Events of the run up to this time were sent by earlier responses. */
  readonly from: number;
}

async function begin(
  c: Context<GatewayEnv>,
  { parts, requester }: Served,
  { previous, request }: { previous: Response_ | null; request: ResponsesRequest },
): Promise<Turn> {
  const { input, instructions, conversation, model: agent, text } = request;
  const messages: ChatMessage[] =
    typeof input === "string" ? [{ role: "user", content: input }] : input.filter(isMessage);
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  const earlier = previous?.run.session?.key;
  const system =
    typeof instructions === "string" ? [{ role: "system", content: instructions }] : [];
  const repeatKey = c.req.header("idempotency-key");
  const own = `response ${repeatKey ?? randomUUID()}`;
  // A response that is not stored is continued by no other, so it needs no session of its own.
  const isAlone = request.store === false && named === undefined;
  const session = earlier ?? (isAlone ? undefined : sessionKeyOf("openai", named ?? own));
  const run = {
    agent,
    // All of the input is new, also after an earlier response.
    input: await storeInput(requester, inputOf([...system, ...messages], false)),
    session,
    output: formOf(text),
    settings: settingsOf(request),
    labels: { ...labelsOf(request), ...(request.store === false && UNSTORED) },
    repeatKey,
    via: "openai",
  };
  return { follow: await startAgentRun(parts, requester, run), from: 0 };
}

function formOf(text: ResponsesRequest["text"]) {
  const format = text?.format;
  return outputSchemaOf(format && { type: format.type, schema: format.schema }, {
    at: "text.format",
    schemaAt: "text.format.schema",
  });
}

function isMessage(item: object): item is ChatMessage {
  return "role" in item;
}

/** Answers the wait of the previous response's run; returns null when it has none, so that the request is a new message. */
async function goOn(
  parts: FollowParts,
  requester: Requester,
  { previous, request }: { previous: Response_; request: ResponsesRequest },
): Promise<Turn | null> {
  const { runId, waits = [] } = previous.run;
  const items = typeof request.input === "string" ? [] : request.input;
  const approvals = items.filter((item) => item["type"] === "mcp_approval_response");
  const question = waits.find(({ reason }) => reason === "question");
  if (approvals.length === 0 && question === undefined) return null;
  const follow = followRun(parts, requester, { runId });
  try {
    for (const item of approvals) {
      const { approval_request_id: id, approve, reason } = ApprovalAnswer.parse(item);
      const why = typeof reason === "string" && reason !== "" ? { reason } : {};
      if (!waits.some(({ approvalId }) => approvalId === id))
        throw invalid("input", `the previous response does not wait for ${cutText(id, 100)}`);
      await requester.ask(approve ? approveCall : denyCall, { id, ...why });
    }
    if (approvals.length === 0 && question !== undefined) {
      const { callId } = question;
      const messages = items.filter(isMessage);
      const answer =
        typeof request.input === "string"
          ? request.input
          : answerText(inputOf(messages.slice(-1), true));
      await requester.ask(answerQuestion, { runId, callId, answer });
    }
  } catch (error) {
    follow.stop();
    throw error;
  }
  return { follow, from: Date.now() };
}

/** Returns the answer to a run's question, which is a text. Throws a Problem for a file. */
function answerText(pieces: readonly InputPiece[]): string {
  if (pieces.every((piece) => "text" in piece)) return textOfPieces(pieces);
  throw invalid("input", "the run asks a question, whose answer is a text: send files afterwards");
}

interface Response_ {
  readonly run: RunDetail;
  readonly from: number;
}

/** The model that a background request named, and the time in seconds since 1970. */
type Asked = Pick<ResponseFacts, "createdAt" | "model">;

interface Named extends Pick<ResponseFacts, "id" | "runId" | "from"> {
  readonly asked: Asked | null;
}

const ID =
  /^resp_([A-Za-z0-9-]{1,64})(?:_(\d{1,15}))?(?:_q(\d{1,12})_([A-Za-z0-9][A-Za-z0-9_-]{0,63}))?$/;
/** The longest time that a command waits for a runner. */
const QUEUED_FOR_S = 86_400;

/**
 * A response is a run, or the part of a run from a certain time on. The id of a background response contains the request's
 * model and time: until a runner claims the run, no service has a record of it.
 */
function idOf(runId: string, from: number, asked: Asked | null): string {
  const name = runId.slice(runId.indexOf("~") + 1);
  const queued = asked === null ? "" : `_q${asked.createdAt}_${asked.model}`;
  return `resp_${name}${from === 0 ? "" : `_${from}`}${queued}`;
}

function nameIn(requester: Requester, id: string): Named {
  const [, name, from = "0", createdAt, model] = ID.exec(id) ?? [];
  if (name === undefined) throw unknownResponse(id);
  const asked =
    createdAt === undefined || model === undefined ? null : { createdAt: Number(createdAt), model };
  return { id, runId: fullRunId(requester.caller, name), from: Number(from), asked };
}

async function runOf(requester: Requester, id: string): Promise<Response_> {
  const { runId, from } = nameIn(requester, id);
  return { run: await storedRun(requester, { id, runId }), from };
}

/** Throws a Problem for the run of a response that its client did not want to be stored. */
async function storedRun(
  requester: Requester,
  { id, runId }: Pick<Named, "id" | "runId">,
): Promise<RunDetail> {
  const { run } = await requester.ask(getRun, { runId });
  if (isUnstored(run.labels)) throw unknownResponse(id);
  return run;
}

/** Returns null for a run that waits for a runner. */
async function runOrQueued(
  requester: Requester,
  { id, runId, asked }: Named,
): Promise<RunDetail | null> {
  try {
    return await storedRun(requester, { id, runId });
  } catch (error) {
    const isUnknown = error instanceof ServiceError && error.code === "unknown_run";
    if (!isUnknown || asked === null) throw error;
    const secondsAgo = Date.now() / 1_000 - asked.createdAt;
    if (secondsAgo > QUEUED_FOR_S) throw error;
    return null;
  }
}

async function previousOf(
  requester: Requester,
  { previous_response_id: id }: ResponsesRequest,
): Promise<Response_ | null> {
  return typeof id === "string" ? runOf(requester, id) : null;
}

function factsOf({ id, runId, from, asked }: Named, run: RunDetail | null): ResponseFacts {
  const createdAt = run === null ? 0 : Math.floor(Date.parse(run.createdAt) / 1_000);
  return {
    id,
    runId,
    model: asked?.model ?? run?.agent ?? "",
    createdAt: asked?.createdAt ?? createdAt,
    previousId: null,
    isBackground: asked !== null,
    isStored: true,
    metadata: run === null ? {} : metadataIn(run.labels),
    from,
  };
}

function unknownResponse(id: string): Problem {
  const detail = `there is no response ${cutText(id, 100)}`;
  return new Problem({ status: 404, code: "unknown_response", detail });
}

import { fileOfBytes } from "../agent-runs/inline-file.ts";
import { textOfPieces, type InputPiece } from "../agent-runs/store-input.ts";
import { Role, TaskState, type Artifact, type Message, type Part, type Task } from "@a2a-js/sdk";
import { ContentTypeNotSupportedError } from "@a2a-js/sdk/errors";
import { FILE_TYPES, isTextType } from "@switchyard/contracts/agent-runner/content-parts";
import { cutText } from "@switchyard/contracts/cut-text";
import type { RunWait, WaitReason } from "@switchyard/contracts/agent-runner/run-waits";
import type { RunDetail, RunSummary } from "@switchyard/contracts/agent-runner/runs";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import { digestOf } from "../agent-runs/start-run.ts";
import { dataPart, partsOfAnswer, textPart } from "./answer-parts.ts";

/** The label with the conversation's id, as the client named it. */
export const CONTEXT = "a2a-context";
/** The label with the id of the message that started the run. */
export const MESSAGE = "a2a-message";
/** The label of a run whose client accepts no JSON. */
const PLAIN = "a2a-plain";
/** The id of the task's one artifact; a later update replaces or extends the earlier text. */
export const ANSWER = "answer";

export function taskIdOf(runId: string): string {
  return runId.slice(runId.indexOf("~") + 1);
}

/** The labels of a run that a message starts. */
export function labelsFor({
  contextId,
  messageId,
  acceptedModes = [],
}: {
  readonly contextId: string;
  readonly messageId: string;
  readonly acceptedModes?: readonly string[] | undefined;
}) {
  const takesJson =
    acceptedModes.length === 0 ||
    acceptedModes.some((mode) => /^(?:application\/(?:json|\*)|\*\/\*)(?:\s*;|$)/i.test(mode));
  return { [CONTEXT]: contextId, [MESSAGE]: messageId, ...(!takesJson && { [PLAIN]: "yes" }) };
}

export function isPlain({ labels }: Pick<RunSummary, "labels">): boolean {
  return labels[PLAIN] === "yes";
}

export function taskOf(run: RunSummary | RunDetail): Task {
  const { runId, labels, updatedAt } = run;
  const contextId = labels[CONTEXT] ?? taskIdOf(runId);
  const detail = "waits" in run || "output" in run ? run : null;
  const waits = (detail?.waits ?? []).filter(needsPerson);
  const said =
    detail?.failure === undefined || detail.failure === null
      ? waits.map((wait) => describeWait(runId, wait)).join("; ")
      : `${detail.failure.code}: ${detail.failure.message}`;
  const task = { id: taskIdOf(runId), contextId };
  const reasons = detail?.waits?.map(({ reason }) => reason) ?? run.waitsFor ?? [];
  return {
    ...task,
    status: {
      state: stateOf(run, reasons),
      message: said === "" ? undefined : agentMessage(task, said, waits),
      timestamp: updatedAt,
    },
    artifacts:
      typeof detail?.output === "string"
        ? [artifactOf(partsOfAnswer(detail.output, isPlain(run)))]
        : [],
    history: [],
    metadata: { runId },
  };
}

export function isOver({ status }: Pick<RunDetail, "status">): boolean {
  return status !== "queued" && status !== "running" && status !== "waiting";
}

/** Returns the task state for a wait on people: an approval needs an authorized person, a question is for the client. */
export function waitState(reasons: readonly WaitReason[]): TaskState {
  return reasons.includes("question")
    ? TaskState.TASK_STATE_INPUT_REQUIRED
    : TaskState.TASK_STATE_AUTH_REQUIRED;
}

function stateOf({ status }: Pick<RunDetail, "status">, reasons: readonly WaitReason[]): TaskState {
  switch (status) {
    case "queued":
      return TaskState.TASK_STATE_SUBMITTED;
    case "rejected":
      return TaskState.TASK_STATE_REJECTED;
    case "succeeded":
      return TaskState.TASK_STATE_COMPLETED;
    case "cancelled":
      return TaskState.TASK_STATE_CANCELED;
    case "failed":
    case "dead":
      return TaskState.TASK_STATE_FAILED;
    default:
      return reasons.some((reason) => needsPerson({ reason }))
        ? waitState(reasons)
        : TaskState.TASK_STATE_WORKING;
  }
}

/** The message contains the approvals as data, so that a program can answer `{"approvalId": …, "approve": true}`. */
export function agentMessage(
  task: { readonly id: string; readonly contextId: string },
  text: string,
  waits: readonly RunWait[] = [],
): Message {
  const approvals = waits.flatMap(({ approvalId, tool }) =>
    approvalId === undefined ? [] : [dataPart({ approvalId, tool })],
  );
  // The id depends on the content alone, so that every reader sees the same one.
  const digest = digestOf(JSON.stringify([text, waits.map(({ callId }) => callId)]));
  return {
    messageId: `${task.id}-${digest.slice(0, 16)}`,
    contextId: task.contextId,
    taskId: task.id,
    role: Role.ROLE_AGENT,
    parts: [textPart(text), ...approvals],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

export function artifactOf(parts: Part[]): Artifact {
  return {
    artifactId: ANSWER,
    name: ANSWER,
    description: "",
    parts,
    metadata: undefined,
    extensions: [],
  };
}

/** Returns the pieces of a message; data becomes its JSON. Throws for a file that is stored elsewhere. */
export function piecesOf({ parts }: Message): InputPiece[] {
  return parts.map(({ content, filename, mediaType }) => {
    switch (content?.$case) {
      case "text":
        return { text: content.value };
      case "data":
        return { text: JSON.stringify(content.value) };
      case "raw":
        if (!isAccepted(mediaType))
          throw new ContentTypeNotSupportedError({
            message: `a file of the type ${cutText(mediaType, 127)} is not accepted: send text, an image, a PDF or audio`,
          });
        return fileOfBytes(content.value, { name: filename, mediaType });
      default:
        throw new ContentTypeNotSupportedError({
          message:
            "a part names a web address, and nothing is loaded from there: send the file as raw bytes",
        });
    }
  });
}

/** True for a type that a file may be declared as: one of the accepted types, or none. */
function isAccepted(mediaType: string): boolean {
  const type = mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "" || type === "application/octet-stream" || isTextType(type)) return true;
  return FILE_TYPES.some((accepted) => accepted === type);
}

/** The text of a message for a task that is under way. */
export function textOf(message: Message): string {
  const pieces = piecesOf(message);
  if (pieces.every((piece) => "text" in piece)) return textOfPieces(pieces);
  throw new ContentTypeNotSupportedError({
    message: "a task that is under way accepts text: send files with a new message",
  });
}

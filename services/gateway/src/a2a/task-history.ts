import { Role, type Message, type Part } from "@a2a-js/sdk";
import type { Bus } from "@switchyard/bus/bus";
import { storedRunEvents, type CallRunEvents } from "@switchyard/service/read-run-events";
import { ContentParts } from "@switchyard/contracts/agent-runner/content-parts";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import type { RunDetail } from "@switchyard/contracts/agent-runner/runs";
import type { Requester } from "../identity/requester.ts";
import { readRunEvent } from "../agent-runs/run-event.ts";
import { dataPart, textPart } from "./answer-parts.ts";
import { agentMessage, CONTEXT, MESSAGE, taskIdOf } from "./task.ts";

/**
 * Returns the messages of a task, the oldest first: the client's messages, and the questions that the client has answered. An
 * open question is in the task's status. Messages to a run that is under way are read from its events, which contain the first
 * 1 KiB of a text. Rejects with a ServiceError.
 */
export async function historyOf(
  bus: Bus,
  requester: Requester,
  run: RunDetail,
): Promise<Message[]> {
  const { runId, labels, input } = run;
  const task = { id: taskIdOf(runId), contextId: labels[CONTEXT] ?? taskIdOf(runId) };
  const history = [clientMessage(task, labels[MESSAGE] ?? `${task.id}-input`, input)];
  const fromJournal: CallRunEvents = (request) => requester.ask(listRunEvents, request);
  const questions = new Map<string, string>();
  let seen = 0;
  for await (const stored of storedRunEvents(bus, { runId, fromJournal })) {
    const event = readRunEvent(stored);
    // The stream may have an event twice.
    if (event === null || !("seq" in event.facts) || event.facts.seq <= seen) continue;
    seen = event.facts.seq;
    const messageId = `${task.id}-${seen}`;
    if (event.name === "steered") history.push(clientMessage(task, messageId, event.facts.preview));
    if (event.name === "question-requested")
      questions.set(event.facts.callId, event.facts.question);
    if (event.name !== "tool-completed") continue;
    const question = questions.get(event.facts.callId);
    if (question === undefined) continue;
    history.push(agentMessage(task, question), clientMessage(task, messageId, event.facts.preview));
  }
  return history;
}

/** Returns a message as its client sent it; of several parts, the text that the agent received. */
export function clientMessage(
  task: { readonly id: string; readonly contextId: string },
  messageId: string,
  said: RunDetail["input"],
): Message {
  return {
    messageId,
    contextId: task.contextId,
    taskId: task.id,
    role: Role.ROLE_USER,
    parts: partsOf(said),
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

/** Returns a file as a data part with its name, type and size: its bytes are for the agent alone. */
function partsOf(said: RunDetail["input"]): Part[] {
  if (typeof said === "string") return [textPart(said)];
  const parts = ContentParts.safeParse(said);
  if (!parts.success) return [dataPart(said)];
  return parts.data.map((part) => {
    if (part.type === "text") return textPart(part.text);
    const { name, mediaType, sizeBytes } = part;
    return dataPart({ file: { name, mediaType, sizeBytes } });
  });
}

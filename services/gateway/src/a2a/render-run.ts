import { TaskState, type Message, type Part, type StreamResponse, type Task } from "@a2a-js/sdk";
import type { RunFollow, RunItem } from "../agent-runs/follow-run.ts";
import type { RunEnd, RunEvent } from "../agent-runs/run-event.ts";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import { mayBeJson, partsOfAnswer, textPart } from "./answer-parts.ts";
import { agentMessage, artifactOf, taskIdOf, waitState } from "./task.ts";

/** A run as one client follows it. */
export interface FollowedTask {
  readonly follow: RunFollow;
  readonly contextId: string;
  /** The messages so far, at most as many as the client requested. */
  readonly history: Message[];
  /** The number of messages that the client requested; missing: none. */
  readonly historyLength?: number | undefined;
  /** The client accepts no JSON: the answer is sent as text, whatever its form. */
  readonly isPlain: boolean;
}

/** Yields the events of a task, the task itself first. Ends with the run, or when the run asks its client a question. */
export async function* renderRun(
  { follow, contextId, history, isPlain }: FollowedTask,
  first?: Task,
): AsyncGenerator<StreamResponse, void, undefined> {
  const task = { id: taskIdOf(follow.runId), contextId };
  const renderer = new TaskRenderer(follow.runId, task, isPlain);
  const submitted = {
    state: TaskState.TASK_STATE_SUBMITTED,
    message: undefined,
    timestamp: new Date().toISOString(),
  };
  const metadata = { runId: follow.runId };
  const begun = { ...task, status: submitted, artifacts: [], history, metadata };
  try {
    yield { payload: { $case: "task", value: first ?? begun } };
    for await (const item of follow.items) {
      yield* renderer.render(item);
      if (renderer.asksClient) return;
    }
  } finally {
    follow.stop();
  }
}

class TaskRenderer {
  readonly #runId: string;
  readonly #task: { readonly id: string; readonly contextId: string };
  #step = 0;
  #isNew = true;
  #isHeld = false;
  asksClient = false;

  /** The time of the latest event: a client that follows later gets the same time. */
  #at = "";

  readonly #isPlain: boolean;

  constructor(
    runId: string,
    task: { readonly id: string; readonly contextId: string },
    isPlain: boolean,
  ) {
    this.#runId = runId;
    this.#task = task;
    this.#isPlain = isPlain;
  }

  render(item: RunItem): StreamResponse[] {
    if (item.kind === "event") this.#at = item.facts.at;
    if (item.kind === "end") this.#at = item.at;
    switch (item.kind) {
      case "text": {
        // The text of a later step replaces the text before it: the last step's text is the answer.
        const append = item.step === this.#step && !this.#isNew;
        this.#step = item.step;
        this.#isNew = false;
        if (!append) this.#isHeld = !this.#isPlain && mayBeJson(item.text);
        if (this.#isHeld) return [];
        return [this.#artifact([textPart(item.text)], { append, lastChunk: false })];
      }
      case "text-void":
        this.#isNew = true;
        return [];
      case "end":
        return this.#end(item);
      default:
        return this.#event(item);
    }
  }

  #event(event: RunEvent): StreamResponse[] {
    switch (event.name) {
      case "started":
      case "woken":
      case "resumed":
        return [this.#status(TaskState.TASK_STATE_WORKING)];
      case "tool-requested":
      case "tool-completed":
      case "tool-denied":
      case "tool-failed": {
        const { tool, callId } = event.facts;
        const what = event.name.slice("tool-".length);
        return [this.#status(TaskState.TASK_STATE_WORKING, { metadata: { tool, callId, what } })];
      }
      case "child-started":
      case "child-ended": {
        const { callId, childRunId } = event.facts;
        const metadata = { callId, childRunId, what: event.name };
        return [this.#status(TaskState.TASK_STATE_WORKING, { metadata })];
      }
      case "waiting": {
        const waits = event.facts.waits.filter(needsPerson);
        if (waits.length === 0) return [];
        const state = waitState(waits.map(({ reason }) => reason));
        this.asksClient = state === TaskState.TASK_STATE_INPUT_REQUIRED;
        const said = waits.map((wait) => describeWait(this.#runId, wait)).join("; ");
        return [this.#status(state, { message: agentMessage(this.#task, said, waits) })];
      }
      default:
        return [];
    }
  }

  #end({ status, output, failure, usage }: RunEnd): StreamResponse[] {
    if (failure === null)
      return [
        this.#artifact(partsOfAnswer(output, this.#isPlain), { append: false, lastChunk: true }),
        this.#status(TaskState.TASK_STATE_COMPLETED, usage === null ? {} : { metadata: { usage } }),
      ];
    const message = agentMessage(this.#task, `${failure.code}: ${failure.message}`);
    const states = {
      cancelled: TaskState.TASK_STATE_CANCELED,
      rejected: TaskState.TASK_STATE_REJECTED,
    } as const;
    const state =
      status === "cancelled" || status === "rejected"
        ? states[status]
        : TaskState.TASK_STATE_FAILED;
    return [this.#status(state, { message })];
  }

  #artifact(parts: Part[], how: { append: boolean; lastChunk: boolean }): StreamResponse {
    const { id: taskId, contextId } = this.#task;
    const value = { taskId, contextId, artifact: artifactOf(parts), ...how, metadata: undefined };
    return { payload: { $case: "artifactUpdate", value } };
  }

  #status(
    state: TaskState,
    more: {
      message?: ReturnType<typeof agentMessage>;
      metadata?: Record<string, unknown>;
    } = {},
  ): StreamResponse {
    const { id: taskId, contextId } = this.#task;
    const status = { state, message: more.message, timestamp: this.#at };
    return {
      payload: {
        $case: "statusUpdate",
        value: { taskId, contextId, status, metadata: more.metadata },
      },
    };
  }
}

import {
  TaskState,
  type AgentCard,
  type CancelTaskRequest,
  type GetTaskRequest,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
} from "@a2a-js/sdk";
import {
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler } from "@a2a-js/sdk/server";
import { publishCommand } from "@switchyard/bus/publish";
import { approveCall, denyCall } from "@switchyard/contracts/policy/approvals";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId, RunId } from "@switchyard/contracts/ids";
import { steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import {
  getRun,
  listRuns,
  requestCancel,
  type RunDetail,
} from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";
import { followRun, type FollowParts } from "../agent-runs/follow-run.ts";
import { needsPerson } from "../agent-runs/run-wait.ts";
import { digestOf, sessionKeyOf, startAgentRun } from "../agent-runs/start-run.ts";
import { storeInput } from "../agent-runs/store-input.ts";
import { checkRights, type Requester } from "../identity/requester.ts";
import { clientMessage, historyOf } from "./task-history.ts";
import { CONTEXT, isOver, isPlain, labelsFor, piecesOf, taskIdOf, taskOf, textOf } from "./task.ts";
import { renderRun, type FollowedTask } from "./render-run.ts";

const Decision = z.looseObject({
  approvalId: z.string(),
  approve: z.boolean(),
  reason: z.string().max(500).optional(),
});

/** Serves one agent to one requester. Tasks are runs, so that every gateway can find them and none stores any. */
export class RunHandler implements A2ARequestHandler {
  readonly #parts: FollowParts;
  readonly #requester: Requester;
  readonly #card: AgentCard;
  readonly #agent: string;

  constructor(
    parts: FollowParts,
    requester: Requester,
    { agent, card }: { agent: string; card: AgentCard },
  ) {
    this.#parts = parts;
    this.#requester = requester;
    this.#agent = agent;
    this.#card = card;
  }

  getAgentCard(): Promise<AgentCard> {
    return Promise.resolve(this.#card);
  }

  async sendMessage(request: SendMessageRequest): Promise<Task> {
    const followed = await this.#begin(request);
    const { follow } = followed;
    if (request.configuration?.returnImmediately === true) {
      const timer = setTimeout(() => follow.stop(), 5_000);
      const first = await follow.items.next().finally(() => clearTimeout(timer));
      follow.stop();
      if (first.value?.kind !== "end") return this.#now(followed);
    }
    let refused: Task["status"];
    for await (const { payload } of renderRun(followed)) {
      const status = payload?.$case === "statusUpdate" ? payload.value.status : undefined;
      if (status?.state === TaskState.TASK_STATE_REJECTED) refused = status;
      // The request returns here: a decision may take days, and another person may have to make it.
      if (status?.state === TaskState.TASK_STATE_AUTH_REQUIRED) break;
    }
    follow.stop();
    const task = await this.#now(followed);
    return refused === undefined ? task : { ...task, status: refused };
  }

  async *sendMessageStream(
    request: SendMessageRequest,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    yield* renderRun(await this.#begin(request));
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return this.#taskOf(await this.#run(id), historyLength);
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const run = await this.#run(id);
    if (run.status === "cancelled") return taskOf(run);
    if (isOver(run)) throw new TaskNotCancelableError({ message: `task ${id} has ended` });
    const follow = followRun(this.#parts, this.#requester, { runId: run.runId });
    const timer = setTimeout(() => follow.stop(), 5_000);
    try {
      await this.#requester.ask(requestCancel, { runId: run.runId, reason: "cancelled over A2A" });
      for await (const item of follow.items) if (item.kind === "end") break;
    } finally {
      clearTimeout(timer);
      follow.stop();
    }
    return taskOf(await this.#run(id));
  }

  async *resubscribe({
    id,
  }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const run = await this.#run(id);
    const follow = followRun(this.#parts, this.#requester, { runId: run.runId });
    try {
      const task = taskOf(await this.#run(id));
      if (isOver(run)) throw new UnsupportedOperationError({ message: `task ${id} has ended` });
      const { contextId, history } = task;
      yield* renderRun({ follow, contextId, history, isPlain: isPlain(run) }, task);
    } finally {
      follow.stop();
    }
  }

  /**
   * Lists the newest 200 runs of the agent that were started over this protocol, the last changed first. A page continues after
   * the task that its token names.
   */
  async listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    const { contextId, status, pageToken, pageSize = 50, historyLength } = request;
    const since = Date.parse(request.statusTimestampAfter ?? "1970-01-01T00:00:00Z");
    const { runs } = await this.#requester.ask(listRuns, { agent: this.#agent, limit: 200 });
    const own = runs.filter(
      ({ labels, requester, updatedAt }) =>
        labels["via"] === "a2a" &&
        requester === this.#requester.caller &&
        (contextId === "" || labels[CONTEXT] === contextId) &&
        Date.parse(updatedAt) >= since,
    );
    const tasks = own
      .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
      .map(taskOf)
      .filter(
        (task) => status === TaskState.TASK_STATE_UNSPECIFIED || task.status?.state === status,
      );
    const before = pageToken === "" ? -1 : tasks.findIndex(({ id }) => id === pageToken);
    if (pageToken !== "" && before < 0)
      throw malformed("pageToken", "is not one of these tasks any more");
    const shown = tasks.slice(before + 1, before + 1 + pageSize);
    const hasMore = before + 1 + shown.length < tasks.length;
    const nextPageToken = hasMore ? (shown.at(-1)?.id ?? "") : "";
    const isWhole = request.includeArtifacts === true || (historyLength ?? 0) > 0;
    const whole = isWhole ? await this.#wholeTasks(shown, historyLength) : shown;
    return { tasks: whole, nextPageToken, pageSize, totalSize: tasks.length };
  }

  /** Tasks are read one after the other, since a page may have a hundred. */
  async #wholeTasks(tasks: readonly Task[], historyLength: number | undefined): Promise<Task[]> {
    const whole: Task[] = [];
    for (const { id } of tasks) whole.push(await this.#taskOf(await this.#run(id), historyLength));
    return whole;
  }

  getAuthenticatedExtendedAgentCard(): Promise<never> {
    return Promise.reject(new ExtendedAgentCardNotConfiguredError());
  }

  createTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  getTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  listTaskPushNotificationConfigs(): Promise<never> {
    return noPush();
  }

  deleteTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  /** Starts a new run, or sends the message to the run that is under way. */
  async #begin({ message, configuration }: SendMessageRequest): Promise<FollowedTask> {
    if (message === undefined) throw malformed("message", "is missing");
    if (configuration?.taskPushNotificationConfig !== undefined)
      throw new PushNotificationNotSupportedError();
    const historyLength = configuration?.historyLength;
    if (message.taskId !== "") return this.#goOn(message, historyLength);
    const input = await storeInput(this.#requester, piecesOf(message));
    // One message is one run, however often it is sent. Clients reuse the id of a message for other messages, so the digest
    // covers the whole message.
    const { messageId } = message;
    const repeatKey = JSON.stringify([this.#agent, messageId, message.contextId, input]);
    const contextId = message.contextId || digestOf(repeatKey);
    const acceptedModes = configuration?.acceptedOutputModes;
    const labels = labelsFor({ contextId, messageId, acceptedModes });
    const follow = await startAgentRun(this.#parts, this.#requester, {
      agent: this.#agent,
      input,
      session: sessionKeyOf("a2a", contextId),
      repeatKey,
      labels,
      via: "a2a",
    });
    const task = { id: taskIdOf(follow.runId), contextId };
    const history = lastOf([clientMessage(task, messageId, input)], historyLength);
    return { follow, contextId, history, historyLength, isPlain: isPlain({ labels }) };
  }

  async #goOn(message: Message, historyLength: number | undefined): Promise<FollowedTask> {
    const run = await this.#run(message.taskId);
    const { runId } = run;
    if (isOver(run))
      throw new UnsupportedOperationError({
        message: `task ${message.taskId} has ended: send the message with its contextId alone`,
      });
    const { contextId } = taskOf(run);
    if (message.contextId !== "" && message.contextId !== contextId)
      throw malformed("message.contextId", `task ${message.taskId} has another one: leave it out`);
    const follow = followRun(this.#parts, this.#requester, { runId });
    try {
      await this.#report(run, message);
    } catch (error) {
      follow.stop();
      throw error;
    }
    const { history } = await this.#taskOf(run, historyLength);
    return { follow, contextId, history, historyLength, isPlain: isPlain(run) };
  }

  async #report({ runId, waits = [] }: RunDetail, message: Message): Promise<void> {
    const decisions = message.parts.flatMap(({ content }) => {
      const decision =
        content?.$case === "data" ? Decision.safeParse(content.value).data : undefined;
      return decision === undefined ? [] : [decision];
    });
    for (const { approvalId: id, approve, reason } of decisions) {
      if (!waits.some(({ approvalId }) => approvalId === id))
        throw malformed("message.parts", `the task does not wait for ${cutText(id, 64)}`);
      const why = reason === undefined || reason === "" ? {} : { reason };
      await this.#requester.ask(approve ? approveCall : denyCall, { id, ...why });
    }
    if (decisions.length > 0) return;
    const question = waits.find(({ reason }) => reason === "question");
    const text = textOf(message);
    if (question !== undefined) {
      await this.#requester.ask(answerQuestion, { runId, callId: question.callId, answer: text });
      return;
    }
    if (waits.some(needsPerson))
      throw new UnsupportedOperationError({
        message: "the task waits for a decision: send a data part {approvalId, approve}",
      });
    const user = await this.#requester.user();
    checkRights(steerRun, user);
    const about = { userToken: user.token, correlationId: this.#requester.requestId };
    await publishCommand(this.#parts.bus, steerRun, { runId }, { message: text }, about);
  }

  async #now({ follow, contextId, history, historyLength }: FollowedTask): Promise<Task> {
    const { runId } = follow;
    try {
      return await this.#taskOf(await this.#run(taskIdOf(runId)), historyLength);
    } catch (error) {
      if (!(error instanceof TaskNotFoundError)) throw error;
      const status = {
        state: TaskState.TASK_STATE_SUBMITTED,
        message: undefined,
        timestamp: undefined,
      };
      const id = taskIdOf(runId);
      return { id, contextId, status, artifacts: [], history, metadata: { runId } };
    }
  }

  /** The run's messages are read only on request: without a `historyLength` the protocol lets the agent decide how many to return. */
  async #taskOf(run: RunDetail, historyLength = 0): Promise<Task> {
    const task = taskOf(run);
    if (historyLength === 0) return task;
    const history = await historyOf(this.#parts.bus, this.#requester, run);
    return { ...task, history: lastOf(history, historyLength) };
  }

  /** Returns a run of the requester and this agent; any other one is not found. */
  async #run(taskId: string): Promise<RunDetail> {
    const name = taskId.includes("~") || !RunId.safeParse(taskId).success ? null : taskId;
    if (name === null) throw notFound(taskId);
    try {
      const runId = fullRunId(this.#requester.caller, name);
      const { run } = await this.#requester.ask(getRun, { runId });
      if (run.agent !== this.#agent) throw notFound(taskId);
      return run;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "unknown_run") throw notFound(taskId);
      throw error;
    }
  }
}

function lastOf<T>(list: readonly T[], length = 0): T[] {
  return length === 0 ? [] : list.slice(-length);
}

function malformed(parameter: string, problem: string): RequestMalformedError {
  return new RequestMalformedError({
    message: `${parameter}: ${problem}`,
    metadata: { parameter },
  });
}

function notFound(taskId: string): TaskNotFoundError {
  return new TaskNotFoundError({ message: `there is no task ${taskId.slice(0, 100)}` });
}

function noPush(): Promise<never> {
  return Promise.reject(new PushNotificationNotSupportedError());
}

import { randomUUID } from "node:crypto";
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
import { approveCall, denyCall } from "@switchyard/contracts/approvals";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId, RunId } from "@switchyard/contracts/ids";
import { steerRun } from "@switchyard/contracts/run-commands";
import { answerQuestion } from "@switchyard/contracts/run-waits";
import { getRun, listRuns, requestCancel, type RunDetail } from "@switchyard/contracts/runs";
import { z } from "zod";
import { followRun, type FollowParts } from "../agent-runs/follow-run.ts";
import { needsPerson } from "../agent-runs/run-wait.ts";
import { digestOf, sessionKeyOf, startAgentRun } from "../agent-runs/start-run.ts";
import { storeInput } from "../agent-runs/store-input.ts";
import { checkRights, type Requester } from "../identity/requester.ts";
import { CONTEXT, isOver, isPlain, labelsFor, piecesOf, taskIdOf, taskOf, textOf } from "./task.ts";
import { tellRun, type FollowedTask } from "./tell-run.ts";

const Decision = z.looseObject({
  approvalId: z.string(),
  approve: z.boolean(),
  reason: z.string().max(500).optional(),
});

/** One agent for one requester: tasks are runs, so that every gateway knows them, and none keeps any. */
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
    const { follow, contextId } = followed;
    if (request.configuration?.returnImmediately === true) {
      const timer = setTimeout(() => follow.stop(), 5_000);
      const first = await follow.items.next().finally(() => clearTimeout(timer));
      follow.stop();
      if (first.value?.kind !== "end") return this.#now(follow.runId, contextId);
    }
    let refused: Task["status"];
    for await (const { payload } of tellRun(followed)) {
      const status = payload?.$case === "statusUpdate" ? payload.value.status : undefined;
      if (status?.state === TaskState.TASK_STATE_REJECTED) refused = status;
      // A decision may take days, and somebody else may have to make it.
      if (status?.state === TaskState.TASK_STATE_AUTH_REQUIRED) break;
    }
    follow.stop();
    const task = await this.#now(follow.runId, contextId);
    return refused === undefined ? task : { ...task, status: refused };
  }

  async *sendMessageStream(
    request: SendMessageRequest,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    yield* tellRun(await this.#begin(request));
  }

  async getTask({ id }: GetTaskRequest): Promise<Task> {
    return taskOf(await this.#run(id));
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
      yield* tellRun({ follow, contextId: task.contextId, isPlain: isPlain(run) }, task);
    } finally {
      follow.stop();
    }
  }

  /** Of the newest 200 runs of the agent that came over this protocol, the last changed first. A page goes on behind the task that its token names. */
  async listTasks(request: ListTasksRequest): Promise<ListTasksResponse> {
    const { contextId, status, pageToken } = request;
    const { runs } = await this.#requester.ask(listRuns, { agent: this.#agent, limit: 200 });
    const own = runs.filter(
      ({ labels, requester }) =>
        labels["via"] === "a2a" &&
        requester === this.#requester.caller &&
        (contextId === "" || labels[CONTEXT] === contextId),
    );
    const tasks = own
      .toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))
      .map(taskOf)
      .filter(
        (task) => status === TaskState.TASK_STATE_UNSPECIFIED || task.status?.state === status,
      );
    const before = pageToken === "" ? -1 : tasks.findIndex(({ id }) => id === pageToken);
    if (pageToken !== "" && before < 0)
      throw new RequestMalformedError({ message: "pageToken is not one of these tasks any more" });
    const pageSize = Math.min(request.pageSize || 50, 100);
    const shown = tasks.slice(before + 1, before + 1 + pageSize);
    const hasMore = before + 1 + shown.length < tasks.length;
    const nextPageToken = hasMore ? (shown.at(-1)?.id ?? "") : "";
    return { tasks: shown, nextPageToken, pageSize, totalSize: tasks.length };
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

  /** A new run, or what a run that is under way is told. */
  async #begin({ message, configuration }: SendMessageRequest): Promise<FollowedTask> {
    if (message === undefined) throw new RequestMalformedError({ message: "message is missing" });
    if (message.taskId !== "") return this.#goOn(message);
    const input = await storeInput(this.#requester, piecesOf(message));
    // One message is one run, however often it is sent. Clients use the id of one for others, too, so the whole message counts.
    const repeatKey =
      message.messageId === ""
        ? undefined
        : JSON.stringify([this.#agent, message.messageId, message.contextId, input]);
    const contextId =
      message.contextId.slice(0, 256) ||
      (repeatKey === undefined ? randomUUID() : digestOf(repeatKey));
    const labels = labelsFor(contextId, configuration?.acceptedOutputModes);
    const follow = await startAgentRun(this.#parts, this.#requester, {
      agent: this.#agent,
      input,
      session: sessionKeyOf("a2a", contextId),
      repeatKey,
      labels,
      via: "a2a",
    });
    return { follow, contextId, isPlain: isPlain({ labels }) };
  }

  async #goOn(message: Message): Promise<FollowedTask> {
    const run = await this.#run(message.taskId);
    const { runId } = run;
    if (isOver(run))
      throw new UnsupportedOperationError({
        message: `task ${message.taskId} has ended: send the message with its contextId alone`,
      });
    const { contextId } = taskOf(run);
    if (message.contextId !== "" && message.contextId !== contextId)
      throw new RequestMalformedError({
        message: `task ${message.taskId} is of another context: leave contextId out`,
      });
    const follow = followRun(this.#parts, this.#requester, { runId });
    try {
      await this.#tell(run, message);
    } catch (error) {
      follow.stop();
      throw error;
    }
    return { follow, contextId, isPlain: isPlain(run) };
  }

  async #tell({ runId, waits = [] }: RunDetail, message: Message): Promise<void> {
    const decisions = message.parts.flatMap(({ content }) => {
      const decision =
        content?.$case === "data" ? Decision.safeParse(content.value).data : undefined;
      return decision === undefined ? [] : [decision];
    });
    for (const { approvalId: id, approve, reason } of decisions) {
      if (!waits.some(({ approvalId }) => approvalId === id))
        throw new RequestMalformedError({
          message: `the task does not wait for ${cutText(id, 64)}`,
        });
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

  async #now(runId: string, contextId: string): Promise<Task> {
    try {
      return taskOf(await this.#run(taskIdOf(runId)));
    } catch (error) {
      if (!(error instanceof TaskNotFoundError)) throw error;
      const status = {
        state: TaskState.TASK_STATE_SUBMITTED,
        message: undefined,
        timestamp: undefined,
      };
      const id = taskIdOf(runId);
      return { id, contextId, status, artifacts: [], history: [], metadata: { runId } };
    }
  }

  /** A run of the requester and this agent; any other one is not found. */
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

function notFound(taskId: string): TaskNotFoundError {
  return new TaskNotFoundError({ message: `there is no task ${taskId.slice(0, 100)}` });
}

function noPush(): Promise<never> {
  return Promise.reject(new PushNotificationNotSupportedError());
}

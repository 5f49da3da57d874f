import {
  EventType,
  type Interrupt,
  type Message,
  type RunAgentInput,
  type TokenUsage,
} from "@ag-ui/core";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { RunItem } from "../agent-runs/follow-run.ts";
import type { RunEnd, RunEvent } from "../agent-runs/run-event.ts";
import { describeWait } from "../agent-runs/run-wait.ts";
import type { RunRenderer } from "../agent-runs/stream-run.ts";
import type { EventStream } from "../events/event-stream.ts";
import { problemOf } from "../problems/problem.ts";

/** Returns the interrupt for a wait that a client can answer; null for the other waits. */
export function interruptOf(runId: string, wait: RunWait): Interrupt | null {
  const { reason, approvalId, callId, tool, until, question, options = [], schema } = wait;
  const name = runId.slice(runId.indexOf("~") + 1);
  const about = { toolCallId: callId, ...(until !== null && { expiresAt: until }) };
  if (approvalId !== undefined)
    return {
      ...about,
      id: `${name}/${approvalId}`,
      reason: "tool_call",
      message: `${tool} ${describeWait(runId, wait)}`,
      responseSchema: {
        type: "object",
        properties: { approved: { type: "boolean" }, reason: { type: "string" } },
        required: ["approved"],
      },
    };
  if (reason !== "question") return null;
  const answer = schema ?? {
    type: "string",
    ...(options.length > 0 && { enum: [...options] }),
  };
  return {
    ...about,
    id: `${name}/${callId}`,
    reason: "input_required",
    message: question ?? "",
    responseSchema: { type: "object", properties: { answer }, required: ["answer"] },
  };
}

/** Sends a run as AG-UI events: https://docs.ag-ui.com. Every message, step and tool call that it opens is closed before the run ends. */
export class AgUiRenderer implements RunRenderer {
  readonly #stream: EventStream;
  readonly #runId: string;
  readonly #input: RunAgentInput;
  /** Clients older than 1.0 send no version, and throw on unknown events. */
  readonly #isOld: boolean;
  readonly #messages: Message[];
  /** Runs that this one has started, and whether they are still running. Each is announced once, since clients refuse a repeated id. */
  readonly #children = new Map<string, boolean>();
  readonly #usage = new Map<string, TokenUsage>();
  #message: { id: string; step: number; text: string } | null = null;
  /** Counts the messages of a step whose text started anew, since a client appends to the old message when its id is reused. */
  #version = 0;
  #step: number | null = null;

  constructor(stream: EventStream, runId: string, input: RunAgentInput) {
    this.#stream = stream;
    this.#runId = runId;
    this.#input = input;
    this.#isOld = input.protocolVersion === undefined;
    this.#messages = [...input.messages];
    this.#send(EventType.RUN_STARTED, {
      ...this.#ids(),
      ...(!this.#isOld && { protocolVersion: "1.0" }),
    });
    this.#state("running");
  }

  item(item: RunItem): boolean {
    switch (item.kind) {
      case "text":
        this.#text(item.step, item.text);
        return false;
      case "text-void":
        this.#closeMessage();
        this.#version += 1;
        return false;
      case "end":
        return this.#end(item);
      default:
        return this.#event(item);
    }
  }

  failed(error: unknown): void {
    const problem = problemOf(error);
    const message = problem?.message ?? "the gateway failed by a fault of its own";
    this.#send(EventType.RUN_ERROR, { message, code: problem?.code ?? "internal" });
  }

  #event(event: RunEvent): boolean {
    switch (event.name) {
      case "model-responded":
        this.#closeMessage();
        this.#count(event.facts.model, event.facts.usage);
        return false;
      case "tool-requested":
        this.#call(event.facts);
        return false;
      case "tool-completed":
        this.#result(event.facts.callId, event.facts.preview);
        return false;
      case "tool-denied":
        this.#result(event.facts.callId, `denied: ${event.facts.decision.reason}`);
        return false;
      case "tool-failed":
        this.#result(event.facts.callId, `${event.facts.code}: ${event.facts.message}`);
        return false;
      case "child-started":
        this.#childStarted(event.facts);
        return false;
      case "child-ended":
        this.#childEnded(event.facts.childRunId, event.facts.status);
        return false;
      case "waiting":
        return this.#interrupt(event.facts.waits);
      default:
        return false;
    }
  }

  #text(step: number, text: string): void {
    this.#enterStep(step);
    if (this.#message?.step !== step) {
      this.#closeMessage();
      const id = `${this.#runId}-${step}${this.#version === 0 ? "" : `-${this.#version}`}`;
      this.#message = { id, step, text: "" };
      this.#send(EventType.TEXT_MESSAGE_START, { messageId: id, role: "assistant" });
    }
    this.#message.text += text;
    this.#send(EventType.TEXT_MESSAGE_CONTENT, { messageId: this.#message.id, delta: text });
  }

  #closeMessage(): void {
    if (this.#message === null) return;
    const { id, text } = this.#message;
    this.#send(EventType.TEXT_MESSAGE_END, { messageId: id });
    this.#messages.push({ id, role: "assistant", content: text });
    this.#message = null;
  }

  #call(call: { step: number; callId: string; tool: string; argsPreview: string }): void {
    const { step, callId: toolCallId, tool: toolCallName, argsPreview: delta } = call;
    this.#enterStep(step);
    this.#closeMessage();
    this.#send(EventType.TOOL_CALL_START, { toolCallId, toolCallName });
    this.#send(EventType.TOOL_CALL_ARGS, { toolCallId, delta });
    this.#send(EventType.TOOL_CALL_END, { toolCallId });
    const called = { name: toolCallName, arguments: delta };
    const toolCalls = [{ id: toolCallId, type: "function" as const, function: called }];
    this.#messages.push({ id: toolCallId, role: "assistant", toolCalls });
  }

  #result(toolCallId: string, content: string): void {
    const messageId = `${toolCallId}-result`;
    this.#send(EventType.TOOL_CALL_RESULT, { messageId, toolCallId, content, role: "tool" });
    this.#messages.push({ id: messageId, role: "tool", toolCallId, content });
  }

  #childStarted(child: { callId: string; childRunId: string; agent: string }): void {
    const { callId: parentToolCallId, childRunId: subagentRunId, agent: name } = child;
    if (this.#isOld || this.#children.has(subagentRunId)) return;
    this.#children.set(subagentRunId, true);
    this.#send(EventType.SUBAGENT_STARTED, { subagentRunId, name, parentToolCallId });
  }

  /** A child run that an earlier stream announced is not in the map. */
  #childEnded(subagentRunId: string, status: string): void {
    if (this.#children.get(subagentRunId) !== true) return;
    this.#children.set(subagentRunId, false);
    const message = `run ${subagentRunId} has ended: ${status}`;
    if (status === "succeeded") this.#send(EventType.SUBAGENT_FINISHED, { subagentRunId });
    else this.#send(EventType.SUBAGENT_ERROR, { subagentRunId, message, code: status });
  }

  #count(model: string, used: Usage): void {
    const sum = this.#usage.get(model) ?? {};
    const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = used;
    this.#usage.set(model, {
      model,
      inputTokens: (sum.inputTokens ?? 0) + inputTokens,
      outputTokens: (sum.outputTokens ?? 0) + outputTokens,
      cachedInputTokens: (sum.cachedInputTokens ?? 0) + cacheReadTokens,
      cacheWriteInputTokens: (sum.cacheWriteInputTokens ?? 0) + cacheWriteTokens,
    });
  }

  /** A step is one call of the model and the tools that it calls. */
  #enterStep(step: number): void {
    if (this.#step === step) return;
    this.#leaveStep();
    this.#step = step;
    this.#send(EventType.STEP_STARTED, { stepName: `step ${step}` });
  }

  #leaveStep(): void {
    this.#closeMessage();
    if (this.#step === null) return;
    this.#send(EventType.STEP_FINISHED, { stepName: `step ${this.#step}` });
    this.#step = null;
  }

  #interrupt(waits: readonly RunWait[]): boolean {
    const interrupts = waits
      .map((wait) => interruptOf(this.#runId, wait))
      .filter((one) => one !== null);
    if (interrupts.length === 0) return false;
    this.#leaveStep();
    for (const [subagentRunId, goesOn] of this.#children)
      if (goesOn)
        this.#send(EventType.SUBAGENT_FINISHED, { subagentRunId, outcome: { type: "suspended" } });
    this.#state("waiting");
    this.#send(EventType.MESSAGES_SNAPSHOT, { messages: this.#messages });
    const outcome = { type: "interrupt", interrupts };
    this.#finished({ outcome });
    return true;
  }

  #end({ status, output, failure }: RunEnd): boolean {
    this.#leaveStep();
    this.#state(status);
    for (const child of this.#children.keys()) this.#childEnded(child, status);
    const result = { runId: this.#runId, status, output };
    if (failure === null) this.#finished({ outcome: { type: "success" }, result });
    else if (status === "cancelled" && !this.#isOld)
      this.#finished({ outcome: { type: "cancelled" } });
    else
      this.#send(EventType.RUN_ERROR, {
        message: failure.message,
        code: failure.code,
        ...this.#used(),
      });
    return true;
  }

  #state(status: string): void {
    this.#send(EventType.STATE_SNAPSHOT, { snapshot: { runId: this.#runId, status } });
  }

  #finished(facts: Record<string, unknown>): void {
    this.#send(EventType.RUN_FINISHED, { ...this.#ids(), ...facts, ...this.#used() });
  }

  #used(): { usage?: TokenUsage[] } {
    return this.#isOld || this.#usage.size === 0 ? {} : { usage: [...this.#usage.values()] };
  }

  #ids(): { threadId: string; runId: string } {
    const { threadId, runId } = this.#input;
    return { threadId, runId };
  }

  #send(type: EventType, facts: Record<string, unknown>): void {
    this.#stream.send({ data: { type, timestamp: Date.now(), ...facts } });
  }
}

import type { RunItem } from "../agent-runs/follow-run.ts";
import type { RunEnd, RunEvent } from "../agent-runs/run-event.ts";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import type { RunRenderer } from "../agent-runs/stream-run.ts";
import type { EventStream } from "../events/event-stream.ts";
import { statusOf } from "../problems/problem.ts";
import { streamErrorOf } from "./openai-errors.ts";
import {
  errorOf,
  incompleteDetails,
  partOf,
  shapeOf,
  usageOf,
  type Json,
  type ResponseFacts,
  type Status,
} from "./response-shape.ts";

/**
 * Renders a run as a response and its events. The numbers of events derive from those of the run's own events, so that a client
 * that reconnects can name the last one it received; live text in between is then sent as one event.
 */
export class ResponseRenderer implements RunRenderer {
  readonly #facts: ResponseFacts;
  readonly #stream: EventStream | null;
  readonly #after: number;
  readonly #output: Json[] = [];
  /** Positions of tool calls in the output, by call. */
  readonly #calls = new Map<string, number>();
  #message: { step: number; index: number; text: string } | null = null;
  #number = -1;
  #status: Status;
  #error: Json | null = null;
  #cut: RunEnd["cut"] = null;
  #usage: Json | null = null;

  /** Without a stream it only collects the output. */
  constructor(facts: ResponseFacts, stream: EventStream | null, after = -1) {
    this.#facts = facts;
    this.#stream = stream;
    this.#after = after;
    // A background run has yet to be claimed by a runner. Clients that wait for the answer need no such status.
    this.#status = facts.isBackground && facts.from === 0 ? "queued" : "in_progress";
    this.#send("response.created", { response: this.response() });
    this.#send(`response.${this.#status}`, { response: this.response() });
  }

  response(): Json {
    return shapeOf(this.#facts, {
      status: this.#status,
      output: this.#output,
      error: this.#error,
      incomplete_details: incompleteDetails(this.#cut),
      usage: this.#usage,
    });
  }

  item(item: RunItem): boolean {
    switch (item.kind) {
      case "text":
        // Live text can overtake the stored event of the run's start.
        this.#begin();
        this.#text(item.step, item.text);
        return false;
      case "text-void":
        // Text that was sent cannot be revoked; the item's last event contains the correct text.
        if (this.#message !== null) this.#message.text = "";
        return false;
      case "end":
        return this.#end(item);
      default:
        return this.#event(item);
    }
  }

  failed(error: unknown): void {
    const { code, message, param } = streamErrorOf(error);
    this.#send("error", { code, message, param });
  }

  #event(event: RunEvent): boolean {
    if (event.name === "started") this.#begin();
    if (Date.parse(event.facts.at) < this.#facts.from) return false;
    if ("seq" in event.facts) this.#number = Math.max(this.#number, event.facts.seq * 1_000);
    switch (event.name) {
      case "model-responded":
        this.#closeMessage();
        return false;
      case "tool-requested":
        this.#closeMessage();
        this.#call(event.facts);
        return false;
      case "tool-completed":
        this.#callEnded(event.facts.callId, {
          output: event.facts.preview,
          error: event.facts.isError ? executionError(event.facts.preview) : null,
        });
        return false;
      case "tool-denied":
        this.#callEnded(event.facts.callId, {
          output: null,
          error: { type: "http_error", code: 403, message: event.facts.decision.reason },
        });
        return false;
      case "tool-failed":
        this.#callEnded(event.facts.callId, { output: null, error: callError(event.facts) });
        return false;
      case "waiting":
        return this.#wait(event.facts.waits.filter(needsPerson));
      default:
        return false;
    }
  }

  #begin(): void {
    if (this.#status !== "queued") return;
    this.#status = "in_progress";
    this.#send("response.in_progress", { response: this.response() });
  }

  #text(step: number, text: string): void {
    if (this.#message === null || this.#message.step !== step) {
      this.#closeMessage();
      const item = { type: "message", id: `msg_${this.#facts.id}_${step}`, role: "assistant" };
      const index = this.#add({ ...item, status: "in_progress", content: [] });
      this.#message = { step, index, text: "" };
      this.#send("response.content_part.added", { ...this.#part(), part: partOf("") });
    }
    this.#message.text += text;
    this.#send("response.output_text.delta", { ...this.#part(), delta: text, logprobs: [] });
  }

  #closeMessage(): void {
    if (this.#message === null) return;
    const { index, text } = this.#message;
    this.#send("response.output_text.done", { ...this.#part(), text, logprobs: [] });
    this.#send("response.content_part.done", { ...this.#part(), part: partOf(text) });
    this.#message = null;
    this.#done(index, { status: "completed", content: [partOf(text)] });
  }

  #part(): Json {
    const index = this.#message?.index ?? 0;
    return { item_id: this.#output[index]?.["id"], output_index: index, content_index: 0 };
  }

  #call({
    callId,
    tool,
    argsPreview,
  }: {
    callId: string;
    tool: string;
    argsPreview: string;
  }): void {
    const { server_label, name } = labelled(tool);
    const id = `mcp_${callId.slice(callId.indexOf("~") + 1)}`;
    const call = { type: "mcp_call", id, server_label, name, arguments: "" };
    const index = this.#add({ ...call, status: "in_progress", output: null, error: null });
    this.#calls.set(callId, index);
    const item = { item_id: id, output_index: index };
    this.#send("response.mcp_call.in_progress", item);
    this.#send("response.mcp_call_arguments.delta", { ...item, delta: argsPreview });
    this.#send("response.mcp_call_arguments.done", { ...item, arguments: argsPreview });
    this.#output[index] = { ...this.#output[index], arguments: argsPreview };
  }

  #callEnded(callId: string, result: { output: string | null; error: Json | null }): void {
    const index = this.#calls.get(callId);
    if (index === undefined) return;
    const status = result.error === null ? "completed" : "failed";
    const item = { item_id: this.#output[index]?.["id"], output_index: index };
    this.#send(`response.mcp_call.${status}`, item);
    this.#done(index, { ...result, status });
  }

  /** An approval is an item that the client answers in its next request; a question is text, and so is its answer. */
  #wait(waits: readonly Parameters<typeof describeWait>[1][]): boolean {
    if (waits.length === 0) return false;
    this.#closeMessage();
    for (const wait of waits) {
      if (wait.approvalId === undefined) {
        this.#text(-1, wait.question ?? describeWait(this.#facts.runId, wait));
        this.#closeMessage();
        continue;
      }
      const called = this.#output[this.#calls.get(wait.callId) ?? -1]?.["arguments"] ?? "{}";
      const request = { type: "mcp_approval_request", id: wait.approvalId, arguments: called };
      this.#done(this.#add({ ...request, ...labelled(wait.tool) }), {});
    }
    return this.#finish("completed");
  }

  #end({ status, failure, usage, cut }: RunEnd): boolean {
    this.#closeMessage();
    this.#cut = cut;
    if (usage !== null) this.#usage = usageOf(usage);
    if (failure === null) return this.#finish("completed");
    for (const index of this.#calls.values())
      if (this.#output[index]?.["status"] === "in_progress")
        this.#done(index, { status: "incomplete" });
    if (cut !== null) return this.#finish("incomplete");
    if (status !== "cancelled") this.#error = errorOf(failure);
    return this.#finish(status === "cancelled" ? "cancelled" : "failed");
  }

  #finish(status: Exclude<Status, "queued" | "in_progress">): boolean {
    this.#status = status;
    const name = status === "cancelled" ? "failed" : status;
    this.#send(`response.${name}`, { response: this.response() });
    return true;
  }

  #add(item: Json): number {
    const index = this.#output.push(item) - 1;
    this.#send("response.output_item.added", { output_index: index, item });
    return index;
  }

  #done(index: number, more: Json): void {
    const item = { ...this.#output[index], ...more };
    this.#output[index] = item;
    this.#send("response.output_item.done", { output_index: index, item });
  }

  #send(type: string, more: Json): void {
    this.#number += 1;
    if (this.#number <= this.#after) return;
    const data = { type, sequence_number: this.#number, ...more };
    this.#stream?.send({ event: type, data });
  }
}

/** Returns the errors of a call in the form of the official clients' type `McpToolCallError`. */
function executionError(text: string): Json {
  return { type: "mcp_tool_execution_error", content: [{ type: "text", text }] };
}

function callError({ code, message }: { readonly code: string; readonly message: string }): Json {
  return { type: "http_error", code: statusOf(code), message: `${code}: ${message}` };
}

function labelled(tool: string): { server_label: string; name: string } {
  const [, server, name] = /^mcp__([a-z0-9-]+)__(.+)$/.exec(tool) ?? [];
  return { server_label: server ?? "switchyard", name: name ?? tool };
}

import { randomBytes } from "node:crypto";
import {
  methods,
  RequestError,
  type AgentContext,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { subscribeLive } from "@switchyard/bus/events";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { ServiceError } from "@switchyard/contracts/errors";
import { putFile } from "@switchyard/contracts/agent-runner/files";
import { fullRunId, runTokens } from "@switchyard/contracts/ids";
import {
  modelResponded,
  runFinished,
  runLive,
} from "@switchyard/contracts/agent-runner/run-events";
import { requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { runIdOf } from "../run-id.ts";
import { storeFiles, type ReadFile } from "../sent-files.ts";
import { followToEnd } from "../run-story.ts";
import { payloadOf } from "../run-timeline.ts";
import { askEditor } from "./ask-editor.ts";
import { toolCardOf } from "./tool-card.ts";
import { TurnText } from "./turn-text.ts";

export interface TurnOptions {
  readonly bus: Bus;
  readonly editor: AgentContext;
  readonly sessionId: string;
  readonly agent: string;
  readonly model: string | null;
  readonly message: string;
  readonly files: readonly ReadFile[];
  /** Aborts when the editor cancels the turn. */
  readonly cancelled: AbortSignal;
  /** Aborts when the editor has disconnected: the run continues without it. */
  readonly left: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** Runs one prompt as one run: streams its text and calls, prompts for what it waits for, and resolves with how it ended. */
export async function runTurn(options: TurnOptions): Promise<StopReason> {
  const { bus, editor, sessionId, cancelled, left, onFault } = options;
  const runId = runIdOf(Date.now(), randomBytes(10));
  const full = fullRunId(bus.user, runId);
  const over = new AbortController();
  const update = (what: SessionUpdate): void => {
    const sent = { sessionId, update: what };
    editor.notify(methods.client.session.update, sent).catch(onFault);
  };
  const text = new TurnText((chunk) =>
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: chunk } }),
  );
  const asker = askEditor({
    ...options,
    runId: () => full,
    say: (paragraph) => text.paragraph(paragraph),
    signal: over.signal,
  });
  const live = subscribeLive(bus, runLive, runTokens(full), (message) => text.live(message));
  const cancel = (): void =>
    void client(bus, { requestCancel })
      .requestCancel({ runId: full, reason: "cancelled in the editor" })
      .catch(onFault);
  try {
    const { agent, model, message } = options;
    const files = await storeFiles(bus, options.files).catch(refuseFile);
    const choice = {
      agent,
      ...(model === null ? {} : { model }),
      ...(files.length === 0 ? {} : { files }),
    };
    await client(bus, { sendToSession }).sendToSession({
      session: sessionId,
      message,
      runId,
      ...choice,
    });
    if (cancelled.aborted) cancel();
    else cancelled.addEventListener("abort", cancel, { once: true });
    const end = await followToEnd(bus, {
      runId,
      signal: left,
      onEvent: (event) => {
        sendUpdates(event, text, update);
        asker.onEvent(event);
      },
    });
    if (end?.end === "finished") return "end_turn";
    if (end === null || end.end === "cancelled") return "cancelled";
    throw new RequestError(-32603, `the run ${full} ${end.end}: ${end.message}`, {
      code: end.code,
    });
  } finally {
    over.abort();
    live.stop();
    cancelled.removeEventListener("abort", cancel);
  }
}

/** An error about a file of the prompt goes to the editor, which shows it. */
function refuseFile(error: unknown): never {
  const isAboutFile = error instanceof ServiceError && FILE_ERRORS.has(error.code);
  throw isAboutFile ? RequestError.invalidParams({ code: error.code }, error.message) : error;
}

const FILE_ERRORS: ReadonlySet<string> = new Set(Object.keys(putFile.errors));

function sendUpdates(
  event: StoredEvent,
  text: TurnText,
  update: (what: SessionUpdate) => void,
): void {
  const responded = payloadOf(event, modelResponded);
  // The run's final event carries the whole last answer.
  if (responded !== null && responded.toolCalls > 0) text.complete(responded.step, responded.text);
  else if (responded !== null) text.answered(responded.step);
  const finished = payloadOf(event, runFinished);
  if (finished !== null) text.complete(finished.steps, finished.output);
  const card = toolCardOf(event);
  if (card !== null) update(card);
}

import { methods, type AgentContext, type PermissionOption } from "@agentclientprotocol/sdk";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { approveCall, denyCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { questionRequested, runWaiting } from "@switchyard/contracts/agent-runner/run-events";
import { answerQuestion, type RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import { stillMissing } from "../commands/approval-lines.ts";
import { payloadOf } from "../run-timeline.ts";

export interface AskOptions {
  readonly bus: Bus;
  readonly editor: AgentContext;
  readonly sessionId: string;
  readonly runId: () => string;
  readonly say: (text: string) => void;
  /** Aborts when the turn is over; open prompts are then withdrawn. */
  readonly signal: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

const contracts = { approveCall, denyCall, getApproval, answerQuestion };

/** Prompts the person in the editor for each wait of the run, once. Another client may decide at the same time. */
export function askEditor(options: AskOptions): { onEvent(event: StoredEvent): void } {
  const seen = new Set<string>();
  const questions = new Map<string, NonNullable<ReturnType<typeof questionOf>>>();
  return {
    onEvent(event) {
      const question = questionOf(event);
      if (question !== null) questions.set(question.callId, question);
      for (const wait of payloadOf(event, runWaiting)?.waits ?? []) {
        const id = wait.approvalId ?? wait.callId;
        if (seen.has(id)) continue;
        seen.add(id);
        const reply =
          wait.reason === "question"
            ? answer(wait, questions.get(wait.callId), options)
            : decide(wait, options);
        reply.catch((error: unknown) => {
          // It was decided elsewhere, or the turn is over.
          const isLate = error instanceof ServiceError && error.code === "already_ended";
          if (!isLate && !options.signal.aborted) options.onFault(error);
        });
      }
    },
  };
}

function questionOf(event: StoredEvent) {
  return payloadOf(event, questionRequested);
}

async function decide({ approvalId: id, callId }: RunWait, options: AskOptions): Promise<void> {
  if (id === undefined) return;
  const services = client(options.bus, contracts);
  const { approval, presentation } = await services.getApproval({ id });
  if (approval.state !== "pending") return;
  if (approval.reasonFor.length > 0) {
    // A permission request has no field for a reason.
    options.say(
      `${approval.tool.name} waits for a decision with a reason: yard approvals approve ${id} --reason "…"`,
    );
    return;
  }
  const chosen = await choose(options, {
    toolCallId: callId,
    title: approval.tool.name,
    rawInput: presentation.args,
    options: [
      { optionId: "once", name: "Allow once", kind: "allow_once" },
      ...(approval.tier === "session"
        ? [
            {
              optionId: "session",
              name: "Allow calls like this for a while",
              kind: "allow_always" as const,
            },
          ]
        : []),
      { optionId: "deny", name: "Deny", kind: "reject_once" },
    ],
  });
  const shown = { id, binding: approval.binding };
  if (chosen === "once" || chosen === "session") {
    const decided = await services.approveCall({ ...shown, scope: chosen });
    const missing = stillMissing(decided.approval);
    if (missing !== null) options.say(missing);
  } else if (chosen === "deny")
    await services.denyCall({ ...shown, reason: "denied in the editor" });
}

/** A question with options is shown as a permission request; for free text the protocol has no form that all editors support. */
async function answer(
  { callId }: RunWait,
  question: ReturnType<typeof questionOf> | undefined,
  options: AskOptions,
): Promise<void> {
  const { question: text = "a question", options: offered = [] } = question ?? {};
  const runId = options.runId();
  if (offered.length === 0) {
    options.say(`${text}\n\n(Answer it with: yard runs answer ${callId} "…")`);
    return;
  }
  const chosen = await choose(options, {
    toolCallId: callId,
    title: text,
    options: offered.map((name, at) => ({ optionId: String(at), name, kind: "allow_once" })),
  });
  const said = chosen === null ? undefined : offered[Number(chosen)];
  if (said === undefined) return;
  await client(options.bus, contracts).answerQuestion({ runId, callId, answer: said });
}

/** Returns the option that the person chose; null when the editor withdrew the question. */
async function choose(
  { editor, sessionId, signal }: AskOptions,
  {
    options,
    ...toolCall
  }: {
    readonly toolCallId: string;
    readonly title: string;
    readonly rawInput?: unknown;
    readonly options: PermissionOption[];
  },
): Promise<string | null> {
  signal.throwIfAborted();
  const { outcome } = await editor.request(
    methods.client.session.requestPermission,
    { sessionId, toolCall: { ...toolCall, status: "pending" }, options },
    { cancellationSignal: signal },
  );
  return outcome.outcome === "selected" ? outcome.optionId : null;
}

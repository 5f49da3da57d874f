import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { StoredEvent } from "@switchyard/bus/stored-event";
import { approveCall, denyCall, getApproval } from "@switchyard/contracts/policy/approvals";
import { ServiceError } from "@switchyard/contracts/errors";
import { fullRunId } from "@switchyard/contracts/ids";
import {
  questionRequested,
  runWaiting,
  toolCompleted,
  toolDenied,
  toolFailed,
} from "@switchyard/contracts/agent-runner/run-events";
import type { z } from "zod";
import { answerQuestion, type RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import {
  approvalLines,
  explainCommand,
  reasonPrompt,
  stillMissing,
} from "../commands/approval-lines.ts";
import { printable, printableLine } from "../printable.ts";
import { payloadOf } from "../run-timeline.ts";
import type { Terminal } from "../terminal.ts";
import { choicesText, keyLines, keyOfLine, notOffered } from "./decision-keys.ts";

/** The person at the terminal. */
export interface Person {
  /** A line; null when the question is over or the person has left. */
  ask(question: string, signal: AbortSignal): Promise<string | null>;
}

const contracts = { approveCall, denyCall, getApproval, answerQuestion };
const MAX_CARD_LINES = 30;
/** The fields that only `?` shows. */
const NOT_ON_CARD = ["id", "tier", "pin", "policy", "until", "who"];

/**
 * Prompts the person for a run's approvals and questions, one after the other. Without a person it prints the exact command to
 * decide with. What another client has decided is no longer prompted for.
 */
export class Decider {
  readonly #services: ReturnType<typeof client<typeof contracts>>;
  readonly #runId: string;
  readonly #person: Person | null;
  readonly #print: (line: string) => void;
  readonly #paint: Terminal["paintNote"];
  readonly #arePrinted: boolean;
  readonly #seen = new Set<string>();
  readonly #questions = new Map<string, z.output<typeof questionRequested.payload>>();
  readonly #waits: RunWait[] = [];
  #current: { readonly callId: string; readonly over: AbortController } | null = null;
  #isClosed = false;
  /** The number of waits for a person. */
  pending = 0;

  constructor(
    bus: Bus,
    about: {
      readonly runId: string;
      readonly person: Person | null;
      readonly print: (line: string) => void;
      readonly paint: Terminal["paintNote"];
      /** True where events are printed as they come, and questions with them. */
      readonly arePrinted: boolean;
    },
  ) {
    this.#services = client(bus, contracts);
    this.#runId = fullRunId(bus.user, about.runId);
    this.#person = about.person;
    this.#print = about.print;
    this.#paint = about.paint;
    this.#arePrinted = about.arePrinted;
  }

  onEvent(event: StoredEvent): void {
    const question = payloadOf(event, questionRequested);
    if (question !== null) this.#questions.set(question.callId, question);
    const ended =
      payloadOf(event, toolCompleted) ??
      payloadOf(event, toolDenied) ??
      payloadOf(event, toolFailed);
    if (ended !== null && this.#current?.callId === ended.callId) this.#current.over.abort();
    const waiting = payloadOf(event, runWaiting);
    if (waiting === null) {
      if (ended !== null) this.pending = 0;
      return;
    }
    const ours = waiting.waits.filter(
      ({ reason }) => reason === "approval" || reason === "question",
    );
    this.pending = ours.length;
    for (const wait of ours) {
      const id = wait.approvalId ?? wait.callId;
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      this.#waits.push(wait);
    }
    // Deferred until the line that announces the wait is printed.
    setImmediate(() => void this.#next());
  }

  close(): void {
    this.#isClosed = true;
    this.#current?.over.abort();
  }

  async #next(): Promise<void> {
    if (this.#current !== null || this.#isClosed) return;
    const wait = this.#waits.shift();
    if (wait === undefined) return;
    this.#current = { callId: wait.callId, over: new AbortController() };
    try {
      await this.#settle(wait, this.#current.over.signal);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code !== "already_ended") this.#print(printableLine(error.message));
    } finally {
      this.#current = null;
    }
    await this.#next();
  }

  async #settle(wait: RunWait, signal: AbortSignal): Promise<void> {
    if (wait.reason === "question") return this.#answer(wait, signal);
    const { approvalId: id } = wait;
    if (id === undefined) return;
    const person = this.#person;
    if (person === null) {
      this.#print(`  decide it with: ./yard approvals approve ${id}`);
      this.#print(`              or: ./yard approvals deny ${id} --reason "…"`);
      return;
    }
    const { approval, presentation } = await this.#services.getApproval({ id });
    if (approval.state !== "pending") return;
    const { binding } = approval;
    // The person has just read what the run did before, so the card leaves it out.
    const full = approvalLines({ approval, presentation }, this.#paint);
    this.#print("");
    const card = approvalLines({ approval, presentation }, this.#paint, NOT_ON_CARD);
    for (const [at, line] of card.entries()) if (at < MAX_CARD_LINES) this.#print(line);
    if (card.length > MAX_CARD_LINES) this.#print("  │ … (? shows all)");
    const { tier } = approval;
    while (!signal.aborted) {
      // One question after the other: each is about the answer before.
      const line = await person.ask(`  Approve? [${choicesText(tier)}] `, signal);
      if (line === null) return;
      const key = keyOfLine(line, tier);
      if (key === "?")
        for (const shown of [...full, ...keyLines(tier, explainCommand(approval))])
          this.#print(shown);
      else if (key === "y" || key === "s" || key === "n") {
        const prompt = reasonPrompt(approval, key === "n" ? "denials" : "approvals");
        const reason = prompt === null ? "" : ((await person.ask(prompt, signal)) ?? "").trim();
        const decision = { id, binding, ...(reason !== "" && { reason }) };
        if (key === "n") return void (await this.#services.denyCall(decision));
        const scope = key === "y" ? "once" : "session";
        const missing = stillMissing(
          (await this.#services.approveCall({ ...decision, scope })).approval,
        );
        return missing === null ? undefined : this.#print(`  ${missing}`);
      } else if (line.trim() !== "") this.#print(`  ${notOffered(line, tier)}`);
    }
  }

  async #answer({ callId }: RunWait, signal: AbortSignal): Promise<void> {
    const { question = "", options = [], schema } = this.#questions.get(callId) ?? {};
    const person = this.#person;
    if (person === null || schema !== undefined) {
      const text = schema === undefined ? '"…"' : "'{…}' --answer-json";
      return this.#print(`  answer it with: ./yard runs answer ${callId} ${text}`);
    }
    if (this.#arePrinted) this.#print("");
    else this.#print(this.#paint("magenta", `? ${printable(question)}`));
    for (const [at, option] of options.entries())
      this.#print(`  ${at + 1}. ${printableLine(option)}`);
    while (!signal.aborted) {
      // One question after the other: each is about the answer before.
      const said = (await person.ask("  Answer: ", signal))?.trim();
      if (said === undefined) return;
      const chosen = options[Number(said) - 1] ?? said;
      if (said === "" || (options.length > 0 && !options.includes(chosen))) continue;
      return void (await this.#services.answerQuestion({
        runId: this.#runId,
        callId,
        answer: chosen,
      }));
    }
  }
}

import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { MAX_EVENT_TEXT, messageReceived } from "@switchyard/contracts/channels/channel-events";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  deliverToSession,
  sessionOutcome,
} from "@switchyard/contracts/agent-runner/session-delivery";
import type { Log } from "@switchyard/service/log";
import { startRounds, type Rounds } from "@switchyard/service/rounds";
import type { Accounts } from "../accounts/accounts.ts";
import { messagePieces } from "../outbound/message-pieces.ts";
import type { Outbox } from "../outbound/outbox.ts";
import { BEGINNING, sendIdOf } from "../outbound/send-message.ts";
import type { InboundRecord, InboundStore } from "./inbound-store.ts";
import { filesOf, loadFiles } from "./load-files.ts";
import { messageFor, originFor } from "./message-for-agent.ts";

export interface AnswerParts {
  readonly bus: Bus;
  readonly accounts: Accounts;
  readonly outbox: Outbox;
  readonly store: InboundStore;
  readonly said: (
    runId: string,
    address: InboundRecord["address"],
    text: string,
  ) => Promise<boolean>;
  readonly holder: string;
  /** The limit for a file of a message, in bytes. */
  readonly maxFileBytes: number;
  readonly now: () => number;
  readonly log: Log;
}

const POLL_MS = 500;
const CLAIM_MS = 30_000;
const AT_ONCE = 32;
/** The delay before a conversation is processed again that waits for its run, or for a service. */
const WAIT_MS = 2_000;
const TIMEOUT_MS = 600_000;
const SEND_WAIT_MS = 5_000;

/**
 * Delivers stored messages to their sessions, those of one conversation in their order, and sends the answers back to their
 * conversations. Progress is stored after each step and each step may be repeated, so any replica can continue at any time.
 */
export class AnswerMessages {
  readonly #parts: AnswerParts;
  readonly #rounds: Rounds;
  readonly #waiting = new Map<string, string>();
  /** The conversations that are being processed, by name; a slow one delays no other. */
  readonly #active = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(parts: AnswerParts) {
    this.#parts = parts;
    this.#rounds = startRounds({
      everyMs: POLL_MS,
      round: () => this.#round(),
      onError: (err) => parts.log.warn({ err }, "messages not looked for"),
    });
  }

  /** Polls for work now. */
  look(): void {
    void this.#rounds.wake();
  }

  /** Notifies that a run has ended; polling finds the end of a run whose notification was missed. */
  ended(runId: string): void {
    const conversation = this.#waiting.get(runId);
    if (conversation === undefined) return;
    this.#waiting.delete(runId);
    this.#parts.store
      .rest(conversation, 0)
      .then(() => this.look())
      .catch(() => {}); // it is retried later anyway
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds.stop();
    await Promise.all(this.#active.values());
  }

  async #round(): Promise<void> {
    const free = AT_ONCE - this.#active.size;
    if (this.#stopping.signal.aborted || free <= 0) return;
    const names = await this.#parts.store.claim(free, CLAIM_MS);
    // A conversation that took longer than its claim is this replica's already.
    for (const name of names.filter((one) => !this.#active.has(one)))
      this.#active.set(
        name,
        this.#advance(name)
          .catch((err: unknown) => this.#parts.log.warn({ err }, "conversation not released"))
          .finally(() => this.#active.delete(name)),
      );
  }

  async #advance(conversation: string): Promise<void> {
    const { store, log } = this.#parts;
    let delayMs = WAIT_MS;
    try {
      const open = await store.open(conversation);
      for (const record of open) if (!(await this.#step(conversation, record))) break;
      if (open.length > 0 && (await store.open(conversation)).length === 0) delayMs = 0;
    } catch (err) {
      log.warn({ err }, "conversation interrupted; tried again later");
    }
    await store.rest(conversation, delayMs);
  }

  /** Processes a message as far as possible. Returns false when those behind it have to wait, too. */
  async #step(conversation: string, given: InboundRecord): Promise<boolean> {
    const { store } = this.#parts;
    let record = given;
    if (!record.isTold) record = await this.#report(record);
    const { agent } = record;
    if (agent === null) {
      await store.finish(conversation, record);
      return true;
    }
    if (record.state === "new") {
      record = await this.#load(conversation, record);
      const said = await this.#say(record, agent);
      if (said === null) return false;
      record = said;
      await store.write(record);
      if (record.state === "done") await store.finish(conversation, record);
    }
    if (record.state === "said") {
      const answered = await this.#answerTo(record);
      if (answered === null) {
        this.#waiting.set(`${record.caller}~${record.runId}`, conversation);
        return true;
      }
      record = answered;
      await store.write(record);
    }
    if (record.state === "answering" && (await this.#send(record)))
      await store.finish(conversation, record);
    return true;
  }

  async #report(record: InboundRecord): Promise<InboundRecord> {
    const { bus, store } = this.#parts;
    const { inboundId, caller: owner, at, address, messageId, sender, text } = record;
    const { attachments, replyToMessageId, mentionsAccount, writtenAt, sessionKey, runId } = record;
    await publishEvent(
      bus,
      messageReceived,
      { owner, inboundId },
      {
        inboundId,
        at,
        address,
        messageId,
        sender,
        text: cutText(text, MAX_EVENT_TEXT),
        truncated: text.length > MAX_EVENT_TEXT,
        attachments: attachments.map(({ name, mimeType, sizeBytes }) => ({
          name,
          mimeType,
          sizeBytes,
        })),
        ...(replyToMessageId === undefined ? {} : { replyToMessageId }),
        mentionsAccount,
        writtenAt,
        sessionKey,
        runId: `${owner}~${runId}`,
      },
      { messageId: inboundId, correlationId: runId },
    );
    const announced = { ...record, isTold: true };
    await store.write(announced);
    return announced;
  }

  /** A message whose files cannot be stored now waits, like one whose session is away. */
  async #load(conversation: string, record: InboundRecord): Promise<InboundRecord> {
    if (record.attachments.every(({ source }) => source === undefined)) return record;
    const { bus, accounts, store, log, now, maxFileBytes: maxBytes } = this.#parts;
    const { channel, accountId } = record.address;
    // Each file may take nearly as long as the claim lasts.
    await store.rest(conversation, CLAIM_MS);
    return loadFiles(record, accounts.get(channel, accountId), {
      bus,
      log,
      now,
      maxBytes,
      stopping: this.#stopping.signal,
      progress: async (next) => {
        await store.write(next);
        await store.rest(conversation, CLAIM_MS);
      },
    });
  }

  /** Null when the session has no room now. A message that became part of another run is answered with that one. */
  async #say(record: InboundRecord, agent: string): Promise<InboundRecord | null> {
    const { caller: owner, sessionKey: session, runId, onBusy } = record;
    try {
      const files = filesOf(record);
      const request = {
        owner,
        session,
        agent,
        runId,
        onBusy,
        message: messageFor(record),
        origin: originFor(record),
        ...(files.length === 0 ? {} : { files }),
      };
      const placed = await call(this.#parts.bus, deliverToSession, request);
      const state = placed.placed === "steered" ? "done" : "said";
      return { ...record, state, sessionId: placed.sessionId };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.retryable || PASSING.has(error.code)) {
        this.#parts.log.warn({ err: error, runId }, "message not in its session yet");
        return null;
      }
      return { ...record, state: "answering", answer: failureText(error.code) };
    }
  }

  /** Returns null while the run is active. */
  async #answerTo(record: InboundRecord): Promise<InboundRecord | null> {
    const { sessionId, caller } = record;
    if (sessionId === null) return { ...record, state: "new" };
    const runId = `${caller}~${record.runId}`;
    const { status, output, failure, isSent } = await call(this.#parts.bus, sessionOutcome, {
      sessionId,
      runId,
    });
    if (status === "pending") return null;
    if (status === "error")
      return { ...record, state: "answering", answer: failureText(failure?.code ?? "internal") };
    const text = (output ?? "").trim();
    // The run's own record also has what was sent more than a day ago.
    const isSaid =
      text !== "" && (isSent === true || (await this.#parts.said(runId, record.address, text)));
    return { ...record, state: "answering", answer: text === "" || isSaid ? null : text };
  }

  /** Returns true when the answer needs no more work. The outbox identifies it by the message that it answers. */
  async #send({ answer, address, caller, ...record }: InboundRecord): Promise<boolean> {
    const { accounts, outbox, now, holder } = this.#parts;
    if (answer === null) return true;
    const account = accounts.get(address.channel, address.accountId);
    if (account === null) return false;
    const { actions, maxTextLength } = account.adapter.capabilities;
    const quoted = record.quotes && actions.includes("reply") ? record.messageId : undefined;
    const fate = await outbox.send(
      account,
      {
        // No caller can have this name, so a caller's own key can never equal the key of an answer.
        sendId: sendIdOf("!answer", record.inboundId),
        caller,
        digest: canonicalDigest({ inboundId: record.inboundId }),
        at: new Date(now()).toISOString(),
        address,
        text: answer,
        pieces: messagePieces(answer, maxTextLength),
        attachments: [],
        ...(quoted === undefined ? {} : { replyToMessageId: quoted }),
        silent: false,
        degraded: [],
        about: {
          tool: null,
          runId: `${caller}~${record.runId}`,
          sessionKey: record.sessionKey,
          answerTo: record.inboundId,
        },
        ...BEGINNING,
        holder,
        patientUntil: now() + TIMEOUT_MS,
      },
      now() + SEND_WAIT_MS,
    );
    // The outbox finishes a send that is in progress.
    return fate.kind !== "under-way" || fate.record.state === "open";
  }
}

/** Errors of a runner that is away or overloaded; the message waits. */
const PASSING = new Set(["timeout", "deadline_exceeded", "store_unavailable", "internal"]);

/** Short, and without anything of the inside but a code. */
function failureText(code: string): string {
  const shown = /^[a-z_]{1,40}$/.test(code) ? code : "internal";
  return `Sorry, this message could not be answered (${shown}).`;
}

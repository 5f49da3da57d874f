import { createHash, randomBytes } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { approvalsForChats, CHAT_PAGE } from "@switchyard/contracts/policy/chat-links";
import { questionsForChats, type ChatQuestion } from "@switchyard/contracts/policy/chat-questions";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import type { Log } from "@switchyard/service/log";
import { startRounds, type Rounds } from "@switchyard/service/rounds";
import type { z } from "zod";
import type { Account, Accounts } from "../accounts/accounts.ts";
import { ChannelError, type MessageButton } from "../adapters/adapter.ts";
import type { Outbox } from "../outbound/outbox.ts";
import { BEGINNING, sendIdOf } from "../outbound/send-message.ts";
import type { SendStore } from "../outbound/send-store.ts";
import type { DecisionLinks } from "./decision-links.ts";
import { buttonData } from "./press-button.ts";
import {
  questionName,
  type CallPrompt,
  type Prompt,
  type PromptStore,
  type QuestionPrompt,
} from "./prompt-store.ts";
import {
  endText,
  howToAnswer,
  promptText,
  questionEndText,
  questionText,
  titleOf,
} from "./prompt-text.ts";
import { chatsOf, placesOf, takesDecisions, usersOfGroups, type Place } from "./places.ts";
import { questionForm } from "./question-form.ts";

export interface PromptsOptions {
  readonly bus: Bus;
  readonly accounts: Accounts;
  readonly outbox: Outbox;
  readonly sends: Pick<SendStore, "read">;
  readonly store: PromptStore;
  readonly links: Pick<DecisionLinks, "tokenOf">;
  /** Names this process among the replicas. */
  readonly holder: string;
  /** The longest duration of a provider's request, in milliseconds. */
  readonly sendMs: number;
  /** The console's address for links; null: none. */
  readonly consoleUrl: string | null;
  readonly now: () => number;
  readonly log: Log;
}

type Waiting = z.output<typeof approvalsForChats.reply>["pending"][number];

/** Events bring a round forward; this one finds what they missed. */
const ROUND_MS = 10_000;
const CLAIM_MS = 30_000;
const WAIT_MS = 15_000;
const SOON_MS = 1_000;
/** The time for which a message that the provider did not accept is retried. */
const SEND_MS = 600_000;
const MAX_PAGES = 100;
const LINK_BYTES = 16;

/**
 * Shows waiting calls and questions in chats, and in the end what became of them. The policy service has the truth; the messages follow it,
 * whether a call was decided by a button, elsewhere or not at all. Each step is stored and may be repeated, so any replica can continue.
 */
export class Prompts {
  readonly #options: PromptsOptions;
  readonly #rounds: Rounds;
  #isStopped = false;

  constructor(options: PromptsOptions) {
    this.#options = options;
    this.#rounds = startRounds({
      everyMs: ROUND_MS,
      round: () => this.#round(),
      onError: (err) => options.log.warn({ err }, "waiting calls not compared with their messages"),
    });
  }

  /** Begins a round now, or after the one in progress. */
  look(): void {
    void this.#rounds.wake();
  }

  /** An approval or a question has ended: its messages are changed in the next round. */
  ended(subject: string): void {
    if (this.#accounts().length === 0) return;
    this.#options.store
      .hurry(subject)
      .then(() => this.look())
      .catch(() => {}); // the next round finds it anyway
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds.stop();
  }

  #accounts(): Account[] {
    const { accounts, consoleUrl } = this.#options;
    // A link needs the address of the page.
    return accounts.all.filter(
      ({ adapter }) =>
        takesDecisions(adapter) && (adapter.edit !== undefined || consoleUrl !== null),
    );
  }

  async #round(): Promise<void> {
    const { store } = this.#options;
    const accounts = this.#accounts();
    if (accounts.length === 0) return;
    const due = await store.claim(CHAT_PAGE, CLAIM_MS);
    const open = await store.readMany(due);
    for (const [at, prompt] of open.entries())
      if (prompt === null) await store.forget(due[at] ?? "");
    const known = open.filter((one) => one !== null);
    const questions = known.filter((one) => "question" in one);
    const calls = known.filter((one): one is CallPrompt => !("question" in one));
    // A runner or a broker that is away delays no approval.
    const rounds = await Promise.allSettled([
      this.#roundOfCalls(accounts, calls),
      this.#roundOfQuestions(accounts, questions),
    ]);
    const failed = rounds.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    if (due.length === CHAT_PAGE) this.look();
  }

  async #roundOfCalls(accounts: readonly Account[], open: readonly CallPrompt[]): Promise<void> {
    const { bus } = this.#options;
    const groupsOf = [...new Set(accounts.flatMap(usersOfGroups))];
    const watched = [...new Set(open.map(({ approvalId }) => approvalId))];
    let states: readonly Approval[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < MAX_PAGES && !this.#isStopped; page += 1) {
      const asked = { groupsOf, watched: page === 0 ? watched : [] };
      const found: z.output<typeof approvalsForChats.reply> = await call(
        bus,
        approvalsForChats,
        cursor === null ? asked : { ...asked, cursor },
      );
      if (page === 0) states = found.watched;
      for (const waiting of found.pending) await this.#ask(waiting, accounts);
      cursor = found.next;
      if (cursor === null) break;
    }
    for (const prompt of open) {
      const approval = states.find(({ id }) => id === prompt.approvalId) ?? null;
      const isOpen = approval !== null && approval.state === "pending";
      await this.#follow(prompt, {
        end: approval === null ? null : endText(approval),
        restMs: isOpen ? waitOf(approval.expiresAt, this.#options.now()) : null,
      });
    }
  }

  async #roundOfQuestions(
    accounts: readonly Account[],
    open: readonly QuestionPrompt[],
  ): Promise<void> {
    const { bus, now } = this.#options;
    const watched = open.map(({ question }) => question);
    const found = await call(bus, questionsForChats, { watched });
    for (const { question, links } of found.pending)
      for (const place of chatsOf(links, accounts)) await this.#askQuestion(question, place);
    for (const prompt of open) {
      const name = questionName(prompt.question);
      const ended = found.ended.find(({ ref }) => questionName(ref) === name);
      const isUnsent = prompt.messageId === null && prompt.linkCode === undefined;
      const restMs = isUnsent ? SOON_MS : waitOf(prompt.expiresAt, now());
      await this.#follow(prompt, {
        end: ended === undefined ? null : questionEndText(ended),
        restMs: ended === undefined ? restMs : null,
      });
    }
  }

  /** Sends a waiting call to every chat that has not got it. */
  async #ask(waiting: Waiting, accounts: readonly Account[]): Promise<void> {
    const { store } = this.#options;
    const places = placesOf(waiting, accounts);
    const ids = places.map(({ address }) => promptIdOf(waiting.approval, address));
    const known = await store.readMany(ids);
    for (const [at, place] of places.entries())
      if ((known[at]?.state ?? "new") === "new") await this.#send(waiting, place, ids[at] ?? "");
  }

  async #send(
    waiting: Waiting,
    { account, address, personId }: Place,
    promptId: string,
  ): Promise<void> {
    const { store, consoleUrl } = this.#options;
    const { approval } = waiting;
    const { maxTextLength } = account.adapter.capabilities;
    const prompt = await store.create(
      {
        ...newMessage(promptId, { account, address, personId }),
        approvalId: approval.id,
        binding: approval.binding,
        risk: approval.risk,
        codes: { approve: newCode(), deny: newCode() },
        title: titleOf(approval),
        ...promptText(waiting, { maxLength: maxTextLength, consoleUrl }),
        expiresAt: approval.expiresAt,
      },
      WAIT_MS,
    );
    if (!("question" in prompt))
      await this.#post(account, prompt, [
        { label: "Approve", data: buttonData(promptId, prompt.codes.approve) },
        { label: "Deny", data: buttonData(promptId, prompt.codes.deny) },
      ]);
  }

  /** Sends a question to the private chat of a person, unless it is there. */
  async #askQuestion(question: ChatQuestion, place: Place): Promise<void> {
    const { store, consoleUrl } = this.#options;
    const { ref, binding, until, run, server } = question;
    const { account, address } = place;
    const promptId = questionPromptId(question, address);
    const known = await store.read(promptId);
    if (known !== null && known.state !== "new") return;
    const { choices, textAs, list } = questionForm(question);
    const hasLink = account.adapter.edit === undefined;
    const how = howToAnswer({ ref, choices, textAs, hasLink, consoleUrl });
    const { maxTextLength } = account.adapter.capabilities;
    const prompt = await store.create(
      {
        ...newMessage(promptId, place),
        question: ref,
        binding,
        choices: choices.map(({ label, reply }) => ({ code: newCode(), label, reply })),
        textAs,
        title: run?.agent ?? server?.server ?? "",
        ...questionText(question, { list, how }, maxTextLength),
        expiresAt: until,
      },
      SOON_MS,
    );
    if ("question" in prompt)
      await this.#post(
        account,
        prompt,
        prompt.choices.map(({ label, code }) => ({ label, data: buttonData(promptId, code) })),
      );
  }

  async #post(account: Account, prompt: Prompt, buttons: readonly MessageButton[]): Promise<void> {
    const { store, outbox, holder, links, consoleUrl, now } = this.#options;
    const { promptId, address, sendId, linkCode } = prompt;
    const { text, argumentsAt } = withLink(prompt, links.tokenOf(prompt), consoleUrl);
    await outbox.send(
      account,
      {
        sendId,
        caller: account.settings.entry.caller,
        digest: canonicalDigest({ promptId }),
        at: new Date(now()).toISOString(),
        address,
        text,
        verbatimFrom: argumentsAt,
        pieces: [text],
        attachments: [],
        silent: false,
        ...(linkCode === undefined && buttons.length > 0 && { buttons: [...buttons] }),
        degraded: [],
        about: { tool: null, runId: null, sessionKey: null, answerTo: null },
        ...BEGINNING,
        isAnnounced: false,
        holder,
        patientUntil: now() + SEND_MS,
      },
      // The message is stored then; a slow provider delays no other one.
      now(),
    );
    await store.write({ ...prompt, state: "asked" });
  }

  /** Shows in a message what became of its call or question. `end` is null for one that waits or is gone, `restMs` for one that has ended. */
  async #follow(
    prompt: Prompt,
    { end, restMs }: { readonly end: string | null; readonly restMs: number | null },
  ): Promise<void> {
    const { store, sends, accounts } = this.#options;
    const send = prompt.messageId === null ? await sends.read(prompt.sendId) : null;
    const messageId = prompt.messageId ?? send?.record.messageIds.at(-1) ?? null;
    if (restMs !== null) {
      // The record of the send is gone after a day, and a call may wait for longer.
      if (messageId !== prompt.messageId) await store.write({ ...prompt, messageId });
      return store.rest(prompt.promptId, restMs);
    }
    if (end === null || prompt.state === "ended") return store.finish(prompt);
    if (send?.record.state === "open") return store.rest(prompt.promptId, SOON_MS);
    const { channel, accountId } = prompt.address;
    const account = accounts.get(channel, accountId);
    // A mail, a message that was not delivered, and one whose id is unknown stay as they are; their buttons and links are refused.
    if (messageId === null || prompt.linkCode !== undefined) return store.finish(prompt);
    if (account?.adapter.edit === undefined) return store.rest(prompt.promptId, WAIT_MS);
    const waitMs = await this.#edit(account, { prompt, messageId, end });
    return waitMs === null ? store.finish(prompt) : store.rest(prompt.promptId, waitMs);
  }

  /** Null when the message shows the end or never will; otherwise when to retry. */
  async #edit(
    { adapter, redact }: Account,
    {
      prompt,
      messageId,
      end,
    }: { readonly prompt: Prompt; readonly messageId: string; readonly end: string },
  ): Promise<number | null> {
    const { sendMs, log } = this.#options;
    const { address, text, argumentsAt, promptId } = prompt;
    const before = `${end}\n\n`;
    const content = {
      text: cutText(before + text, adapter.capabilities.maxTextLength),
      verbatimFrom: before.length + argumentsAt,
    };
    const signal = AbortSignal.timeout(sendMs);
    try {
      await adapter.edit?.({ address, messageId }, content, { idempotencyKey: promptId, signal });
      return null;
    } catch (error) {
      const said = redact(error instanceof Error ? error.message : String(error));
      log.warn({ promptId, problem: said }, "message about a decided call not changed");
      if (!(error instanceof ChannelError)) return WAIT_MS;
      if (error.code === "rate_limited") return error.retryAfterMs ?? WAIT_MS;
      const mayPass = error.code === "timeout_unknown" || error.code === "provider_error";
      return mayPass && !error.isFinal ? WAIT_MS : null;
    }
  }
}

/** Returns the fields that every new message has. */
function newMessage(promptId: string, { account, address, personId }: Place) {
  const hasLink = account.adapter.edit === undefined;
  return {
    promptId,
    address,
    personId,
    ...(hasLink && { linkCode: randomBytes(LINK_BYTES).toString("base64url") }),
    // No caller has this name, so no caller's key is that of a prompt.
    sendId: sendIdOf("!prompt", promptId),
    messageId: null,
    state: "new",
  } as const;
}

/** Returns the text of a message; a mail has the address of its page behind the first line, before all that a model wrote. */
function withLink(
  { text, argumentsAt }: Prompt,
  token: string | null,
  consoleUrl: string | null,
): Pick<Prompt, "text" | "argumentsAt"> {
  if (token === null || consoleUrl === null) return { text, argumentsAt };
  const line = `\nDecide or answer on this page, and give its address to no one: ${consoleUrl}/decide/${token}`;
  const at = text.indexOf("\n");
  return {
    text: text.slice(0, at) + line + text.slice(at),
    argumentsAt: argumentsAt + line.length,
  };
}

/** The same call in the same chat is one message; a call that is requested again is another one. */
function promptIdOf({ id, requestedAt }: Approval, address: Address): string {
  const named = canonicalDigest({ id, requestedAt, address });
  return createHash("sha256").update(named).digest("hex").slice(0, 32);
}

function questionPromptId({ ref, binding }: ChatQuestion, address: Address): string {
  const named = canonicalDigest({ ref, binding, address });
  return createHash("sha256").update(named).digest("hex").slice(0, 32);
}

function newCode(): string {
  return randomBytes(8).toString("base64url");
}

function waitOf(expiresAt: string, now: number): number {
  return Math.max(SOON_MS, Math.min(WAIT_MS, Date.parse(expiresAt) - now + SOON_MS));
}

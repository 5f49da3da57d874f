import { createHash, randomBytes } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { approvalsForChats, CHAT_PAGE } from "@switchyard/contracts/policy/chat-links";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import type { Log } from "@switchyard/service/log";
import type { z } from "zod";
import type { Account, Accounts } from "../accounts/accounts.ts";
import { type ChannelAdapter, ChannelError } from "../adapters/adapter.ts";
import type { Outbox } from "../outbound/outbox.ts";
import { BEGINNING, sendIdOf } from "../outbound/send-message.ts";
import type { SendStore } from "../outbound/send-store.ts";
import { buttonData } from "./press-button.ts";
import type { Prompt, PromptStore } from "./prompt-store.ts";
import { endText, promptText, titleOf } from "./prompt-text.ts";

export interface PromptsOptions {
  readonly bus: Bus;
  readonly accounts: Accounts;
  readonly outbox: Outbox;
  readonly sends: Pick<SendStore, "read">;
  readonly store: PromptStore;
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

/** True for the adapters in whose conversations persons can decide. */
export function takesDecisions(adapter: ChannelAdapter): boolean {
  return adapter.edit !== undefined || adapter.hasDecisionLinks === true;
}

/**
 * Shows waiting calls in chats, and in the end what was decided. The policy service has the truth; the messages follow it, whether a call
 * was decided by a button, elsewhere or not at all. Each step is stored and may be repeated, so any replica can continue.
 */
export class Prompts {
  readonly #options: PromptsOptions;
  readonly #timer: NodeJS.Timeout;
  #working: Promise<void> = Promise.resolve();
  #isWanted = false;
  #isStopped = false;

  constructor(options: PromptsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), ROUND_MS).unref();
  }

  /** Begins a round now, or after the one in progress. */
  look(): void {
    if (this.#isWanted || this.#isStopped) return;
    this.#isWanted = true;
    this.#working = this.#working
      .then(() => {
        this.#isWanted = false;
        return this.#round();
      })
      .catch((err: unknown) =>
        this.#options.log.warn({ err }, "waiting calls not compared with their messages"),
      );
  }

  /** An approval has ended: its messages are changed in the next round. */
  ended(approvalId: string): void {
    if (this.#accounts().length === 0) return;
    this.#options.store
      .hurry(approvalId)
      .then(() => this.look())
      .catch(() => {}); // the next round finds it anyway
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#working;
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
    const { bus, store } = this.#options;
    const accounts = this.#accounts();
    if (accounts.length === 0 || this.#isStopped) return;
    const groupsOf = [...new Set(accounts.flatMap(usersOfGroups))];
    const due = await store.claim(CHAT_PAGE, CLAIM_MS);
    const open = await store.readMany(due);
    const watched = [...new Set(open.flatMap((one) => (one === null ? [] : [one.approvalId])))];
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
    for (const [at, prompt] of open.entries())
      if (prompt === null) await store.forget(due[at] ?? "");
      else await this.#follow(prompt, states.find(({ id }) => id === prompt.approvalId) ?? null);
    if (due.length === CHAT_PAGE) this.look();
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
    const { store, outbox, holder, consoleUrl, now } = this.#options;
    const { approval } = waiting;
    const hasLink = account.adapter.edit === undefined;
    const { maxTextLength } = account.adapter.capabilities;
    // No caller has this name, so no caller's key is that of a prompt.
    const sendId = sendIdOf("!prompt", promptId);
    const prompt = await store.create(
      {
        promptId,
        approvalId: approval.id,
        binding: approval.binding,
        risk: approval.risk,
        address,
        personId,
        codes: { approve: newCode(), deny: newCode() },
        ...(hasLink && { linkCode: randomBytes(LINK_BYTES).toString("base64url") }),
        title: titleOf(approval),
        ...promptText(waiting, { maxLength: maxTextLength, consoleUrl }),
        sendId,
        messageId: null,
        expiresAt: approval.expiresAt,
        state: "new",
      },
      WAIT_MS,
    );
    const { codes } = prompt;
    const { text, argumentsAt } = withLink(prompt, consoleUrl);
    const buttons = [
      { label: "Approve", data: buttonData(promptId, codes.approve) },
      { label: "Deny", data: buttonData(promptId, codes.deny) },
    ];
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
        ...(!hasLink && { buttons }),
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

  /** Shows in a message what became of its call. `approval` is null for one that is gone. */
  async #follow(prompt: Prompt, approval: Approval | null): Promise<void> {
    const { store, sends, accounts } = this.#options;
    const end = approval === null ? null : endText(approval);
    if (approval !== null && end === null)
      return store.rest(prompt.promptId, waitOf(approval, this.#options.now()));
    if (approval === null || end === null || prompt.state === "ended") return store.finish(prompt);
    const send = await sends.read(prompt.sendId);
    if (send?.record.state === "open") return store.rest(prompt.promptId, SOON_MS);
    const messageId = send?.record.messageIds.at(-1) ?? prompt.messageId;
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

interface Place {
  readonly account: Account;
  readonly address: Address;
  /** Null for a group. */
  readonly personId: string | null;
}

/** The private chats of links with `asks`, and the groups of `channels.json`. */
function placesOf({ approval, links }: Waiting, accounts: readonly Account[]): Place[] {
  const chats = links.flatMap(({ channel, accountId, personId }): Place[] => {
    const account = accounts.find(
      ({ settings }) => settings.channel === channel && settings.accountId === accountId,
    );
    if (account === undefined) return [];
    const target = { kind: "user", id: personId } as const;
    return [{ account, address: { channel, accountId, target }, personId }];
  });
  const groups = accounts.flatMap((account) => {
    const { channel, accountId, entry } = account.settings;
    // A link decides as one person, so it is not sent to several.
    if (account.adapter.edit === undefined) return [];
    return entry.approvals
      .filter(({ of = [entry.caller] }) => of.includes("*") || of.includes(approval.principal.user))
      .map(({ target, threadId }): Place => {
        const thread = threadId === undefined ? {} : { threadId };
        return { account, address: { channel, accountId, target, ...thread }, personId: null };
      });
  });
  return [...chats, ...groups];
}

function usersOfGroups({ settings: { entry } }: Account): string[] {
  return entry.approvals.flatMap(({ of = [entry.caller] }) => of);
}

/** Returns the text of a message; a mail has the address of its page behind the first line, before all that a model wrote. */
function withLink(
  { promptId, linkCode, text, argumentsAt }: Prompt,
  consoleUrl: string | null,
): Pick<Prompt, "text" | "argumentsAt"> {
  if (linkCode === undefined || consoleUrl === null) return { text, argumentsAt };
  const line = `\nDecide on this page, and give its address to no one: ${consoleUrl}/decide/${promptId}.${linkCode}`;
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

function newCode(): string {
  return randomBytes(8).toString("base64url");
}

function waitOf({ expiresAt }: Approval, now: number): number {
  return Math.max(SOON_MS, Math.min(WAIT_MS, Date.parse(expiresAt) - now + SOON_MS));
}

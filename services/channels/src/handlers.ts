import { randomBytes } from "node:crypto";
import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import * as channels from "@switchyard/contracts/channels/channels";
import { RUNNER_USER, SCHEDULER_USER } from "@switchyard/contracts/user-names";
import { StoreError } from "@switchyard/service/store-error";
import type { z } from "zod";
import type { Account } from "./accounts/accounts.ts";
import { NoSecretStore, type Login, type LoginRequest } from "./accounts/followed-accounts.ts";
import { isAdmin, mayUse } from "./accounts/find-account.ts";
import type { ButtonPress, InboundSink, IncomingMessage, PressAnswer } from "./adapters/adapter.ts";
import { actOn, findTarget, readMessages } from "./outbound/act.ts";
import { broadcast } from "./outbound/broadcast.ts";
import { accountFor, sendMessage, type SendParts } from "./outbound/send-message.ts";

export interface HandlerParts extends SendParts {
  /** The longest duration of a provider's request, in milliseconds. */
  readonly sendMs: number;
  readonly takeIn: (
    account: Account,
    message: IncomingMessage,
  ) => Promise<{
    readonly outcome: "stored" | "known" | "ignored";
    readonly reason: string | null;
  }>;
  readonly press: (account: Account, press: ButtonPress) => Promise<PressAnswer>;
  readonly openDecision: (
    request: z.output<typeof channels.openDecision.request>,
    fail: CallContext<typeof channels.openDecision>["fail"],
  ) => Promise<z.output<typeof channels.openDecision.reply>>;
  /** Resolves to null when the file has no such account. */
  readonly login: (asked: LoginRequest & { readonly signal: AbortSignal }) => Promise<Login | null>;
  /** Returns where the user's own people wrote last. */
  readonly lastOf: (caller: string) => Promise<Address | null>;
  readonly inboundOf: (account: Account) => {
    readonly inbound: "connected" | "connecting" | "standby" | "error" | "none";
    readonly problem: string | null;
  };
}

/** Services that speak for the users that they work for. */
const SPEAKERS: ReadonlySet<string> = new Set([SCHEDULER_USER, RUNNER_USER]);

/** Answers the contracts of channels. */
export function handleChannels(service: Service, parts: HandlerParts): void {
  service.handle(channels.sendChannelMessage, (request, context) =>
    sendMessage(parts, request, {
      fail: context.fail,
      deadline: context.deadline,
      caller: callerOf(request, context),
    }),
  );
  service.handle(channels.broadcastChannelMessage, (request, context) =>
    broadcast(parts, request, {
      deadline: context.deadline,
      signal: context.signal,
      caller: callerOf(request, context),
    }),
  );
  handleActions(service, parts);
  handleAccounts(service, parts);
  handleSubmissions(service, parts);
  handleRequests(service, parts);
  handleLogins(service, parts);
}

function handleActions(service: Service, parts: HandlerParts): void {
  service.handle(channels.reactToMessage, (request, context) =>
    actOn(
      parts,
      { message: request.message, action: "react" },
      {
        fail: context.fail,
        caller: callerOf(request, context),
        act: ({ adapter }, at, call) => adapter.react?.(at, request, call),
      },
    ),
  );
  service.handle(channels.deleteChannelMessage, (request, context) =>
    actOn(
      parts,
      { message: request.message, action: "delete" },
      {
        fail: context.fail,
        caller: callerOf(request, context),
        act: ({ adapter }, at, call) => adapter.delete?.(at, call),
      },
    ),
  );
  service.handle(channels.pinMessage, (request, context) =>
    actOn(
      parts,
      { message: request.message, action: "pin" },
      {
        fail: context.fail,
        caller: callerOf(request, context),
        act: ({ adapter }, at, call) => adapter.pin?.(at, request, call),
      },
    ),
  );
  service.handle(channels.readChannelMessages, (request, context) =>
    readMessages(parts, request, { fail: context.fail, caller: callerOf(request, context) }),
  );
  service.handle(channels.resolveTarget, (request, context) =>
    findTarget(parts, request, { fail: context.fail, caller: callerOf(request, context) }),
  );
}

function handleAccounts(service: Service, parts: HandlerParts): void {
  const { accounts, inboundOf, lastOf } = parts;
  service.handle(channels.listChannelAccounts, (request, context) => {
    const caller = callerOf(request, context);
    const shown = accounts.all.filter(
      (account) =>
        mayUse(account, caller) &&
        (request.channel === undefined || account.settings.channel === request.channel),
    );
    const infos = shown.map((account) => {
      const { channel, accountId, entry } = account.settings;
      const { capabilities } = account.adapter;
      const agent = entry.agent ?? null;
      const { inbound, problem } = inboundOf(account);
      return {
        channel,
        accountId,
        caller: entry.caller,
        agent,
        capabilities,
        inbound,
        problem,
      };
    });
    return { accounts: infos, problems: isAdmin(context.caller) ? [...accounts.problems] : [] };
  });

  service.handle(channels.lastAddress, async (request, context) => ({
    address: await lastOf(callerOf(request, context)),
  }));

  service.handle(channels.channelCapabilities, (request, context) => {
    const { channel, accountId } = request;
    const caller = callerOf(request, context);
    const { settings, adapter } = accountFor(
      accounts,
      { caller, channel, accountId },
      context.fail,
    );
    return { channel, accountId: settings.accountId, capabilities: adapter.capabilities };
  });

  service.handle(channels.checkChannelAccount, async ({ channel, accountId }, context) => {
    const asked = { caller: context.caller, channel, accountId };
    const { settings, adapter, redact } = accountFor(accounts, asked, context.fail);
    const named = { channel, accountId: settings.accountId };
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(parts.sendMs)]);
    try {
      const { identity } = await adapter.check({ idempotencyKey: "check", signal });
      return { ...named, ok: true, identity, problem: null };
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      return { ...named, ok: false, identity: null, problem: redact(said) };
    }
  });
}

/** Accepts secrets of accounts only from the user who runs the installation. */
function handleLogins(service: Service, { accounts, login, sendMs }: HandlerParts): void {
  service.handle(channels.loginChannelAccount, async (request, { caller, fail, signal }) => {
    const { channel, accountId = null } = request;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(sendMs)]);
    const known = accounts.all.map(({ name }) => name);
    const message = "there is no such account in channels.json, or several: name channel/account";
    const unknown = () => fail.unknown_account(message, { channel, accountId, known });
    if (!isAdmin(caller)) throw unknown();
    try {
      const found = await login({ ...request, signal: limited });
      if (found === null) throw unknown();
      return found;
    } catch (error) {
      if (!(error instanceof NoSecretStore)) throw error;
      throw fail.no_secret_store(error.message, { setting: "YARD_KEYS_DIR" });
    }
  });
}

/** Handles messages of channels that have no provider. In webchat a caller can only write as itself. */
function handleSubmissions(service: Service, { accounts, takeIn, now }: HandlerParts): void {
  service.handle(channels.submitChannelMessage, async (request, { caller, fail }) => {
    const { channel, accountId, threadId, text, replyToMessageId, mentionsAccount } = request;
    const account = accountFor(accounts, { caller, channel, accountId }, fail);
    const own = account.settings.entry.caller === caller || isAdmin(caller);
    const isTest = channel === "loopback" && own;
    const { sender = { id: caller }, target = { kind: "user" as const, id: caller } } = request;
    const isOther = sender.id !== caller || (target.kind === "user" && target.id !== caller);
    if (isOther && !isTest)
      throw fail.not_allowed(`in ${channel} you speak as ${caller} alone`, {
        channel,
        accountId: account.settings.accountId,
      });
    const messageId = request.messageId ?? randomBytes(16).toString("hex");
    const thread = threadId === undefined ? {} : { threadId };
    const { name } = sender;
    const taken = await takeIn(account, {
      target,
      ...thread,
      messageId,
      sender: { id: sender.id, ...(name === undefined ? {} : { name }) },
      text,
      ...(replyToMessageId === undefined ? {} : { replyToMessageId }),
      mentionsAccount,
      writtenAt: new Date(now()),
    });
    const address = { channel, accountId: account.settings.accountId, target, ...thread };
    return { address, messageId, ...taken };
  });
}

/** Handles HTTP requests of providers. The account's adapter authenticates them, and answers when the message is stored. */
function handleRequests(service: Service, parts: HandlerParts): void {
  const { accounts, takeIn, press } = parts;
  service.handle(
    channels.receiveChannelRequest,
    async ({ channel, accountId, headers, body }, { fail }) => {
      const account = accounts.get(channel, accountId);
      if (account?.adapter.receive === undefined)
        throw fail.unknown_account(`no account ${channel}/${accountId} takes requests`, {
          channel,
          accountId,
        });
      const accept: InboundSink["accept"] = async (message) => {
        try {
          return (await takeIn(account, message)).outcome;
        } catch (error) {
          const cause = error instanceof Error ? error.message : String(error);
          throw fail.store_unavailable("the message could not be stored; send it again", { cause });
        }
      };
      const request = { method: "POST", path: "", headers, body: Buffer.from(body, "base64") };
      const sink = {
        accept,
        press: (pressed: ButtonPress) => press(account, pressed),
        state: () => {},
        lost: () => {},
      };
      const answer = await account.adapter.receive(request, sink);
      const { status, contentType = null, body: text = null } = answer;
      return { status, contentType, body: text };
    },
  );

  service.handle(channels.openDecision, async (request, { fail }) => {
    try {
      return await parts.openDecision(request, fail);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw fail.store_unavailable("the link cannot be read now; open it again later", {
        cause: error.message,
      });
    }
  });

  service.handle(channels.listChannelHooks, () => ({
    accounts: accounts.all
      .filter(({ adapter }) => adapter.receive !== undefined)
      .map(({ settings: { channel, accountId } }) => ({ channel, accountId })),
  }));
}

/** Returns the caller that a trusted service acts for; `onBehalfOf` of any other caller is ignored. */
function callerOf(
  { onBehalfOf }: { readonly onBehalfOf?: string | undefined },
  { caller }: Pick<CallContext, "caller">,
): string {
  return SPEAKERS.has(caller) ? (onBehalfOf ?? caller) : caller;
}

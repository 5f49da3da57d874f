import { randomBytes } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { follow } from "@switchyard/bus/follow";
import { serve } from "@switchyard/bus/serve";
import {
  approvalDecided,
  approvalExpired,
  approvalRequested,
} from "@switchyard/contracts/policy/approval-events";
import {
  questionEnded,
  questionRequested as serverQuestionRequested,
} from "@switchyard/contracts/mcp-broker/mcp-questions";
import {
  questionAnswered,
  questionRequested as runQuestionRequested,
  runEnds,
} from "@switchyard/contracts/agent-runner/run-events";
import { answersFromStore } from "@switchyard/service/answers-from-store";
import { createEgressGuard } from "@switchyard/service/network/egress-guard";
import type { ServiceKit } from "@switchyard/service/define-service";
import { createAccountLeases, leaseKey } from "./accounts/account-leases.ts";
import { Accounts } from "./accounts/accounts.ts";
import { createCursor } from "./accounts/cursor-store.ts";
import { FollowedAccounts } from "./accounts/followed-accounts.ts";
import { createMailbox } from "./accounts/mailbox-store.ts";
import { adapters } from "./adapters/adapter-list.ts";
import { HOSTS_SETTING, type ChannelsConfig } from "./config.ts";
import { answerByReply } from "./decisions/answer-question.ts";
import { createDecisionLinks, type DecisionLinks } from "./decisions/decision-links.ts";
import { linkChat } from "./decisions/link-chat.ts";
import { openDecisionLink } from "./decisions/open-decision.ts";
import { pressButton } from "./decisions/press-button.ts";
import { createPromptStore, questionName } from "./decisions/prompt-store.ts";
import { Prompts, type PromptsOptions } from "./decisions/prompts.ts";
import { handleChannels, type HandlerParts } from "./handlers.ts";
import { AnswerMessages } from "./inbound/answer-messages.ts";
import { Connections } from "./inbound/connections.ts";
import { createInboundStore } from "./inbound/inbound-store.ts";
import { lastAddress } from "./inbound/last-address.ts";
import { noteSent } from "./inbound/note-sent.ts";
import { receiveMessage } from "./inbound/receive-message.ts";
import { loadAttachments, type AttachmentLimits } from "./outbound/attachments.ts";
import { Outbox, type OutboxOptions } from "./outbound/outbox.ts";
import { createSaidTexts } from "./outbound/said-texts.ts";
import { createSendStore } from "./outbound/send-store.ts";
import { constant } from "@switchyard/service/constant";

export interface ChannelsOptions extends Pick<
  ServiceKit<ChannelsConfig>,
  "bus" | "redis" | "storage" | "log" | "config" | "env"
> {
  readonly version: string;
}

export interface Channels {
  /** No new messages → those on their way get their answers → connections end. */
  stop(): Promise<void>;
}

/** A provider may take less; of attachments of people 10 MiB are loaded. */
const MAX_ATTACHMENT_BYTES = 20 * 1_024 * 1_024;

/** The time that a provider may take for one message or action. */
function sendTimeoutMs(): number {
  return constant("channelsSendMs", 20_000);
}
const SERVICE = {
  name: "channels",
  description: "Messages to and from people, over the accounts of channels.json",
  interceptors: [answersFromStore],
};

/** Starts the service on an open bus. Rejects with a StartError when channels.json makes no sense. */
export async function startChannels(options: ChannelsOptions): Promise<Channels> {
  const { bus, log, config, version } = options;
  const now = Date.now;
  const holder = randomBytes(8).toString("hex");
  // Connections begin after all of it is made.
  const receiving = { press: notYet, takeIn: notYet } as Receiving;
  const { accounts, connections, messages, limits } = openAccounts(options, { holder, receiving });
  const stopping = new AbortController();
  const sendMs = sendTimeoutMs();
  const sending = { accounts, holder, limits, stopping: stopping.signal };
  const { outbox, sends, said } = createOutbox(options, sending);
  const answers = new AnswerMessages({
    bus,
    accounts,
    outbox,
    store: messages,
    said: (...asked) => said.has(...asked),
    holder,
    maxFileBytes: limits.maxBytes,
    now,
    log,
  });
  const links = await createDecisionLinks(config.YARD_NATS_NKEY_FILE);
  const prompts = createPrompts(options, { accounts, outbox, sends, holder, links });
  receiving.press = prompts.press;
  const linking = { bus, outbox, holder, log, now };
  const { store, work } = prompts;
  const replying = { ...linking, sends, store, look: () => work.look() };
  receiving.takeIn = async (account, from) =>
    (await linkChat(linking, account, from.message)) ||
    (await answerByReply(replying, account, from.message))
      ? { outcome: "stored", reason: null }
      : receiveMessage({ store: messages, now }, account, from);
  const following = followEvents(bus, { answers, prompts });
  const service = serve(bus, {
    ...SERVICE,
    version,
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  const followed = followAccounts(options, accounts, await secretsFileOf(options.config));
  handleChannels(service, {
    accounts,
    login: (asked) => followed.login(asked),
    outbox,
    limits,
    holder,
    now,
    sendMs,
    inboundOf: (account) => connections.stateOf(account),
    lastOf: (caller) => lastAddress({ store: messages, accounts }, caller),
    press: receiving.press,
    openDecision: prompts.openDecision,
    takeIn: async (account, message) => {
      const taken = await receiving.takeIn(account, { message, lease: null });
      answers.look();
      return taken;
    },
  });
  await followed.start();
  return {
    async stop() {
      stopping.abort();
      await followed.close();
      for (const one of following) one.stop();
      await service.drain();
      await connections.stop();
      await answers.stop();
      await prompts.work.stop();
      await outbox.stop();
      await accounts.close();
    },
  };
}

/** Events bring work forward; the services have the truth. */
function followEvents(
  bus: ChannelsOptions["bus"],
  {
    answers,
    prompts: { work },
  }: { readonly answers: AnswerMessages; readonly prompts: { readonly work: Prompts } },
) {
  return [
    ...runEnds.map((contract) => follow(bus, contract, ({ runId }) => answers.ended(runId))),
    ...[approvalRequested, runQuestionRequested, serverQuestionRequested].map((contract) =>
      follow(bus, contract, () => work.look()),
    ),
    ...[approvalDecided, approvalExpired].map((contract) =>
      follow(bus, contract, ({ approvalId }) => work.ended(approvalId)),
    ),
    follow(bus, questionAnswered, ({ runId, callId }) =>
      work.ended(questionName({ runId, callId })),
    ),
    follow(bus, questionEnded, ({ question }) => work.ended(question.id)),
  ];
}

function createOutbox(
  { bus, redis, storage, log }: ChannelsOptions,
  {
    accounts,
    holder,
    limits,
    stopping,
  }: Pick<OutboxOptions, "accounts" | "holder" | "stopping"> & {
    readonly limits: AttachmentLimits;
  },
) {
  const said = createSaidTexts(redis);
  const sends = createSendStore(redis, storage);
  const outbox = new Outbox({
    said,
    note: (record) => noteSent({ bus, accounts }, record),
    bus,
    accounts,
    log,
    store: sends,
    holder,
    sendMs: sendTimeoutMs(),
    now: Date.now,
    load: ({ attachments }) => loadAttachments(attachments, limits),
    stopping,
  });
  return { outbox, sends, said };
}

/** The file for secrets of logins. Undefined where the directory of keys has none: then a login stores nothing. */
async function secretsFileOf({
  YARD_KEYS_DIR: directory,
}: ChannelsConfig): Promise<string | undefined> {
  if (directory === undefined) return undefined;
  const file = join(directory, "channels.env");
  return access(file).then(
    () => file,
    () => undefined,
  );
}

function followAccounts(
  { log, env, config }: ChannelsOptions,
  accounts: Accounts,
  secretsFile: string | undefined,
) {
  return new FollowedAccounts({
    accounts,
    log,
    env,
    adapters,
    file: config.YARD_CHANNELS_FILE,
    secretsFile,
  });
}

/** Handles what connections receive. */
type Receiving = {
  -readonly [K in "press" | "takeIn"]: ConstructorParameters<typeof Connections>[0][K];
};

function notYet(): never {
  throw new Error("the service is not started yet");
}

/** The messages about waiting calls and questions, and their buttons. */
function createPrompts(
  { bus, redis, log, config }: ChannelsOptions,
  parts: Pick<PromptsOptions, "accounts" | "outbox" | "sends" | "holder"> & {
    readonly links: DecisionLinks;
  },
) {
  const now = Date.now;
  const store = createPromptStore(redis, now);
  const consoleUrl = config.YARD_HTTP_URL?.origin ?? null;
  const work = new Prompts({ ...parts, bus, log, store, sendMs: sendTimeoutMs(), consoleUrl, now });
  const { accounts, links } = parts;
  const deciding = { bus, store, log, accounts, links, look: () => work.look() };
  const press: Receiving["press"] = (account, pressed) => pressButton(deciding, account, pressed);
  const openDecision: HandlerParts["openDecision"] = (...asked) =>
    openDecisionLink(deciding, ...asked);
  return { work, press, openDecision, store };
}

/** The accounts and their connections, none in force yet. */
function openAccounts(
  { redis, storage, log, config }: ChannelsOptions,
  { holder, receiving }: { readonly holder: string; readonly receiving: Receiving },
) {
  const now = Date.now;
  const guard = createEgressGuard({
    permitted: config.YARD_CHANNELS_ALLOW_PRIVATE_HOSTS,
    setting: HOSTS_SETTING,
  });
  const limits = {
    guard,
    roots: config.YARD_CHANNELS_ROOTS,
    maxBytes: MAX_ATTACHMENT_BYTES,
  };
  const messages = createInboundStore(redis, storage);
  const leaseMs = constant("channelsLeaseMs", 15_000);
  const connections = new Connections({
    leases: createAccountLeases(redis, { owner: holder, leaseMs }),
    leaseMs,
    log,
    takeIn: (account, from) => receiving.takeIn(account, from),
    press: (account, press) => receiving.press(account, press),
  });
  const accounts = new Accounts({
    log,
    guard,
    mailbox: createMailbox(redis, (address, bytes, keptMs) => {
      const owner = accounts.get(address.channel, address.accountId)?.settings.entry.caller;
      if (owner !== undefined) storage.add(owner, bytes, keptMs);
    }),
    cursorOf: ({ channel, accountId }) => {
      const name = `${channel}/${accountId}`;
      const held = () => connections.leaseOf(name);
      return createCursor(redis, { name, leaseKey: leaseKey(name), held });
    },
    now,
    onChange: async ({ gone, come }) => {
      if (gone !== null) await connections.remove(gone);
      if (come !== null) connections.add(come);
    },
  });
  return { accounts, connections, messages, limits };
}

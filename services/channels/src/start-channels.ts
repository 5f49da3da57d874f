import { randomBytes } from "node:crypto";
import { follow } from "@switchyard/bus/follow";
import { serve } from "@switchyard/bus/serve";
import { runEnds } from "@switchyard/contracts/run-events";
import { answersFromStore } from "@switchyard/service/answers-from-store";
import { createEgressGuard } from "@switchyard/service/network/egress-guard";
import type { ServiceKit } from "@switchyard/service/define-service";
import { createAccountLeases, leaseKey } from "./accounts/account-leases.ts";
import { AccountBook } from "./accounts/account-book.ts";
import { readAccount, type ReadChannels } from "./accounts/channels-file.ts";
import { createCursor } from "./accounts/cursor-store.ts";
import { FollowedAccounts } from "./accounts/followed-accounts.ts";
import { createMailbox } from "./accounts/mailbox-store.ts";
import { adapters } from "./adapters/adapter-list.ts";
import { HOSTS_SETTING, type ChannelsConfig } from "./config.ts";
import { handleChannels } from "./handlers.ts";
import { AnswerMessages } from "./inbound/answer-messages.ts";
import { Connections } from "./inbound/connections.ts";
import { createInboundStore } from "./inbound/inbound-store.ts";
import { lastAddress } from "./inbound/last-address.ts";
import { noteSent } from "./inbound/note-sent.ts";
import { takeIn } from "./inbound/take-in.ts";
import { loadAttachments } from "./outbound/attachments.ts";
import { Outbox } from "./outbound/outbox.ts";
import { createSaidTexts } from "./outbound/said-texts.ts";
import { createSendStore } from "./outbound/send-store.ts";

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

const MIB = 1_024 * 1_024;
const SERVICE = {
  name: "channels",
  description: "Messages to and from people, over the accounts of channels.json",
  interceptors: [answersFromStore],
};

/** Starts the service on an open bus. Rejects with a StartError when channels.json makes no sense. */
export async function startChannels(options: ChannelsOptions): Promise<Channels> {
  const { bus, redis, log, config, version } = options;
  const now = Date.now;
  const holder = randomBytes(8).toString("hex");
  const { book, connections, messages, limits } = openAccounts(options, holder);
  const stopping = new AbortController();
  const sendMs = config.YARD_CHANNELS_SEND_MS;
  const said = createSaidTexts(redis);
  const outbox = new Outbox({
    said,
    note: (record) => noteSent({ bus, book }, record),
    bus,
    book,
    log,
    store: createSendStore(redis, options.storage),
    holder,
    sendMs,
    now,
    load: ({ attachments }) => loadAttachments(attachments, limits),
    stopping: stopping.signal,
  });
  const answers = new AnswerMessages({
    bus,
    book,
    outbox,
    store: messages,
    said: (...asked) => said.has(...asked),
    holder,
    maxFileBytes: limits.maxBytes,
    now,
    log,
  });
  const following = runEnds.map((contract) =>
    follow(bus, contract, ({ runId }) => answers.ended(runId)),
  );
  const service = serve(bus, {
    ...SERVICE,
    version,
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  const followed = new FollowedAccounts({
    book,
    log,
    env: options.env,
    adapters,
    own: loopbackOf(config),
    file: config.YARD_CHANNELS_FILE,
    secretsFile: config.YARD_CHANNELS_SECRETS_FILE,
  });
  handleChannels(service, {
    book,
    login: (asked) => followed.login(asked),
    outbox,
    limits,
    holder,
    now,
    sendMs,
    inboundOf: (account) => connections.stateOf(account),
    lastOf: (caller) => lastAddress({ store: messages, book }, caller),
    takeIn: async (account, message) => {
      const taken = await takeIn({ store: messages, now }, account, { message, lease: null });
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
      await outbox.stop();
      await book.close();
    },
  };
}

/** The accounts and their connections, none in force yet. */
function openAccounts({ redis, storage, log, config }: ChannelsOptions, holder: string) {
  const now = Date.now;
  const guard = createEgressGuard({
    permitted: config.YARD_CHANNELS_ALLOW_PRIVATE_HOSTS,
    setting: HOSTS_SETTING,
  });
  const limits = {
    guard,
    roots: config.YARD_CHANNELS_ROOTS,
    maxBytes: config.YARD_CHANNELS_ATTACHMENT_MB * MIB,
  };
  const messages = createInboundStore(redis, storage);
  const leaseMs = config.YARD_CHANNELS_LEASE_MS;
  const connections = new Connections({
    leases: createAccountLeases(redis, { owner: holder, leaseMs }),
    leaseMs,
    log,
    takeIn: (account, from) => takeIn({ store: messages, now }, account, from),
  });
  const book = new AccountBook({
    log,
    guard,
    mailbox: createMailbox(redis, (address, bytes, keptMs) => {
      const owner = book.get(address.channel, address.accountId)?.settings.entry.caller;
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
  return { book, connections, messages, limits };
}

/** The account of a laptop, which the file may have as well. */
function loopbackOf({ YARD_CHANNELS_LOOPBACK: caller }: ChannelsConfig): ReadChannels {
  if (caller === undefined) return { accounts: [], refused: [] };
  const entry = { caller, callers: ["*"] };
  const named = { channel: "loopback", accountId: "default", entry };
  return { accounts: [readAccount(named, { env: {}, adapters })], refused: [] };
}

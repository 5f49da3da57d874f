import { within } from "@switchyard/contracts/timeouts";
import type { Logger, WebClient } from "@slack/web-api";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import { type AdapterCall, ChannelError } from "../adapter.ts";
import type { SlackConfig } from "./slack-config.ts";
import { refusalOf, slackError } from "./slack-error.ts";

const REQUEST_MS = 30_000;

export type SlackClient = ReturnType<typeof slackClient>;

export interface SlackHistoryMessage {
  ts: string;
  text?: string;
  user?: string;
  bot_id?: string;
  thread_ts?: string;
  files?: { name?: string; mimetype?: string }[];
  metadata?: { event_payload?: { key?: string } };
}

/** Settings of the library with all of its own repetitions off. */
export function clientOptionsOf(config: SlackConfig) {
  return {
    slackApiUrl: config.apiUrl.replace(/\/?$/, "/"),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: REQUEST_MS,
  };
}

/** Requests to the Web API as one account. The library is loaded with the first. */
export function slackClient(config: SlackConfig) {
  let made: Promise<WebClient> | undefined;
  let who: Promise<{ userId: string; name: string }> | undefined;
  const direct = new Map<string, string>();
  const web = () =>
    (made ??= import("@slack/web-api").then(
      ({ WebClient: Client }) =>
        new Client(config.botToken, { ...clientOptionsOf(config), logger: quiet }),
    ));
  const me = () => {
    who ??= identify();
    who.catch(() => (who = undefined));
    return who;
  };

  async function identify() {
    const { user_id: userId, user, team } = await (await web()).auth.test();
    return { userId: userId ?? "", name: `${user} in ${team}` };
  }

  /** Sends one request; `fine` lists the errors that mean that the wanted state exists already. */
  async function ask(
    call: AdapterCall,
    method: string,
    fields: Record<string, unknown>,
    fine: readonly string[] = [],
  ): Promise<Record<string, unknown>> {
    const client = await web();
    try {
      const answer = await within(client.apiCall(method, fields), { signal: call.signal }, () => {
        throw new ChannelError("timeout_unknown", "Slack did not answer in time.");
      });
      return { ...answer };
    } catch (error) {
      if (fine.includes(refusalOf(error) ?? "")) return {};
      throw slackError(error);
    }
  }

  /** The conversation with a person has an id of its own. */
  async function channelOf({ target }: Address, call: AdapterCall): Promise<string> {
    if (target.kind !== "user" || !/^[UW]/.test(target.id)) return target.id;
    const known = direct.get(target.id);
    if (known !== undefined) return known;
    const opened = await ask(call, "conversations.open", { users: target.id }).catch(
      (error: unknown) => {
        // Opening a conversation sends no message, whatever its outcome.
        throw error instanceof ChannelError && error.code === "timeout_unknown"
          ? new ChannelError(
              "provider_error",
              "Slack did not open the conversation; nothing was sent.",
            )
          : error;
      },
    );
    const { id } = opened["channel"] as { id: string };
    if (direct.size >= 10_000) direct.clear();
    direct.set(target.id, id);
    return id;
  }

  async function history(
    address: Address,
    fields: Record<string, unknown>,
    call: AdapterCall,
  ): Promise<{ messages: SlackHistoryMessage[]; has_more?: boolean }> {
    const channel = await channelOf(address, call);
    const thread = address.threadId;
    const page = thread
      ? await ask(call, "conversations.replies", { channel, ts: thread, ...fields })
      : await ask(call, "conversations.history", { channel, ...fields });
    return page as unknown as { messages: SlackHistoryMessage[]; has_more?: boolean };
  }

  return { me, ask, channelOf, history };
}

/** Silences the library: its errors are thrown, and its log lines contain payloads. */
export const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => "error" as never,
  setName: () => undefined,
};

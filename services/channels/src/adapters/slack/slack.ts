import type { Capabilities } from "@switchyard/contracts/channels/channel-address";
import {
  type AdapterDefinition,
  type AdapterKit,
  type ChannelAdapter,
  ChannelError,
  type InboundSink,
} from "../adapter.ts";
import { keepConnected } from "../keep-connected.ts";
import { slackActions } from "./slack-actions.ts";
import { clientOptionsOf, quiet, slackClient } from "./slack-client.ts";
import { SlackConfig } from "./slack-config.ts";
import { slackError, slackProblem } from "./slack-error.ts";
import { type AskSlack, loadSharedFile } from "./slack-files.ts";
import { readSlackHook } from "./slack-hook.ts";
import { slackMessage } from "./slack-message.ts";
import { answerSlackPress, isSlackPress } from "./slack-press.ts";
import { slackSending } from "./slack-send.ts";
import { openSlackSocket } from "./slack-socket.ts";

const capabilities: Capabilities = {
  actions: ["send", "reply", "thread", "react", "delete", "pin", "read", "resolve", "attachments"],
  // Slack takes 40,000 characters, and each of three kinds of ours becomes up to five there.
  maxTextLength: 8_000,
  media: { kinds: ["image", "audio", "video", "file"], maxBytes: 100_000_000 },
  effects: [],
  threads: "reply",
  reactions: "named",
  idempotentSend: false,
};

/** Apps of Slack, in socket mode or by the Events API. */
export const slack: AdapterDefinition<SlackConfig> = {
  name: "slack",
  config: SlackConfig,
  secrets: ({ botToken, appToken, signingSecret }) =>
    [botToken, appToken, signingSecret].filter((secret) => secret !== undefined),
  create,
};

function create(config: SlackConfig, kit: AdapterKit): ChannelAdapter {
  const client = slackClient(config);
  const { appToken, signingSecret } = config;
  let done: Promise<void> | undefined;
  const press = (payload: unknown, sink: InboundSink) =>
    answerSlackPress(payload, { sink, apiUrl: config.apiUrl });
  return {
    capabilities,

    ...(appToken !== undefined && {
      async start(sink, signal) {
        const connect = async () =>
          openSlackSocket({
            appToken,
            clientOptions: clientOptionsOf(config),
            logger: quiet,
            me: await client.me(),
            sink,
            press,
            signal,
          });
        const connection = await keepConnected({
          connect,
          problem: slackProblem,
          sink,
          signal,
        }).catch((error: unknown) => {
          throw new ChannelError("provider_error", slackProblem(error).text);
        });
        done = connection.done;
      },
    }),

    ...(signingSecret !== undefined && {
      async receive(request, sink) {
        const hook = readSlackHook(request, signingSecret, kit.now());
        if ("answer" in hook) return hook.answer;
        if (isSlackPress(hook.payload)) {
          await press(hook.payload, sink);
          return { status: 200 };
        }
        const message = slackMessage(hook.payload, await client.me());
        if (message) await sink.accept(message);
        return { status: 200 };
      },
    }),

    ...slackSending(client, { linkPreviews: config.linkPreviews, now: kit.now }),
    load(source, { maxBytes, signal }) {
      const ask: AskSlack = (...call) => client.ask({ idempotencyKey: source, signal }, ...call);
      return loadSharedFile(ask, config, { id: source, maxBytes, signal });
    },

    ...slackActions(client),

    async check() {
      try {
        return { identity: (await client.me()).name };
      } catch (error) {
        throw slackError(error);
      }
    },

    async close() {
      await done;
    },
  };
}

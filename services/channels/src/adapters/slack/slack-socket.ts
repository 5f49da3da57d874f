import { within } from "@switchyard/contracts/timeouts";
import type { Logger } from "@slack/web-api";
import type { InboundSink } from "../adapter.ts";
import { ChannelError } from "../adapter.ts";
import { slackMessage } from "./slack-message.ts";

const HELLO_MS = 30_000;

export interface SlackSocketOptions {
  readonly appToken: string;
  readonly clientOptions: {
    slackApiUrl: string;
    retryConfig: { retries: number };
    timeout: number;
  };
  readonly logger: Logger;
  readonly me: { readonly userId: string };
  readonly sink: InboundSink;
  /** Handles an interaction; resolves in time for its acknowledgement. */
  readonly press: (payload: unknown, sink: InboundSink) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * One connection in socket mode. The library's own reconnecting is off: a lost network ends it with an unhandled
 * rejection. An event is acknowledged when it is stored; one that cannot be stored ends the connection, and Slack
 * delivers it again.
 */
export async function openSlackSocket({
  appToken,
  clientOptions,
  logger,
  me,
  sink,
  press,
  signal,
}: SlackSocketOptions): Promise<{ ended: Promise<void> }> {
  const { SocketModeClient } = await import("@slack/socket-mode");
  const client = new SocketModeClient({
    appToken,
    autoReconnectEnabled: false,
    logger,
    clientOptions,
  });
  const over = Promise.withResolvers<void>();
  let row: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  async function take(
    before: Promise<void>,
    { ack, body, type }: { ack: () => Promise<void>; body: unknown; type: string },
  ): Promise<void> {
    await before;
    if (failure || signal.aborted) return;
    try {
      const message = type === "events_api" ? slackMessage(body, me) : null;
      if (message) await sink.accept(message);
      await ack();
    } catch (error) {
      failure = { error };
      over.reject(error);
      client.websocket?.disconnect();
    }
  }

  client.on(
    "slack_event",
    ({ ack, body, type }: { ack: () => Promise<void>; body: unknown; type: string }) => {
      // A press is acknowledged within 3 s, so it does not wait for the messages before it.
      if (type === "interactive")
        void press(body, sink)
          .then(ack)
          .catch(() => {});
      else row = take(row, { ack, body, type });
    },
  );
  client.on("disconnected", () => (failure ? undefined : over.resolve()));
  const stop = () => {
    over.resolve();
    client.websocket?.disconnect();
  };
  signal.addEventListener("abort", stop, { once: true });
  void over.promise.catch(() => undefined).finally(() => signal.removeEventListener("abort", stop));

  try {
    await within(client.start(), { ms: HELLO_MS, signal }, () => {
      throw new ChannelError("provider_error", "Slack did not open the socket in time.");
    });
  } catch (error) {
    stop();
    throw error;
  }
  return { ended: over.promise };
}

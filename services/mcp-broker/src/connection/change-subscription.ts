import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Client,
  type SubscriptionFilter,
} from "@modelcontextprotocol/client";
import { errorText } from "../limits/call-failure.ts";
import { isModern } from "./connect-approach.ts";

export type ChangeSubscription = ReturnType<typeof createChangeSubscription>;

const ACK_TIMEOUT_MS = 5_000;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;

/**
 * Subscribes to a server's changes. Servers of the 2025 protocols send them without a subscription, except those of resources;
 * with 2026-07-28 everything is requested in one stream, which is opened again when it ends. `onGap` is called when changes may
 * have been missed.
 */
export function createChangeSubscription(
  client: Client,
  on: { onGap: () => void; onTrouble: (problem: string) => void },
) {
  const stopping = new AbortController();
  let watched: readonly string[] = [];
  let stream = new AbortController();
  let delayMs = FIRST_DELAY_MS;

  const listen = async (isAgain: boolean): Promise<void> => {
    const filter = filterOf(client, watched);
    if (Object.keys(filter).length === 0 || stopping.signal.aborted) return;
    stream = new AbortController();
    const signal = AbortSignal.any([stopping.signal, stream.signal]);
    try {
      const subscription = await client.listen(filter, { timeout: ACK_TIMEOUT_MS, signal });
      delayMs = FIRST_DELAY_MS;
      if (isAgain) on.onGap();
      subscription.closed.then((cause) => (cause === "local" ? undefined : again()), again);
    } catch (error) {
      if (signal.aborted) return;
      on.onTrouble(`cannot receive changes of the server: ${errorText(error)}`);
      if (isWorthAgain(error)) again();
    }
  };
  const again = (): void => {
    if (stopping.signal.aborted) return;
    const timer = setTimeout(() => void listen(true), delayMs);
    stopping.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    delayMs = Math.min(MAX_DELAY_MS, delayMs * 2);
  };

  return {
    /** Resolves when the server has confirmed the subscription, or cannot provide one; never rejects. */
    start: (): Promise<void> => (isModern(client) ? listen(false) : Promise.resolve()),
    /** Subscribes to the updates of these resources, replacing the earlier ones. Rejects as a request does. */
    async watchResources(uris: readonly string[]): Promise<void> {
      const before = watched;
      watched = [...uris];
      if (isModern(client)) {
        stream.abort();
        return listen(false);
      }
      for (const uri of uris.filter((each) => !before.includes(each)))
        await client.subscribeResource({ uri });
      for (const uri of before.filter((each) => !uris.includes(each)))
        await client.unsubscribeResource({ uri });
    },
    stop: (): void => stopping.abort(),
  };
}

function filterOf(client: Client, watched: readonly string[]): SubscriptionFilter {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  return {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(watched.length > 0 ? { resourceSubscriptions: [...watched] } : {}),
  };
}

/** A refusal is final, and without a connection there is no server to send to. */
function isWorthAgain(error: unknown): boolean {
  if (error instanceof ProtocolError) return false;
  return !(error instanceof SdkError && error.code === SdkErrorCode.NotConnected);
}

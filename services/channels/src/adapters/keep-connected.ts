import { backoffMs } from "@switchyard/contracts/backoff";
import { setTimeout as delay } from "node:timers/promises";
import type { InboundSink } from "./adapter.ts";

const BACKOFF = { firstMs: 1_000, mostMs: 60_000 };
/** A connection that held for so long was a good one: the next retry is the first again. */
const GOOD_CONNECTION_MS = 30_000;

export interface Connecting {
  /** Resolves when the provider has accepted the connection. `ended` settles when it is over, and rejects with the reason if it broke. */
  connect(this: void): Promise<{ readonly ended: Promise<void> }>;
  /** Converts an error for people. `isFinal`: no retry helps, such as after a revoked token. */
  problem(this: void, error: unknown): { readonly text: string; readonly isFinal: boolean };
  readonly sink: InboundSink;
  readonly signal: AbortSignal;
}

/**
 * Connects, and then connects again for as long as the account is open: after a second, then later and later, a minute
 * at most. Rejects when the first connection is refused. `done` resolves when all is over.
 */
export async function keepConnected(connecting: Connecting): Promise<{ done: Promise<void> }> {
  connecting.sink.state("connecting");
  const first = await connecting.connect();
  return { done: follow(first, connecting) };
}

async function follow(
  first: { readonly ended: Promise<void> },
  { connect, problem, sink, signal }: Connecting,
): Promise<void> {
  let current: { readonly ended: Promise<void> } | null = first;
  for (let failures = 0; !signal.aborted;) {
    const since = Date.now();
    try {
      current ??= await connect();
      sink.state("connected");
      await current.ended;
      if (signal.aborted) return;
      sink.state("connecting");
    } catch (error) {
      if (signal.aborted) return;
      const { text, isFinal } = problem(error);
      if (isFinal) {
        sink.state("error", text);
        sink.lost(text);
        return;
      }
      sink.state("connecting", text);
    }
    current = null;
    failures = Date.now() - since > GOOD_CONNECTION_MS ? 1 : failures + 1;
    const waitMs = backoffMs(failures, BACKOFF);
    await delay(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
}

// The services that an adapter gets, for tests of adapters alone.
import {
  type AdapterCall,
  type AdapterKit,
  type ButtonPress,
  type ChannelAdapter,
  ChannelError,
  type Cursor,
  type InboundSink,
  type IncomingMessage,
  type OutgoingMessage,
} from "../src/adapters/adapter.ts";
import { until } from "@switchyard/local-servers/until";

export function adapterKit(
  channel: string,
  cursor: Cursor = memoryCursor(),
): AdapterKit & { readonly lines: string[] } {
  const lines: string[] = [];
  const write = (...facts: unknown[]) => void lines.push(JSON.stringify(facts));
  return {
    channel,
    accountId: "main",
    log: { debug: write, info: write, warn: write, error: write } as never,
    guard: undefined as never,
    now: Date.now,
    cursor,
    mailbox: undefined as never,
    lines,
  };
}

export function memoryCursor(value: string | null = null): Cursor {
  let now = value;
  return { get: async () => now, set: async (next) => void (now = next) };
}

/** A sink that stores messages, detects repeats, and can be made to refuse. */
export function memorySink() {
  const messages: IncomingMessage[] = [];
  const states: { state: string; problem: string | undefined }[] = [];
  const losses: string[] = [];
  const presses: ButtonPress[] = [];
  const pressAnswer = { text: "Approved.", isAlert: false };
  const known = new Set<string>();
  let refusals = 0;
  const sink: InboundSink = {
    async accept(message) {
      if (refusals > 0) {
        refusals--;
        throw new Error("the store cannot be asked");
      }
      const key = message.dedupeKey ?? `${message.target.id}/${message.messageId}`;
      if (known.has(key)) return "known";
      known.add(key);
      messages.push(message);
      return "stored";
    },
    async press(press) {
      if (refusals > 0) {
        refusals--;
        throw new Error("the store cannot be asked");
      }
      presses.push(press);
      return pressAnswer;
    },
    state: (state, problem) => void states.push({ state, problem }),
    lost: (problem) => void losses.push(problem),
  };
  return {
    ...sink,
    messages,
    states,
    losses,
    presses,
    refuseNext: (count: number) => void (refusals = count),
    /** The texts of `count` messages, when so many are there. */
    texts: async (count: number) =>
      (
        await until(
          () => messages,
          (all) => all.length >= count,
          { timeoutMs: 20_000 },
        )
      ).map((message) => message.text),
    connectedTimes: () => states.filter(({ state }) => state === "connected").length,
  };
}

export function adapterCall(
  timeoutMs = 20_000,
  idempotencyKey = "0123456789abcdef0123456789abcdef",
): AdapterCall {
  return { idempotencyKey, signal: AbortSignal.timeout(timeoutMs) };
}

/** Loads a file that a person sent; a problem is returned as its text. */
export async function loaded(
  adapter: ChannelAdapter,
  source: string | undefined,
  maxBytes = 100,
): Promise<string> {
  try {
    const limits = { maxBytes, signal: AbortSignal.timeout(20_000) };
    return Buffer.from((await adapter.load?.(source ?? "", limits)) ?? "").toString();
  } catch (error) {
    if (error instanceof ChannelError) return `problem: ${error.message}`;
    throw error;
  }
}

export function outgoing(
  channel: string,
  id: string,
  fields: Partial<OutgoingMessage> & { threadId?: string } = {},
): OutgoingMessage {
  const { threadId, ...rest } = fields;
  return {
    address: {
      channel,
      accountId: "main",
      target: { kind: "channel", id },
      ...(threadId && { threadId }),
    },
    text: "hello",
    attachments: [],
    silent: false,
    ...rest,
  };
}

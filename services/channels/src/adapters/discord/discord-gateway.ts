import type { GatewayReceivePayload } from "discord-api-types/v10";
import { GatewayClosed } from "./discord-error.ts";
import type { GatewaySession } from "./discord-cursor.ts";

const HELLO_MS = 30_000;
/** Invalid payload data: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1. */
const NOT_READABLE = 1007;
/** Session invalid or timed out: only a new one helps. */
const SESSION_IS_GONE = new Set([4003, 4005, 4007, 4009]);

export interface GatewayOptions {
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  readonly signal: AbortSignal;
  readonly session: GatewaySession | null;
  /** Called for a new session: messages from before it have to be fetched. Null: the session is gone. */
  onSession(session: GatewaySession | null): Promise<void>;
  /** Called for one event after the other, in their order. A rejection ends the connection; resuming delivers the event again. */
  onEvent(type: string, data: unknown, seq: number): Promise<void>;
}

type Packet = {
  readonly op: number;
  readonly d: unknown;
  readonly s: number | null;
  readonly t: string | null;
};

/**
 * One connection to the gateway (https://docs.discord.com/developers/events/gateway). It is our own, as the library forgets
 * its session when the network fails, counts an event as received before it is stored, and connects again twice a second
 * for as long as Discord is away.
 */
export async function openGateway(options: GatewayOptions): Promise<{ ended: Promise<void> }> {
  const { session, signal } = options;
  const socket = new WebSocket(`${session?.resumeUrl ?? options.url}?v=10&encoding=json`);
  const accepted = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let row: Promise<unknown> = Promise.resolve();
  let seq = session?.seq ?? null;
  let isAnswered = true;
  let beat: NodeJS.Timeout | undefined;

  const send = (op: number, d: unknown) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op, d }));
  };
  const fail = (error: unknown) => {
    accepted.reject(error);
    ended.reject(error);
    finish();
  };
  const finish = () => {
    clearInterval(beat);
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
    // 4000 keeps the session; 1000 would end it.
    if (socket.readyState <= WebSocket.OPEN) socket.close(4000);
  };
  const leave = () => {
    accepted.reject(new GatewayClosed(1000));
    ended.resolve();
    finish();
  };
  const inRow = (work: () => Promise<void>) => {
    row = row.then(work).catch(fail);
  };
  const heartbeat = () => {
    if (!isAnswered) return fail(new GatewayClosed(1006));
    isAnswered = false;
    send(OP.heartbeat, seq);
  };

  function take({ op, d, s, t }: Packet): void {
    if (op === OP.hello) {
      beat = setInterval(heartbeat, (d as { heartbeat_interval: number }).heartbeat_interval);
      socket.send(JSON.stringify(greeting(options)));
    } else if (op === OP.heartbeat) send(OP.heartbeat, seq);
    else if (op === OP.heartbeatAnswered) isAnswered = true;
    else if (op === OP.reconnect) inRow(async () => fail(new GatewayClosed(4000)));
    else if (op === OP.invalidSession)
      inRow(async () => {
        if (d !== true) await options.onSession(null);
        fail(new GatewayClosed(4009));
      });
    else if (op === OP.event && s !== null && t !== null) {
      seq = s;
      inRow(() => takeEvent({ type: t, data: d, seq: s }, options, accepted.resolve));
    }
  }

  const timer = setTimeout(() => accepted.reject(new GatewayClosed(1006)), HELLO_MS);
  signal.addEventListener("abort", leave, { once: true });
  socket.addEventListener("message", ({ data }) => {
    try {
      const packet: GatewayReceivePayload = JSON.parse(String(data));
      take(packet);
    } catch {
      // Thrown in a listener it would end the process. The next connection resumes behind the last event.
      fail(new GatewayClosed(NOT_READABLE));
    }
  });
  socket.addEventListener("close", ({ code }) =>
    inRow(async () => {
      if (SESSION_IS_GONE.has(code)) await options.onSession(null);
      fail(new GatewayClosed(code));
    }),
  );
  ended.promise.catch(() => undefined);
  try {
    await accepted.promise;
  } catch (error) {
    finish();
    throw error;
  }
  clearTimeout(timer);
  return { ended: ended.promise };
}

function greeting({ session, token, intents }: GatewayOptions): { op: number; d: object } {
  if (session) return { op: OP.resume, d: { token, session_id: session.id, seq: session.seq } };
  const properties = { os: process.platform, browser: "switchyard", device: "switchyard" };
  return { op: OP.identify, d: { token, intents, properties } };
}

async function takeEvent(
  { type, data, seq }: { type: string; data: unknown; seq: number },
  options: GatewayOptions,
  accept: () => void,
): Promise<void> {
  if (options.signal.aborted) return;
  if (type === "RESUMED") return accept();
  if (type !== "READY") return options.onEvent(type, data, seq);
  accept();
  const ready = data as { session_id: string; resume_gateway_url: string };
  await options.onSession({ id: ready.session_id, resumeUrl: ready.resume_gateway_url, seq });
}

const OP = {
  event: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAnswered: 11,
} as const;

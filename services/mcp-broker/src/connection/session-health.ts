import { ProtocolError, SdkError, SdkErrorCode, type Client } from "@modelcontextprotocol/client";
import type { TransportKind } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { errorText, speaksOfSession } from "../limits/call-failure.ts";
import { isModern } from "./connect-approach.ts";

/** Watches a connection that cannot report its own end. */
export interface SessionHealth {
  /** Checks now, because something went wrong. */
  check(): void;
  /** Runs a call. A server that works on one may be too busy to answer, so silence counts only without calls. */
  during<T>(call: () => Promise<T>): Promise<T>;
  stop(): void;
}

const INTERVAL_MS = 15_000;
const TIMEOUT_MS = 10_000;
/** Some servers report a lost session with HTTP 200 and an error. One such answer may mean something else. */
const LOST_SESSION_ANSWERS = 2;

/**
 * HTTP has no connection that ends, so the server is pinged from time to time and after every error. A child process needs no
 * ping: its exit is the truth, and a busy one is not dead.
 */
export function watchHealth(
  client: Client,
  transport: TransportKind,
  onDead: (reason: string) => void,
): SessionHealth {
  if (transport === "stdio")
    return { check: () => undefined, during: (call) => call(), stop: () => undefined };
  let calls = 0;
  let isAsking = false;
  let isStopped = false;
  let lostSessionAnswers = 0;

  const ask = async (): Promise<void> => {
    if (isAsking || isStopped) return;
    isAsking = true;
    try {
      const options = { timeout: TIMEOUT_MS };
      await (isModern(client) ? client.discover(options) : client.ping(options));
      lostSessionAnswers = 0;
    } catch (error) {
      const isLost = error instanceof ProtocolError && speaksOfSession(error);
      lostSessionAnswers = isLost ? lostSessionAnswers + 1 : 0;
      const isOver = lostSessionAnswers >= LOST_SESSION_ANSWERS || isDead(error, calls);
      if (!isStopped && isOver) onDead(`the server does not answer: ${errorText(error)}`);
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void ask(), INTERVAL_MS);

  return {
    check: () => void ask(),
    async during(call) {
      calls += 1;
      try {
        return await call();
      } catch (error) {
        if (error instanceof ProtocolError && speaksOfSession(error)) void ask();
        throw error;
      } finally {
        calls -= 1;
      }
    },
    stop() {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

/** A refusal of the ping is an answer too. */
function isDead(error: unknown, callsInFlight: number): boolean {
  if (error instanceof ProtocolError) return false;
  const isSilence = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  return !isSilence || callsInFlight === 0;
}

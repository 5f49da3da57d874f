import { Agent, fetch, type RequestInit, type Response } from "undici";
import type { EgressGuard } from "./egress-guard.ts";

/** Sockets for requests to addresses that others have chosen. */
export interface GuardedAgent {
  /**
   * Sends one request, as `fetch` does. It returns a redirect like any other answer: the caller decides about its target.
   * Rejects with EgressError for an address that is not permitted; with a TypeError that has one as its cause for a name without a permitted address; and
   * otherwise as `fetch` does.
   */
  fetch(url: URL, init: Omit<RequestInit, "dispatcher" | "redirect">): Promise<Response>;
  /** Ends every connection, those in use too. */
  close(): void;
}

interface GuardedAgentOptions {
  /** Null where the operator has chosen the address. */
  readonly guard: EgressGuard | null;
  /** True for answers that may take any time. Default: a server has five minutes for its headers, and for each part of a body. */
  readonly isEndless?: boolean;
}

/** Every socket connects to exactly the address that the guard resolved, so an answer of DNS that changes later reaches nothing. */
export function openGuardedAgent({ guard, isEndless = false }: GuardedAgentOptions): GuardedAgent {
  const agent = new Agent({
    ...(guard === null ? {} : { connect: { lookup: guard.lookup } }),
    ...(isEndless ? { headersTimeout: 0, bodyTimeout: 0 } : {}),
  });
  return {
    async fetch(url, init) {
      guard?.checkUrl(url);
      return fetch(url, { ...init, dispatcher: agent, redirect: "manual" });
    },
    close() {
      void agent.destroy();
    },
  };
}

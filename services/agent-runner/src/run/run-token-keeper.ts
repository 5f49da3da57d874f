import type { StartedEntry } from "../journal/journal-entry.ts";
import type { Peers } from "../peers.ts";

/** A run token and when it ends, in milliseconds since the Unix epoch. */
export interface RunToken {
  readonly token: string;
  readonly expiresAt: number;
}

export const TOKEN_TTL_SECONDS = 3_600;
const RENEW_BEFORE_MS = 5 * 60_000;

/** Gives a token that is good for some minutes more; asks the policy for a new one when needed. */
export class RunTokenKeeper {
  readonly #peers: Peers;
  readonly #started: StartedEntry;
  readonly #now: () => number;
  #current: RunToken | null;
  #pending: Promise<RunToken> | null = null;

  constructor(options: {
    peers: Peers;
    started: StartedEntry;
    initial: RunToken | null;
    now: () => number;
  }) {
    this.#peers = options.peers;
    this.#started = options.started;
    this.#current = options.initial;
    this.#now = options.now;
  }

  async get(): Promise<string> {
    if (this.#current !== null && this.#current.expiresAt - this.#now() > RENEW_BEFORE_MS) {
      return this.#current.token;
    }
    this.#pending ??= this.#grant().finally(() => {
      this.#pending = null;
    });
    this.#current = await this.#pending;
    return this.#current.token;
  }

  /** Forgets a token that a service refused, unless another call has replaced it already. */
  refuse(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  async #grant(): Promise<RunToken> {
    const { runId, agent, requester, toolLayers, roles } = this.#started;
    const { token, expiresAt } = await this.#peers.grantRun(
      {
        runId,
        agent,
        requester,
        tools: toolLayers,
        ...(roles === undefined ? {} : { roles }),
        ttlSeconds: TOKEN_TTL_SECONDS,
      },
      { correlationId: runId },
    );
    return { token, expiresAt: Date.parse(expiresAt) };
  }
}

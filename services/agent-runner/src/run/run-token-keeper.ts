import type { StartedEntry } from "../journal/journal-entry.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { Peers } from "../peers.ts";
import { grantToken, type RunToken } from "./grant-token.ts";

const RENEW_BEFORE_MS = 5 * 60_000;

/** Gives a token that is good for some minutes more; asks the policy for a new one when needed. */
export class RunTokenKeeper {
  readonly #peers: Peers;
  readonly #load: RunStore["load"];
  readonly #started: StartedEntry;
  readonly #now: () => number;
  #current: RunToken | null;
  #pending: Promise<RunToken> | null = null;

  constructor(options: {
    peers: Peers;
    store: Pick<RunStore, "load">;
    started: StartedEntry;
    initial: RunToken | null;
    now: () => number;
  }) {
    this.#peers = options.peers;
    this.#load = options.store.load;
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

  #grant(): Promise<RunToken> {
    return grantToken(this.#started, { peers: this.#peers, load: this.#load });
  }
}

import type { RunState } from "../core/run-state.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { ServiceClients } from "./service-clients.ts";
import { granteeOf, grantToken, type RunToken } from "./grant-token.ts";
import { isError } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { RunRefused, RunStopped, Suspended } from "../core/interruption.ts";

const RENEW_BEFORE_MS = 5 * 60_000;

interface Granted extends RunToken {
  /** The tools that the token allows. */
  readonly toolLayers: RunState["toolLayers"];
  /** The model whose calls the token is for: another model may be allowed less. */
  readonly model: string;
}

/**
 * Returns a token that is valid for some more minutes, and for no more tools than the run may use now; requests a new one from the
 * policy when needed. It is no `PromisedCache`, because its one token also ends when the run's tools or its model change.
 */
export class RunTokenKeeper {
  readonly #clients: ServiceClients;
  readonly #load: RunStore["load"];
  readonly #run: { readonly state: RunState };
  readonly #now: () => number;
  #current: Granted | null;
  #pending: Promise<Granted> | null = null;

  constructor(options: {
    clients: ServiceClients;
    store: Pick<RunStore, "load">;
    run: { readonly state: RunState };
    /** Granted for the current state of the run. */
    initial: RunToken | null;
    now: () => number;
  }) {
    this.#clients = options.clients;
    this.#load = options.store.load;
    this.#run = options.run;
    const { initial, run } = options;
    const { toolLayers, model } = run.state;
    this.#current = initial === null ? null : { ...initial, toolLayers, model };
    this.#now = options.now;
  }

  async get(): Promise<string> {
    if (this.#current !== null && this.#isGood(this.#current)) return this.#current.token;
    this.#pending ??= this.#grant().finally(() => {
      this.#pending = null;
    });
    const granted = await this.#pending;
    this.#current = granted;
    // A skill may have been activated during the call to the policy.
    return this.#isOfRun(granted) ? granted.token : this.get();
  }

  /** Forgets a token that a service refused, unless another call has replaced it already. */
  refuse(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  #isGood(granted: Granted): boolean {
    return this.#isOfRun(granted) && granted.expiresAt - this.#now() > RENEW_BEFORE_MS;
  }

  /** A skill that was activated since may have taken tools away, and another model may have taken over. */
  #isOfRun({ toolLayers, model }: Granted): boolean {
    const { state } = this.#run;
    return toolLayers === state.toolLayers && model === state.model;
  }

  async #grant(): Promise<Granted> {
    const { state } = this.#run;
    const options = { clients: this.#clients, load: this.#load };
    const { toolLayers, model } = state;
    try {
      return { ...(await grantToken(granteeOf(state), options)), toolLayers, model };
    } catch (error) {
      throw refusedToken(error);
    }
  }
}

/**
 * Converts the policy's refusal to mint a token for an existing run: the run waits for the end of a stop, is retried after a
 * pause, or fails. Any other error is returned as it is.
 */
function refusedToken(error: unknown): unknown {
  if (isError(error, grantRun, "stopped")) return new RunStopped(error.data, { cause: error });
  if (isError(error, grantRun, "invalid_parent") && !STANDING.has(error.data.reason))
    return new Suspended("the token of the run above was refused", { cause: error });
  const isRefused =
    isError(error, grantRun, "may_not_start") ||
    isError(error, grantRun, "may_not_replay") ||
    isError(error, grantRun, "origin_refused") ||
    isError(error, grantRun, "token_too_large") ||
    isError(error, grantRun, "invalid_parent");
  if (!isRefused) return error;
  const { code, message } = error;
  return new RunRefused({ code, message }, { cause: error });
}

/**
 * Reasons that are about the runs themselves. The other reasons are about the parent's token, which the next attempt requests
 * anew.
 */
const STANDING: ReadonlySet<string> = new Set(["requester", "depth", "layers"]);

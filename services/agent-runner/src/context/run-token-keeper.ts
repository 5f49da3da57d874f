import type { RunState } from "../core/run-state.ts";
import type { RunStore } from "../journal/run-store.ts";
import type { ServiceClients } from "./service-clients.ts";
import { isError } from "@switchyard/contracts/errors";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { RunRefused, RunStopped, Suspended } from "../core/interruption.ts";
import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import type { JournalEntry } from "../core/journal-entry.ts";
import { originOf, type Dictation, type StartedEntry } from "../core/started-entry.ts";
import { replay } from "../core/replay.ts";

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

/** A run token and when it ends, in milliseconds since the Unix epoch. */
export interface RunToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** The run and agent that a token is issued for. */
interface Grantee {
  readonly runId: string;
  readonly agent: string;
  readonly requester: string;
  readonly toolLayers: readonly (readonly string[])[];
  readonly roles?: readonly string[] | undefined;
  readonly approval?: ApprovalTier | undefined;
  readonly sharesMemory?: StartedEntry["sharesMemory"];
  readonly parent?: { readonly runId: string } | undefined;
  readonly session?: { readonly sessionId: string } | undefined;
  readonly origin?: StartedEntry["origin"];
  readonly broughtBy?: StartedEntry["broughtBy"];
  /** The model of the run. */
  readonly model: string;
  readonly replay?: StartedEntry["replay"];
  readonly replayed?: Dictation["replayed"];
  readonly dictatedBy?: Dictation["dictatedBy"];
}

/** Returns the grantee for the run's current state: tools that its activated skills removed are no longer in its token. */
export function granteeOf({ started, toolLayers, model }: RunState): Grantee {
  return { ...started, toolLayers, model };
}

const TOKEN_TTL_SECONDS = 3_600;

/**
 * Requests the token of a run from the policy. A run that works for another one gets no more tools than that one has:
 * the policy takes the parent's tools from the parent's own token.
 */
export async function grantToken(
  grantee: Grantee,
  options: {
    /** The run that this process holds, when that run works for the grantee. */
    readonly heldRun?: string;
    /** The user that claims the run's session, and gets the token instead of this runner. */
    readonly forUser?: string;
    readonly clients: Pick<ServiceClients, "grantRun">;
    readonly load: (runId: string) => Promise<readonly JournalEntry[]>;
    readonly signal?: AbortSignal;
  },
): Promise<RunToken & { readonly policyDigest: string }> {
  const { runId, agent, requester, toolLayers, roles = [], approval, parent } = grantee;
  const { sharesMemory, broughtBy } = grantee;
  const { clients, load, signal, heldRun, forUser } = options;
  const parentToken = parent === undefined ? null : await tokenOfParent(parent.runId, options);
  const { token, expiresAt, policyDigest } = await clients.grantRun(
    {
      runId,
      ...(heldRun === undefined ? {} : { heldRun }),
      ...(forUser === undefined ? {} : { forUser }),
      agent,
      requester,
      tools: toolLayers.map((layer) => layer.slice()),
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
      ...(approval === undefined ? {} : { approval }),
      ...(sharesMemory === undefined ? {} : { sharesMemory }),
      ...(parentToken === null ? {} : { parentToken }),
      origin: originOf(grantee),
      ...(broughtBy === undefined ? {} : { broughtBy }),
      ttlSeconds: TOKEN_TTL_SECONDS,
    },
    { correlationId: runId, ...(signal === undefined ? {} : { signal }) },
  );
  return { token, expiresAt: Date.parse(expiresAt), policyDigest };

  /** Requests a token that is used only to pass on the parent's permissions. */
  async function tokenOfParent(parentId: string, same: typeof options): Promise<string> {
    const entries = await load(parentId);
    if (entries.length === 0)
      throw new Error(`run ${runId} works for run ${parentId}, whose journal is gone`);
    return (await grantToken(granteeOf(replay(entries)), { heldRun: runId, ...same })).token;
  }
}

import { failuresOf } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { Stop } from "@switchyard/contracts/policy/policy-budgets";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "./call-once.ts";
import type { Requester } from "./policy-gate.ts";
import { isAbout, stoppedBy } from "./stop-scope.ts";

/** The facts of a request to a tool provider when it arrives. */
export interface ArrivedCall {
  readonly requester: Requester;
  /** The id that the caller chose; a call without one cannot be cancelled. */
  readonly callId: string | undefined;
  /** Null for a provider without servers. */
  readonly server: string | null;
}

/** Called with what the policy reserved for the call; `isMade` is false when it was certainly not sent. */
type OnEnd = (call: CallInWork, reserved: readonly string[], isMade: boolean) => void;

/** Releases what the policy reserved. Never rejects. */
type Release = (reserved: readonly string[], isMade: boolean) => Promise<void>;

/** The text that is sent to the server. */
const CANCELLED = "the caller cancelled the call";
const STOPPED = "an administrator stopped such calls";

const fail = failuresOf(callTool.errors);

/**
 * One request to a tool provider, from its first moment to its end, and everything that may end it early: the caller gives up, a client
 * cancels it, an administrator stops it. All of them abort its one signal.
 *
 * It arrives (nothing was decided), is in progress (claimed, about to be sent or sent), and is over.
 */
export class CallInWork {
  readonly callId: string | undefined;
  readonly server: string | null;
  /** The requester for calls to the policy. What the policy reserves for the call is released at its end. */
  readonly requester: Requester;
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal;
  readonly #onEnd: OnEnd;
  readonly #release: Release;
  readonly #reserved: string[] = [];
  #work: { readonly principal: Principal; readonly ref: ToolRef } | null = null;
  #isCancelled = false;
  #isNotSent = false;
  #stop: Stop | null = null;

  constructor(
    { requester, callId, server }: ArrivedCall,
    onEnd: OnEnd,
    release: Release = () => Promise.resolve(),
  ) {
    this.#release = release;
    this.callId = callId;
    this.server = server;
    this.requester = {
      ...requester,
      onReserved: (reservation) => void this.#reserved.push(reservation),
    };
    this.#callerSignal = requester.signal;
    this.#onEnd = onEnd;
    // AbortSignal.any is not used: its bookkeeping costs more than the whole of a cheap call.
    if (requester.signal.aborted) this.#giveUp();
    else requester.signal.addEventListener("abort", this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True once a client with permission has cancelled it. */
  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** The principal and the tool; null until it is in progress. */
  get work(): { readonly principal: Principal; readonly ref: ToolRef } | null {
    return this.#work;
  }

  /** True when it was cancelled, now or before; false when it had ended in another way. */
  cancel(): boolean {
    if (!this.signal.aborted) {
      this.#isCancelled = true;
      this.#controller.abort(CANCELLED);
    }
    return this.#isCancelled;
  }

  /** Ends it when it is in progress and the stop matches it. The policy itself denies new calls. */
  stopIf(stop: Stop): void {
    if (this.#work === null || this.signal.aborted) return;
    if (!isAbout(stop.scope, { ...this.#work, token: this.requester.token })) return;
    this.#stop = stop;
    this.#controller.abort(STOPPED);
  }

  /** From here on it is in progress. Throws NotSentError when it was cancelled before that. */
  begin(principal: Principal, ref: ToolRef): void {
    this.refuseCancelled();
    this.#work = { principal, ref };
  }

  /** Throws NotSentError when it was cancelled; only for a call of which nothing was sent. */
  refuseCancelled(): void {
    if (!this.#isCancelled) return;
    throw new NotSentError(
      fail.cancelled("The call was cancelled. Nothing was done.", {
        callId: this.callId ?? "",
        sent: false,
      }),
    );
  }

  /** The error to report for a failure: a stop, unless the call was provably not sent, which the policy is notified of at the end. */
  failureOf(error: unknown): unknown {
    if (error instanceof NotSentError) this.#isNotSent = true;
    return this.#stop === null || error instanceof NotSentError ? error : stoppedBy(this.#stop);
  }

  /** Releases what the policy reserved so far: it decides anew about a call with other arguments. */
  async releaseReserved(): Promise<void> {
    await this.#release(this.#reserved.splice(0), false);
  }

  /** To be called when the call is over, whatever its end. */
  end(): void {
    this.#callerSignal.removeEventListener("abort", this.#giveUp);
    // Until it is in progress, nothing of it was sent.
    this.#onEnd(this, this.#reserved, this.#work !== null && !this.#isNotSent);
  }

  readonly #giveUp = (): void => this.#controller.abort(this.#callerSignal.reason);
}

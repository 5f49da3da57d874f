import type { Arrival, CallTokens } from "./arrival.ts";
import type { VerifiedCaller } from "./verified-caller.ts";
import { isSubjectToken, type DeclaredErrors, type Rpc } from "@switchyard/contracts/define";
import { ServiceError, type Fail } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { claimedBytes, ClaimError, type ClaimCheck } from "./claim-check.ts";
import type { DeadlineWheel, Expirable, Slot } from "./deadline-wheel.ts";
import type { Work } from "./in-flight.ts";
import { receivedCorrelationId } from "./message-headers.ts";
import type { CallContext } from "./handler.ts";
import { childTraceparent } from "./trace-context.ts";

interface ActiveCallOptions {
  readonly contract: Rpc;
  readonly fail: Fail<DeclaredErrors>;
  readonly deadlines: DeadlineWheel;
  readonly claims: ClaimCheck;
  /** The span of this call, when a tracer records it. */
  readonly traceparent: string | undefined;
}

const SAFE_SUBJECT = /^(?:[A-Za-z0-9_-]{1,64}\.)+[A-Za-z0-9_-]{1,64}$/;

/**
 * One call in progress, with the context that its handler sees. Most handlers read two or three of its fields, so every expensive field is
 * computed on first use.
 */
export class ActiveCall implements CallContext, Work, Expirable {
  readonly deadline: number;
  readonly tokens: CallTokens;
  readonly fail: Fail<DeclaredErrors>;
  readonly #arrival: Arrival;
  readonly #contract: Rpc;
  readonly #deadlines: DeadlineWheel;
  readonly #claims: ClaimCheck;
  #correlationId: string | null = null;
  #traceparent: string | undefined;
  #controller: AbortController | null = null;
  #abortReason: ServiceError | null = null;
  #slot: Slot | null = null;
  #wasInWork = false;
  #verified: VerifiedCaller | null = null;

  constructor(arrival: Arrival, options: ActiveCallOptions) {
    this.#arrival = arrival;
    this.tokens = arrival.tokens;
    this.#contract = options.contract;
    this.#deadlines = options.deadlines;
    this.#claims = options.claims;
    this.fail = options.fail;
    this.#traceparent = options.traceparent;
    this.deadline = deadlineOf(arrival, options.contract);
  }

  /** The caller, set once it is verified, which is before the handler begins. */
  set verified(verified: VerifiedCaller) {
    this.#verified = verified;
  }

  get caller(): string {
    return this.#verified?.caller ?? "";
  }

  get roles(): VerifiedCaller["roles"] {
    return this.#verified?.roles ?? [];
  }

  get userToken(): string | undefined {
    return this.#arrival.header(HEADERS.user);
  }

  async attachment(): Promise<Uint8Array | null> {
    const reference = this.#arrival.header(HEADERS.attachment);
    if (reference === undefined) return null;
    const maxBytes = this.#contract.attachment?.maxBytes ?? 0;
    if (claimedBytes(reference) > maxBytes)
      throw new ClaimError(null, `what is attached is larger than ${maxBytes} bytes`);
    return this.#claims.getBytes(reference, this.natsUser);
  }

  /** The NATS user that sent the message. */
  get natsUser(): string {
    return this.tokens["caller"] ?? "";
  }

  get correlationId(): string {
    this.#correlationId ??= receivedCorrelationId(this.#arrival.header(HEADERS.correlationId));
    return this.#correlationId;
  }

  get traceparent(): string {
    this.#traceparent ??= childTraceparent(this.#arrival.header(HEADERS.traceparent));
    return this.#traceparent;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason === null)
        this.#slot = this.#deadlines.add(this, this.deadline - Date.now());
      else this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** True when the deadline passed or a drain gave up, so a throw of the handler is not a bug. */
  get isAborted(): boolean {
    return this.#abortReason !== null;
  }

  /** The inbox in which the caller waits for notes that the call is in progress; null when it does not wait for any. */
  get inbox(): string | null {
    return this.#arrival.inbox;
  }

  /** True from the second time that it is queried: the call has then been in progress for a while. */
  takesLong(): boolean {
    const wasInWork = this.#wasInWork;
    this.#wasInWork = true;
    return wasInWork;
  }

  /** The name of a token that a publisher on NATS wrote and Switchyard's code would not, or null. */
  unsafeToken(): string | null {
    if (SAFE_SUBJECT.test(this.#arrival.subject)) return null;
    const found = Object.entries(this.tokens).find(([, value]) => !isSubjectToken(value));
    return found === undefined ? null : `{${found[0]}}`;
  }

  expire(): void {
    this.#abort(`the deadline of ${this.#contract.name} has passed`);
  }

  abort(): void {
    this.#abort(`the service stops and no longer waits for ${this.#contract.name}`);
  }

  finish(): void {
    this.#slot?.delete(this);
  }

  #abort(message: string): void {
    this.#abortReason ??= new ServiceError("deadline_exceeded", message);
    this.#controller?.abort(this.#abortReason);
  }
}

/** Commands are the longest work that services do: up to ten minutes. */
const LONGEST_MS = 3_600_000;

/** A deadline beyond this is a mistake of the caller, such as a time in microseconds; a timer set to it would fire at once. */
function deadlineOf(arrival: Arrival, contract: Rpc): number {
  const given = Number(arrival.header(HEADERS.deadline));
  const now = Date.now();
  return Number.isSafeInteger(given) && given > 0
    ? Math.min(given, now + LONGEST_MS)
    : now + contract.timeoutMs;
}

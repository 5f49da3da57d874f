import { AsyncLocalStorage } from "node:async_hooks";
import type { Msg, Subscription } from "@nats-io/transport-node";
import { cutText } from "@switchyard/contracts/cut-text";
import {
  filterOf,
  TOKEN_RULE,
  type DeclaredErrors,
  type Rpc,
  queueOf,
} from "@switchyard/contracts/define";
import { failuresOf, ServiceError, type Fail } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import type { EndpointStats } from "./answer-discovery.ts";
import { ActiveCall } from "./active-call.ts";
import { invalidRequest, type Arrival, type Outcome, type RequestBody } from "./arrival.ts";
import { checkCounted } from "./bounded-json.ts";
import type { VerifiedCallers } from "./verified-caller.ts";
import { ClaimError, MAX_PAYLOAD_BYTES } from "./claim-check.ts";
import type { Connection } from "./connection.ts";
import { drainSubscription } from "./drain-subscription.ts";
import { FairSlots } from "./fair-slots.ts";
import type { FairTurns } from "./fair-turns.ts";
import { InFlight } from "./in-flight.ts";
import { infrastructureError, tooLarge } from "./infrastructure-errors.ts";
import type { Next, ServedCall } from "./interceptor.ts";
import type { LocalEndpoint } from "./local-services.ts";
import { MessageArrival, tokensOfCall } from "./message-arrival.ts";
import { inSpan, type WorkSpan } from "./tracing.ts";
import { problemsOf, type Failure } from "./wire.ts";

/** A served contract. */
export interface Endpoint {
  /** Stops accepting calls, then waits for the calls in progress. */
  stop(): Promise<void>;
}

/** A bug for which a caller got `internal`. */
export interface Fault {
  readonly error: unknown;
  readonly contract: string;
  readonly correlationId: string;
}

interface RpcEndpointOptions {
  readonly contract: Rpc;
  /** The handler, with the interceptors of its service around it. */
  readonly respond: Next<ServedCall>;
  readonly at: Partial<Record<string, string>>;
  /** The calls in progress of the whole service. */
  readonly running: InFlight<ActiveCall>;
  /** Shared by all endpoints of the service. */
  readonly slots: FairSlots;
  readonly turns: FairTurns;
  readonly callers: VerifiedCallers;
  /** The limit on calls of this endpoint; null for one without a limit of its own. */
  readonly ownLimit: number | null;
  readonly onFault: (fault: Fault) => void;
  readonly onStop: () => void;
}

/** Turns messages into calls of a handler, and what the handler does into replies. */
export class RpcEndpoint implements Endpoint, LocalEndpoint {
  readonly filter: string;
  readonly #connection: Connection;
  readonly #options: RpcEndpointOptions;
  readonly #fail: Fail<DeclaredErrors>;
  readonly #queue: string;
  readonly #subscription: Subscription;
  readonly #own = new InFlight();
  readonly #ownSlots: FairSlots | null;
  #stopping: Promise<void> | null = null;
  #requests = 0;
  #errors = 0;
  #ignored = 0;
  #busyMs = 0;
  #lastError = "";
  /** Requests of services in this process begin in this context, as messages of NATS do, and not in their caller's. */
  readonly #apart = AsyncLocalStorage.snapshot();

  constructor(connection: Connection, options: RpcEndpointOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#fail = failuresOf(options.contract.errors);
    this.filter = filterOf<string>(options.contract, options.at);
    this.#queue = queueOf(options.contract.name);
    const { ownLimit } = options;
    this.#ownSlots =
      ownLimit === null
        ? null
        : new FairSlots({ calls: ownLimit, bytes: Number.POSITIVE_INFINITY });
    this.#subscription = connection.nc.subscribe(this.filter, {
      queue: this.#queue,
      callback: (error, message) => {
        if (error === null) this.#receive(message);
        else this.#fault(infrastructureError(error, connection.user, this.filter), "");
      },
    });
    connection.local?.add(this);
  }

  get user(): string {
    return this.#connection.user;
  }

  get contract(): Rpc {
    return this.#options.contract;
  }

  offer(arrival: Arrival): boolean {
    if (this.#stopping !== null || this.#connection.isClosed()) return false;
    if (this.#takeSlot(arrival) !== null) return false;
    this.#requests += 1;
    // A handler never begins before its caller has the promise of its reply.
    this.#apart(() => queueMicrotask(() => void this.#serve(arrival)));
    return true;
  }

  async stop(): Promise<void> {
    await this.stopReceiving();
    await this.#own.idle();
  }

  /** Unsubscribes and returns when every call that was already delivered has begun. */
  stopReceiving(): Promise<void> {
    this.#stopping ??= this.#unsubscribe();
    return this.#stopping;
  }

  stats(): EndpointStats {
    return {
      name: this.#options.contract.name.replaceAll(".", "-"),
      subject: this.filter,
      queueGroup: this.#queue,
      description: this.#options.contract.summary,
      requests: this.#requests,
      errors: this.#errors,
      ignored: this.#ignored,
      busyMs: this.#busyMs,
      lastError: this.#lastError,
    };
  }

  async #unsubscribe(): Promise<void> {
    this.#options.onStop();
    this.#connection.local?.remove(this);
    await drainSubscription(this.#connection.nc, this.#subscription);
  }

  #receive(message: Msg): void {
    const { contract } = this.#options;
    const tokens = tokensOfCall(message, contract);
    if (tokens === null) {
      this.#ignored += 1;
      return;
    }
    this.#requests += 1;
    const arrival = new MessageArrival(message, {
      connection: this.#connection,
      contract,
      tokens,
      onFailure: (failure) => this.#countFailure(failure),
      onFault: (error, correlationId) => this.#fault(error, correlationId),
    });
    const refusal = this.#takeSlot(arrival);
    if (refusal !== null) {
      const failure = failureFor("overloaded", `${contract.name} ${refusal}; try again shortly`);
      void this.#reply(arrival, { ok: false, failure });
      return;
    }
    void this.#serve(arrival);
  }

  /** The reason for refusing this request; null when it is accepted. */
  #takeSlot({ tokens, bytes }: Arrival): string | null {
    const caller = tokens["caller"] ?? "";
    const refusal = this.#ownSlots?.take(caller, bytes) ?? null;
    if (refusal !== null) return refusal;
    const shared = this.#options.slots.take(caller, bytes);
    if (shared !== null) this.#ownSlots?.leave(caller, bytes);
    return shared;
  }

  /** Never rejects: every outcome becomes a reply, and a bug is reported as a fault besides. */
  #serve(arrival: Arrival): Promise<void> {
    const { name } = this.#options.contract;
    const parent = arrival.header(HEADERS.traceparent);
    const attributes = { "rpc.system.name": "nats", "rpc.method": name };
    const { user } = this.#connection;
    return inSpan({ name, kind: "server", parent, user, attributes }, (span) =>
      this.#work(arrival, span),
    );
  }

  async #work(arrival: Arrival, span: WorkSpan): Promise<void> {
    const startedAt = performance.now();
    const call = new ActiveCall(arrival, {
      contract: this.#options.contract,
      fail: this.#fail,
      deadlines: this.#connection.deadlines,
      claims: this.#connection.claims,
      traceparent: span.traceparent,
    });
    const running = this.#options.running.begin(call);
    const own = this.#own.begin(call);
    try {
      const outcome = await this.#outcome(call, arrival);
      if (!outcome.ok) span.fail(outcome.failure.code);
      await this.#reply(arrival, outcome);
    } finally {
      call.finish();
      this.#busyMs += performance.now() - startedAt;
      this.#options.running.end(running);
      this.#own.end(own);
      this.#options.slots.leave(call.natsUser, arrival.bytes);
      this.#ownSlots?.leave(call.natsUser, arrival.bytes);
    }
  }

  async #outcome(call: ActiveCall, arrival: Arrival): Promise<Outcome> {
    const { contract } = this.#options;
    if (call.deadline <= Date.now()) {
      return failed(
        "deadline_exceeded",
        `the deadline of ${contract.name} was over before the call began`,
      );
    }
    try {
      const found = this.#options.callers.find({
        userToken: call.userToken,
        natsUser: call.natsUser,
        contract,
      });
      call.verified = found instanceof Promise ? await found : found;
    } catch (error) {
      if (error instanceof ServiceError) return failed(error.code, error.message, error.data);
      return this.#failureOf(call, error);
    }
    const turn = this.#options.turns.begin(
      this.#connection.delegation.forWhom(call.caller, call.correlationId),
    );
    try {
      if (turn.begins !== null) await turn.begins;
      return await this.#answer(call, arrival);
    } finally {
      turn.end();
    }
  }

  async #answer(call: ActiveCall, arrival: Arrival): Promise<Outcome> {
    try {
      const read = arrival.read();
      return await this.#run(call, arrival, read instanceof Promise ? await read : read);
    } catch (error) {
      return this.#failureOf(call, error);
    }
  }

  async #run(call: ActiveCall, arrival: Arrival, body: RequestBody): Promise<Outcome> {
    const { contract, respond } = this.#options;
    if (!body.ok) return body;
    const request = checkCounted(contract.request, body.value, body);
    if (!request.success) return refused(contract, problemsOf(request.error));
    const unsafeToken = call.unsafeToken();
    if (unsafeToken !== null) return refused(contract, [`${unsafeToken}: ${TOKEN_RULE}`]);
    const reply = arrival.prepare(
      await respond({ contract, request: request.data, context: call }),
    );
    return reply === null ? tooLargeReply(contract) : { ok: true, reply };
  }

  #failureOf(call: ActiveCall, error: unknown): Outcome {
    const { contract } = this.#options;
    if (error instanceof ClaimError) return refused(contract, [error.message]);
    if (error instanceof ServiceError && Object.hasOwn(contract.errors, error.code)) {
      const data = contract.errors[error.code]?.data.safeParse(error.data);
      if (data?.success === true) return failed(error.code, error.message, data.data);
      const problems = data === undefined ? [] : problemsOf(data.error);
      this.#fault(
        new TypeError(`the data of ${error.code} does not fit its schema: ${problems.join("; ")}`, {
          cause: error,
        }),
        call.correlationId,
      );
      return internal(contract);
    }
    if (error instanceof ServiceError && error.code === "storage_full")
      return failed(error.code, error.message, error.data);
    if (call.isAborted) {
      return failed(
        "deadline_exceeded",
        `${contract.name} was stopped before its work was done; it may have been carried out in part`,
      );
    }
    this.#fault(error, call.correlationId);
    return internal(contract);
  }

  async #reply(arrival: Arrival, outcome: Outcome): Promise<void> {
    if (!outcome.ok) this.#countFailure(outcome.failure);
    await arrival.answer(outcome);
  }

  #countFailure({ code, message }: Failure): void {
    if (isAnswer(this.#options.contract, code)) return;
    this.#errors += 1;
    this.#lastError = cutText(`${code}: ${message}`, 300);
  }

  #fault(error: unknown, correlationId: string): void {
    this.#options.onFault({ error, contract: this.#options.contract.name, correlationId });
  }
}

/**
 * True for failures that the service decided on: a bad request, and what the contract declares and a retry does not change, such as a denial. They
 * do not count as errors of the service; what is overloaded, away, late or broken does.
 */
function isAnswer({ errors }: Rpc, code: string): boolean {
  if (!Object.hasOwn(errors, code)) return code === "invalid_request";
  return errors[code]?.retryable !== true;
}

function refused(contract: Rpc, problems: string[]): Outcome {
  return { ok: false, failure: invalidRequest(contract, problems) };
}

function tooLargeReply({ name }: Rpc): Outcome {
  const { code, message, data } = tooLarge(`the reply of ${name}`, MAX_PAYLOAD_BYTES);
  return failed(code, message, data);
}

function internal(contract: Rpc): Outcome {
  return failed(
    "internal",
    `${contract.name} failed by a fault of its service; the service's log has it under this correlation id`,
  );
}

function failed(code: string, message: string, data: unknown = null): Outcome {
  return { ok: false, failure: failureFor(code, message, data) };
}

function failureFor(code: string, message: string, data: unknown = null): Failure {
  return { code, message, data };
}

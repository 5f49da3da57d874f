import type { Msg, Subscription } from "@nats-io/transport-node";
import { cutText } from "@switchyard/contracts/cut-text";
import {
  filterOf,
  TOKEN_RULE,
  tokensOf,
  type DeclaredErrors,
  type Rpc,
  queueOf,
} from "@switchyard/contracts/define";
import { failuresOf, ServiceError, type Fail } from "@switchyard/contracts/errors";
import { HEADERS } from "@switchyard/contracts/headers";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { isInboxOf } from "@switchyard/contracts/inboxes";
import { RUNNER_USER } from "@switchyard/contracts/user-names";
import type { EndpointStats } from "./answer-discovery.ts";
import { ActiveCall, type CallTokens } from "./active-call.ts";
import type { VerifiedCallers } from "./verified-caller.ts";
import { ClaimError, claimedBytes } from "./claim-check.ts";
import type { Connection } from "./connection.ts";
import { drainSubscription } from "./drain-subscription.ts";
import { FairSlots } from "./fair-slots.ts";
import type { FairTurns } from "./fair-turns.ts";
import { InFlight } from "./in-flight.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { correlationIdOf, headerOf, headersOf } from "./message-headers.ts";
import { replyBody } from "./prepared-reply.ts";
import type { Handler } from "./serve.ts";
import { numericCode } from "./service-error-code.ts";
import { inSpan, type WorkSpan } from "./tracing.ts";
import { checkCounted, JsonGauge } from "./bounded-json.ts";
import { encodeFailure, parseJson, problemsOf, type Failure } from "./wire.ts";

/** A served contract. */
export interface Endpoint {
  /** Stops taking calls, then waits for the calls in work. */
  stop(): Promise<void>;
}

/** A bug that a caller was answered `internal` for. */
export interface Fault {
  readonly error: unknown;
  readonly contract: string;
  readonly correlationId: string;
}

interface RpcEndpointOptions {
  readonly contract: Rpc;
  readonly handler: Handler<Rpc>;
  readonly at: Partial<Record<string, string>>;
  /** The calls in work of the whole service. */
  readonly running: InFlight<ActiveCall>;
  /** Of the whole service. */
  readonly slots: FairSlots;
  readonly turns: FairTurns;
  readonly callers: VerifiedCallers;
  /** Of the calls of this endpoint; null for one without a limit of its own. */
  readonly ownLimit: number | null;
  readonly onFault: (fault: Fault) => void;
  readonly onStop: () => void;
}

type Outcome =
  | { readonly ok: true; readonly body: string }
  | { readonly ok: false; readonly failure: Failure };

/** Turns messages into calls of a handler, and what the handler does into replies. */
export class RpcEndpoint implements Endpoint {
  readonly #connection: Connection;
  readonly #options: RpcEndpointOptions;
  readonly #fail: Fail<DeclaredErrors>;
  readonly #subject: string;
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

  constructor(connection: Connection, options: RpcEndpointOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#fail = failuresOf(options.contract.errors);
    this.#subject = filterOf<string>(options.contract, options.at);
    this.#queue = queueOf(options.contract.name);
    const { ownLimit } = options;
    this.#ownSlots =
      ownLimit === null
        ? null
        : new FairSlots({ calls: ownLimit, bytes: Number.POSITIVE_INFINITY });
    this.#subscription = connection.nc.subscribe(this.#subject, {
      queue: this.#queue,
      callback: (error, message) => {
        if (error === null) connection.pacer.begin(() => this.#take(message));
        else this.#fault(infrastructureError(error, connection.user, this.#subject), "");
      },
    });
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
      subject: this.#subject,
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
    await drainSubscription(this.#connection.nc, this.#subscription);
    this.#connection.pacer.flush();
  }

  #take(message: Msg): void {
    const { contract } = this.#options;
    const tokens = tokensOfCall(message, contract);
    if (tokens === null) {
      this.#ignored += 1;
      return;
    }
    this.#requests += 1;
    const refusal = this.#takeSlot(tokens["caller"] ?? "", bytesOf(message));
    if (refusal !== null) {
      const failure = failureFor("overloaded", `${contract.name} ${refusal}; try again shortly`);
      void this.#reply(message, { ok: false, failure });
      return;
    }
    void this.#serve(message, tokens);
  }

  /** Why no request is taken now; null when this one is. */
  #takeSlot(caller: string, bytes: number): string | null {
    const refusal = this.#ownSlots?.take(caller, bytes) ?? null;
    if (refusal !== null) return refusal;
    const shared = this.#options.slots.take(caller, bytes);
    if (shared !== null) this.#ownSlots?.leave(caller, bytes);
    return shared;
  }

  /** Never rejects: whatever happens becomes a reply, and a fault besides if it is a bug. */
  #serve(message: Msg, tokens: CallTokens): Promise<void> {
    const { name } = this.#options.contract;
    const parent = headerOf(message, HEADERS.traceparent);
    const attributes = { "rpc.system.name": "nats", "rpc.method": name };
    return inSpan({ name, kind: "server", parent, attributes }, (span) =>
      this.#work(message, tokens, span),
    );
  }

  async #work(message: Msg, tokens: CallTokens, span: WorkSpan): Promise<void> {
    const startedAt = performance.now();
    const call = new ActiveCall(message, {
      contract: this.#options.contract,
      tokens,
      fail: this.#fail,
      deadlines: this.#connection.deadlines,
      claims: this.#connection.claims,
      traceparent: span.traceparent,
    });
    const running = this.#options.running.begin(call);
    const own = this.#own.begin(call);
    try {
      const outcome = await this.#outcome(call, message);
      if (!outcome.ok) span.fail(outcome.failure.code);
      await this.#reply(message, outcome);
    } finally {
      call.finish();
      this.#busyMs += performance.now() - startedAt;
      this.#options.running.end(running);
      this.#own.end(own);
      this.#options.slots.leave(call.natsUser, bytesOf(message));
      this.#ownSlots?.leave(call.natsUser, bytesOf(message));
    }
  }

  async #outcome(call: ActiveCall, message: Msg): Promise<Outcome> {
    const { contract } = this.#options;
    if (call.deadline <= Date.now()) {
      return failed(
        "deadline_exceeded",
        `the deadline of ${contract.name} was over before the call began`,
      );
    }
    try {
      const found = this.#options.callers.find({ message, natsUser: call.natsUser, contract });
      call.verified = found instanceof Promise ? await found : found;
    } catch (error) {
      if (error instanceof ServiceError) return failed(error.code, error.message, error.data);
      return this.#failureOf(call, error);
    }
    const turn = this.#options.turns.begin(forWhom(call));
    try {
      if (turn.begins !== null) await turn.begins;
      return await this.#answer(call, message);
    } finally {
      turn.end();
    }
  }

  async #answer(call: ActiveCall, message: Msg): Promise<Outcome> {
    const { contract } = this.#options;
    const { limits } = contract;
    try {
      const gauge = new JsonGauge(limits);
      const claim = headerOf(message, HEADERS.claim);
      if (claim === undefined) {
        const problem = gauge.add(message.data);
        if (problem !== null) return invalidRequest(contract, [`the body ${problem}`]);
        return await this.#run(call, message.string(), gauge);
      }
      if (claimedBytes(claim) > limits.maxBytes) return tooLarge(limits.maxBytes);
      const text = await this.#connection.claims.get(claim, call.natsUser, (part) =>
        gauge.add(part),
      );
      return await this.#run(call, text, gauge);
    } catch (error) {
      return this.#failureOf(call, error);
    }
  }

  async #run(call: ActiveCall, text: string, gauge: JsonGauge): Promise<Outcome> {
    const { contract, handler } = this.#options;
    const body = parseJson(text);
    if (!body.ok) return invalidRequest(contract, [body.problem]);
    const request = checkCounted(contract.request, body.value, gauge);
    if (!request.success) return invalidRequest(contract, problemsOf(request.error));
    const unsafeToken = call.unsafeToken();
    if (unsafeToken !== null) return invalidRequest(contract, [`${unsafeToken}: ${TOKEN_RULE}`]);
    const reply = await handler(request.data, call);
    return { ok: true, body: replyBody(contract, reply) };
  }

  #failureOf(call: ActiveCall, error: unknown): Outcome {
    const { contract } = this.#options;
    if (error instanceof ClaimError) return invalidRequest(contract, [error.message]);
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

  async #reply(message: Msg, outcome: Outcome): Promise<void> {
    try {
      await this.#send(message, outcome);
    } catch (error) {
      await this.#notSent(message, outcome, error);
    }
  }

  async #notSent(message: Msg, outcome: Outcome, error: unknown): Promise<void> {
    const failure = infrastructureError(error, this.#connection.user, this.#subject);
    if (failure instanceof ServiceError && failure.code === "disconnected") return; // the caller meets its own timeout
    if (failure instanceof ServiceError && outcome.ok) {
      await this.#reply(message, failed(failure.code, failure.message, failure.data));
      return;
    }
    this.#fault(error, correlationIdOf(message));
  }

  async #send(message: Msg, outcome: Outcome): Promise<void> {
    const body = outcome.ok ? outcome.body : encodeFailure(outcome.failure);
    const headers: Record<string, string> = {};
    if (!outcome.ok) {
      this.#errors += 1;
      this.#lastError = cutText(`${outcome.failure.code}: ${outcome.failure.message}`, 300);
      headers[HEADERS.serviceError] = cutText(outcome.failure.message, 300);
      headers[HEADERS.serviceErrorCode] = String(numericCode(outcome.failure.code));
    }
    const isClaimed = this.#connection.claims.isNeededFor(body);
    if (isClaimed)
      headers[HEADERS.claim] = await this.#connection.claims.put(body, {
        subject: `the reply of ${this.#options.contract.name}`,
        owner: tokensOfCall(message, this.#options.contract)?.["caller"] ?? null,
        isBrief: true,
      });
    this.#connection.outbox.send({
      subject: message.reply ?? "",
      body: isClaimed ? "" : body,
      ...(outcome.ok && !isClaimed ? {} : { headers: headersOf(headers) }),
      onError: (error) => void this.#notSent(message, outcome, error),
    });
  }

  #fault(error: unknown, correlationId: string): void {
    this.#options.onFault({ error, contract: this.#options.contract.name, correlationId });
  }
}

/**
 * Null for what is not a call. A call has its caller waiting for the answer, and a subject of its
 * contract. The second is no matter of course: JetStream delivers a stored message, under the
 * subject it was stored with, to any subject that the maker of a push consumer names, and then no
 * permission vouches for a caller.
 */
function tokensOfCall(message: Msg, contract: Rpc): CallTokens | null {
  const tokens: CallTokens | null = tokensOf<string>(contract, message.subject);
  if (tokens === null || !isInboxOf(tokens["caller"], message.reply ?? "")) return null;
  return tokens;
}

/** Runners act for the owners of runs, and name the run. Of other services, nobody vouches for what a request is about. */
function forWhom({ caller, correlationId }: ActiveCall): string {
  return caller === RUNNER_USER ? (ownerOfRun(correlationId) ?? caller) : caller;
}

/** Of the request, wherever its body and what is attached to it are. */
function bytesOf(message: Msg): number {
  return (
    message.data.length +
    claimedBytes(headerOf(message, HEADERS.claim)) +
    claimedBytes(headerOf(message, HEADERS.attachment))
  );
}

function tooLarge(maxBytes: number): Outcome {
  return failed(
    "payload_too_large",
    `the request is larger than ${maxBytes} bytes, the most that is accepted here`,
  );
}

function invalidRequest(contract: Rpc, problems: string[]): Outcome {
  return failed(
    "invalid_request",
    `the request does not fit ${contract.name}: ${problems.join("; ")}`,
    { problems },
  );
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

import type { Handler } from "./handler.ts";
import type { Rpc, Tokens } from "@switchyard/contracts/define";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection, type Receiver } from "./connection.ts";
import type { ActiveCall } from "./active-call.ts";
import { answerDiscovery, type Discovery } from "./answer-discovery.ts";
import { VerifiedCallers, verifiedCallersOf, type VerifyUser } from "./verified-caller.ts";
import { FairSlots } from "./fair-slots.ts";
import { FairTurns } from "./fair-turns.ts";
import { InFlight } from "./in-flight.ts";
import { chained, type ServedCall, type ServerInterceptor } from "./interceptor.ts";
import { RpcEndpoint, type Endpoint, type Fault } from "./rpc-endpoint.ts";
import { NOTE_EVERY_MS, WORKING } from "./working-note.ts";

export interface ServeOptions {
  /** The service's name in discovery; the permissions expect the NATS user's name. */
  readonly name: string;
  /** Semantic version. */
  readonly version: string;
  readonly description: string;
  /**
   * Calls in progress at a time over all endpoints, default 256; above it a call is answered `overloaded`. No client can use all of them,
   * see {@link FairSlots}.
   */
  readonly concurrency?: number;
  /** The same for single contracts, by their names, so that long calls leave room for the others. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Interceptors around each handler, the first one outermost. They see requests that fit their contracts. */
  readonly interceptors?: readonly ServerInterceptor[];
  /** Verifies user tokens; by default it calls the policy service. */
  readonly verifyUser?: VerifyUser;
  /** Called for every fault: a handler that threw something undeclared, a reply outside its schema. */
  readonly onFault: (fault: Fault) => void;
}

export interface Service {
  /**
   * Serves a contract. `at` pins tokens of its subject, such as `{ server: "github" }`; a token
   * that is not pinned is a wildcard. Several endpoints of one contract may be served side by side.
   */
  handle<R extends Rpc>(
    contract: R,
    handler: Handler<R>,
    at?: Partial<Tokens<R["subject"]>>,
  ): Endpoint;
  /** Stops all endpoints and waits for their work. */
  drain(): Promise<void>;
}

const CONCURRENCY = 256;
/** The limit while callers compete: enough that a process always has something to do, few enough that no caller waits long behind them. */
const BEGUN_AT_ONCE = 8;
/** The size of all requests in progress, as received; parsed, they take a multiple of it. */
const MAX_REQUEST_BYTES = 256 * 1024 * 1024;
const DRAIN_MS = 20_000;

/** A service on the bus: it answers rpcs and NATS discovery (ADR-32) until it is drained. */
export function serve(bus: Bus, options: ServeOptions): Service {
  const { verifyUser } = options;
  const connection = connectionOf(bus);
  const callers =
    verifyUser === undefined
      ? verifiedCallersOf(bus)
      : new VerifiedCallers(verifyUser, connection.delegation);
  return new BusService(connection, options, callers);
}

class BusService implements Service, Receiver {
  readonly #connection: Connection;
  readonly #options: ServeOptions;
  readonly #endpoints = new Set<RpcEndpoint>();
  readonly #running = new InFlight<ActiveCall>();
  readonly #slots: FairSlots;
  readonly #turns = new FairTurns(BEGUN_AT_ONCE);
  readonly #discovery: Discovery;
  readonly #notes: NodeJS.Timeout;
  readonly #callers: VerifiedCallers;

  constructor(connection: Connection, options: ServeOptions, callers: VerifiedCallers) {
    this.#connection = connection;
    this.#callers = callers;
    this.#options = options;
    const calls = options.concurrency ?? CONCURRENCY;
    this.#slots = new FairSlots({ calls, bytes: MAX_REQUEST_BYTES });
    this.#discovery = answerDiscovery(connection.nc, options, () =>
      [...this.#endpoints].map((endpoint) => endpoint.stats()),
    );
    this.#notes = setInterval(() => this.#sendWorking(), NOTE_EVERY_MS).unref();
    connection.receivers.add(this);
  }

  handle<R extends Rpc>(
    contract: R,
    handler: Handler<R>,
    at: Partial<Tokens<R["subject"]>> = {},
  ): Endpoint {
    const endpoint = new RpcEndpoint(this.#connection, {
      contract,
      respond: chained<ServedCall>(this.#options.interceptors ?? [], async (call) =>
        // The endpoint gives the handler only what R's own schema has parsed.
        (handler as Handler<Rpc>)(call.request, call.context),
      ),
      at,
      running: this.#running,
      slots: this.#slots,
      turns: this.#turns,
      callers: this.#callers,
      ownLimit: this.#options.limits?.[contract.name] ?? null,
      onFault: this.#options.onFault,
      onStop: () => this.#endpoints.delete(endpoint),
    });
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  async drain(): Promise<void> {
    await this.stop(DRAIN_MS);
  }

  async stop(deadlineMs: number): Promise<void> {
    this.#connection.receivers.delete(this);
    this.#discovery.stop();
    await Promise.all([...this.#endpoints].map((endpoint) => endpoint.stopReceiving()));
    await this.#running.settle(deadlineMs);
    clearInterval(this.#notes);
  }

  closed(): void {
    clearInterval(this.#notes);
    this.#running.abort();
  }

  #sendWorking(): void {
    for (const call of this.#running.values()) {
      const { inbox } = call;
      if (call.takesLong() && inbox !== null)
        this.#connection.outbox.send({ subject: inbox + WORKING, body: "" });
    }
  }
}

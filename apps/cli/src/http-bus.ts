import type { CallOptions } from "@switchyard/bus/call-options";
import { carriedBus } from "@switchyard/bus/carried-bus";
import type { Carrier } from "@switchyard/bus/carrier";
import type { Bus } from "@switchyard/bus/bus";
import { needsNats } from "@switchyard/bus/connection";
import type { ReadEventsOptions, StoredEvent } from "@switchyard/bus/stored-event";
import { createClient, type Client, type Operation } from "@switchyard/client/client";
import {
  CONTRACT_ROUTES,
  SERVICE_FIELDS,
  VERSION_FIELD,
  type ContractRoute,
} from "@switchyard/client/contract-routes";
import { ProblemError } from "@switchyard/client/problem-error";
import type { Command, Rpc } from "@switchyard/contracts/define";
import { ServiceError } from "@switchyard/contracts/errors";
import { eventOfSubject } from "@switchyard/contracts/registry";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { CliError } from "./cli-error.ts";

/** Extra time, beyond the contract's limit, for the gateway to pass an answer on. */
const ON_THE_WAY_MS = 5_000;

/**
 * A bus over a gateway, as the user of the key: each contract is the operation of the gateway that is made of it. Rejects when the
 * gateway does not answer in time or does not know the key.
 */
export async function connectHttp(
  baseUrl: string,
  key: string,
  connectTimeoutMs: number,
): Promise<Bus> {
  const client = createClient({ baseUrl, token: key });
  const signal = AbortSignal.timeout(connectTimeoutMs);
  const me = await client.request("GET /me", {}, { signal }).catch((error: unknown) => {
    throw signal.aborted
      ? unreachable(baseUrl, "no answer", error)
      : gatewayFailure(error, baseUrl);
  });
  return carriedBus(me.caller, new HttpCarrier(client, baseUrl));
}

/** The parts of a request over HTTP. */
interface Parts {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly attachment: Blob | undefined;
  readonly ifMatch: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

class HttpCarrier implements Carrier {
  readonly #client: Client;
  readonly #baseUrl: string;
  readonly #closing = new AbortController();

  constructor(client: Client, baseUrl: string) {
    this.#client = client;
    this.#baseUrl = baseUrl;
  }

  call: Carrier["call"] = async (contract, request, { tokens, timeoutMs, signal, attachment }) => {
    const limit = AbortSignal.timeout((timeoutMs ?? contract.timeoutMs) + ON_THE_WAY_MS);
    const signals = [limit, this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    const fields = { ...(request as Fields), ...(tokens as Fields | undefined) };
    const attached = attachment && (await blobOf(attachment));
    const answer = await this.#send(contract, fields, AbortSignal.any(signals), attached).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        if (!limit.aborted) throw error;
        throw new ServiceError(
          "timeout",
          `the gateway at ${this.#baseUrl} did not answer ${contract.name} in time`,
        );
      },
    );
    const reply = contract.reply.safeParse(answer);
    // The schema is the contract's own, only its type got lost.
    if (reply.success) return reply.data as never;
    throw new ServiceError(
      "invalid_reply",
      `the gateway's answer to ${contract.name} does not fit its contract`,
    );
  };

  publish: Carrier["publish"] = async (contract, tokens, payload) => {
    const fields = { ...(payload as Fields), ...(tokens as Fields) };
    const { sequence } = (await this.#send(contract, fields, this.#closing.signal)) as {
      sequence: number;
    };
    return { stream: "", sequence, duplicate: false };
  };

  readEvents: Carrier["readEvents"] = (options) => {
    const run = runOf(options.filters);
    return run === null ? this.#readAll(options) : this.#readRun(run, options);
  };

  subscribeLive: Carrier["subscribeLive"] = (contract, tokens, onMessage) => {
    const ending = new AbortController();
    // Progress of a call is published over NATS alone.
    if (contract.subject === runLive.subject) {
      const { owner = "", runId = "" } = tokens as Readonly<Record<string, string>>;
      void this.#deliverDeltas(`${owner}~${runId}`, ending.signal, (data) => {
        const delta = contract.payload.safeParse(data);
        if (delta.success) onMessage(delta.data as never); // the schema is the contract's own
      });
    }
    return { stop: () => ending.abort() };
  };

  close(): void {
    this.#closing.abort();
  }

  // oxlint-disable-next-line max-params -- the fourth is optional
  async #send(
    contract: Rpc | Command,
    fields: Fields,
    signal: AbortSignal,
    attachment?: Blob,
  ): Promise<unknown> {
    const found = routeFor(contract.name, fields);
    if (found === null) throw needsNats();
    const { operation, ...parts } = partsOf(found, fields, attachment);
    try {
      return await this.#client.request(operation, parts, { signal });
    } catch (error) {
      throw gatewayFailure(error, this.#baseUrl, found.codes);
    }
  }

  async #deliverDeltas(run: string, signal: AbortSignal, deliver: (data: unknown) => void) {
    try {
      const until = AbortSignal.any([signal, this.#closing.signal]);
      for await (const { event, data } of this.#client.followRun(run, { signal: until }))
        if (event === "delta") deliver(data);
    } catch {
      // The stored events have the same content, and their reader gets the error.
    }
  }

  async *#readRun(run: Run, options: ReadEventsOptions): AsyncGenerator<StoredEvent, void> {
    const { from, stopAtEnd = false } = options;
    const after = afterOf(from);
    const follow = { ...this.#following(options), after, stopAtEnd };
    try {
      for await (const message of this.#client.followRun(`${run.owner}~${run.name}`, follow)) {
        const event: string = message.event;
        // Skips deltas, and the event by which the gateway reports an unknown run.
        if (event === "delta" || event === "unknown") continue;
        yield stored(`yard.evt.run.${run.owner}.${run.name}.${event}`, message);
      }
    } catch (error) {
      throw gatewayFailure(error, this.#baseUrl);
    }
  }

  async *#readAll(options: ReadEventsOptions): AsyncGenerator<StoredEvent, void> {
    const [filter = "", ...others] = options.filters;
    const words = filter.split(".");
    const [noun = "", last = ""] = [words[2], words.at(-1)];
    if (others.length > 0 || options.from !== "now" || options.stopAtEnd === true)
      throw needsNats();
    try {
      for await (const message of this.#client.followEvents({ noun }, this.#following(options))) {
        if (message.event !== last) continue;
        // The owner's token is lost over HTTP; contracts that need it have it in the payload.
        yield stored(words.map((word) => (word === "*" ? "_" : word)).join("."), message);
      }
    } catch (error) {
      throw gatewayFailure(error, this.#baseUrl);
    }
  }

  #following({ signal, onOpen }: ReadEventsOptions) {
    let isOpen = false;
    return {
      signal: AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]),
      onState: (state: string) => {
        if (state !== "live" || isOpen) return;
        isOpen = true;
        onOpen?.();
      },
    };
  }
}

interface Run {
  readonly owner: string;
  readonly name: string;
}

const RUN_FILTER = /^yard\.evt\.run\.([^.*>]+)\.([^.*>]+)\.\*$/;

/** The run whose events alone are read. */
function runOf(filters: readonly string[]): Run | null {
  const [, owner, name] = RUN_FILTER.exec(filters.length === 1 ? (filters[0] ?? "") : "") ?? [];
  return owner === undefined || name === undefined ? null : { owner, name };
}

/** The number in the run that is known already. */
function afterOf(from: ReadEventsOptions["from"]): number {
  if (typeof from === "string") return 0;
  return "after" in from ? from.after.sequence : from.sequence - 1;
}

/** Over HTTP an event's position is its number in the run; in the stream of all events the position begins with the sequence. */
function stored(
  subject: string,
  { id, data }: { readonly id: number | string | null; readonly data: unknown },
): StoredEvent {
  const { at } = Object(data) as { readonly at?: unknown };
  return {
    subject,
    contract: eventOfSubject(subject),
    payload: data,
    sequence: Number.parseInt(String(id ?? 0), 10),
    time: typeof at === "string" ? new Date(at) : new Date(),
    correlationId: null,
  };
}

function routeFor(contract: string, fields: Fields): ContractRoute | null {
  const known = Object.hasOwn(CONTRACT_ROUTES, contract) ? (CONTRACT_ROUTES[contract] ?? []) : [];
  const fits = (route: ContractRoute): boolean =>
    namesIn(route).every(([, field]) => typeof fields[field] === "string");
  return known.find(fits) ?? null;
}

/** The names in a path, each with the field of the request that it is. */
function namesIn({ path, names = {} }: ContractRoute): [name: string, field: string][] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, names[name] ?? name]);
}

function partsOf(route: ContractRoute, fields: Fields, attachment: Blob | undefined): Parts {
  const { method, path, body: whole } = route;
  const inPath = namesIn(route);
  const elsewhere = new Set([
    ...inPath.map(([, field]) => field),
    ...SERVICE_FIELDS,
    VERSION_FIELD,
  ]);
  const rest = Object.entries(fields).filter(
    ([name, value]) => value !== undefined && !elsewhere.has(name) && name !== whole,
  );
  const isBody =
    whole === undefined && attachment === undefined && method !== "GET" && method !== "DELETE";
  const version = fields[VERSION_FIELD];
  return {
    // Made of the same table as the operations' types.
    operation: `${method} ${path}` as Operation,
    path: Object.fromEntries(inPath.map(([name, field]) => [name, String(fields[field])])),
    query: isBody ? {} : Object.fromEntries(rest),
    body: whole === undefined ? (isBody ? Object.fromEntries(rest) : undefined) : fields[whole],
    attachment,
    ifMatch: typeof version === "string" ? version : undefined,
  };
}

async function blobOf(parts: NonNullable<CallOptions["attachment"]>): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of parts) chunks.push(new Uint8Array(part));
  return new Blob(chunks);
}

/** The error that a call over NATS would have ended with. */
export function gatewayFailure(
  error: unknown,
  baseUrl: string,
  codes: Readonly<Record<string, string>> = {},
): unknown {
  if (!(error instanceof ProblemError)) return error;
  const { status, code, problem } = error;
  if (status === 0) return unreachable(baseUrl, causeOf(error), error);
  if (status === 401)
    return new CliError("bad_credential", `${baseUrl} refused the API key: ${problem.detail}`, {
      hint: "sign in again with: ./yard login URL; who runs the installation makes keys with: ./yard keys api create NAME",
      cause: error,
    });
  const own = Object.hasOwn(codes, code) ? (codes[code] ?? code) : code;
  return new ServiceError(own, problem.detail, { data: problem.data, cause: error });
}

function unreachable(baseUrl: string, why: string, cause: unknown): CliError {
  return new CliError("disconnected", `the gateway at ${baseUrl} cannot be reached (${why})`, {
    hint: "look whether it runs, and whether the address is right: ./yard context list",
    cause,
  });
}

/** Returns the message of the innermost cause: "fetch failed" alone explains nothing. */
function causeOf(error: Error): string {
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error)
    return causeOf(cause.errors[0]);
  return cause instanceof Error ? causeOf(cause) : error.message;
}

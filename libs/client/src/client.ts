import {
  followRun,
  followStream,
  type FollowOptions,
  type OpenStream,
  type RunMessage,
  type StreamMessage,
} from "./follow.ts";
import type { Operations, RunDetail } from "./operations.ts";
import { ProblemError, problemOfResponse } from "./problem-error.ts";

/** Method and path of an operation, such as `GET /runs/{runId}`. */
export type Operation = keyof Operations;
/** The reply of an operation. */
export type Reply<Op extends Operation> = Operations[Op]["reply"];
/** The request of an operation: `path`, `query`, `body`, `idempotencyKey` and `ifMatch`, a version, each where it has one. */
export type Request<Op extends Operation> = Operations[Op]["request"];

export interface ClientOptions {
  /** The gateway's base URL, such as `https://switchyard.example.com`; in a browser "" is the page's own. */
  readonly baseUrl: string;
  /** An API key, or a token of a configured issuer. Left out: the browser's cookie of a session. */
  readonly token?: string | (() => string | undefined);
  /** Headers that are added to every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Used in place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
}

export interface Client {
  /**
   * Sends one operation and resolves with its reply. Nothing is retried; a request with an `idempotencyKey` may be sent again safely.
   * Times are ISO 8601 in UTC, other units are in the names of fields.
   *
   * @example
   * const { runId } = await client.request("POST /runs", {
   *   body: { agent: "reviewer", input: "What is in this repository?" },
   *   idempotencyKey: "order-4711",
   * });
   * @throws ProblemError with the gateway's `code`, such as `unknown_agent`; `unreachable` with status 0 when no gateway answers.
   * The signal's reason when it is aborted.
   */
  request<Op extends Operation>(
    operation: Op,
    ...args: {} extends Request<Op>
      ? [request?: Request<Op>, options?: RequestOptions]
      : [request: Request<Op>, options?: RequestOptions]
  ): Promise<Reply<Op>>;
  /**
   * Yields the events of a run from its beginning to its end, with live text between them. After a cut the stream is resumed, with pauses
   * of 1 to 15 seconds, and no event is lost or repeated. A connection without a byte for 40 seconds counts as cut.
   *
   * @example
   * for await (const message of client.followRun(runId)) {
   *   if (message.event === "delta") process.stdout.write(message.data.delta);
   *   if (message.event === "tool-denied") console.log(message.data.decision.reason);
   * }
   * @throws ProblemError when the gateway refuses the stream, such as `unknown_run`. An aborted signal ends it without an error.
   */
  followRun(runId: string, options?: FollowOptions): AsyncGenerator<RunMessage>;
  /**
   * Yields the events about everything that belongs to the caller, or about one noun, object or kind of event of it, from now on. After a cut
   * the stream is resumed behind the last event. It never ends by itself, but with `stopAtEnd`, which needs `noun` and `event`: then it
   * yields the stored events, the oldest first.
   *
   * @example
   * for await (const { event, data } of client.followEvents({ noun: "approval" })) {
   *   console.log(event, data);
   * }
   * @throws ProblemError when the gateway refuses the stream, such as `forbidden`. An aborted signal ends it without an error.
   */
  followEvents(
    about?: { readonly noun?: string; readonly id?: string; readonly event?: string },
    options?: FollowOptions,
  ): AsyncGenerator<StreamMessage>;
  /**
   * Resolves with the run when it has ended, with any `status`. A message that became part of another run of its session is answered by
   * that run. Costs are in US dollars.
   *
   * @example
   * const run = await client.waitForRun(runId, { signal: AbortSignal.timeout(60_000) });
   * console.log(run.status, run.output, run.costUsd);
   * @throws ProblemError `rejected` for a command that became no run. The signal's reason when it is aborted.
   */
  waitForRun(runId: string, options?: FollowOptions): Promise<RunDetail>;
}

/** The parts that any request may have; the type of an operation declares which ones it has. */
interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** Bytes that are the body in place of JSON. */
  readonly attachment?: Blob;
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

/**
 * Creates a client of one gateway. It stores nothing but its options.
 *
 * @example
 * const client = createClient({ baseUrl: "http://127.0.0.1:8080", token: process.env.YARD_HTTP_TOKEN });
 * @throws Nothing: the first request shows whether the gateway answers.
 */
export function createClient(options: ClientOptions): Client {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const { token } = options;
    const credential = typeof token === "function" ? token() : token;
    const headers = new Headers({ ...options.headers, ...(init.headers as object) });
    if (credential !== undefined) headers.set("authorization", `Bearer ${credential}`);
    const fetchIt = options.fetch ?? globalThis.fetch;
    const response = await fetchIt(`${options.baseUrl}/api/v1${path}`, { ...init, headers }).catch(
      (cause: unknown) => {
        if (init.signal?.aborted === true) throw cause;
        throw unreachable(cause);
      },
    );
    if (response.ok) return response;
    throw await problemOfResponse(response);
  };
  const stream =
    (path: string): OpenStream =>
    (lastId, signal) =>
      send(path, {
        signal,
        cache: "no-store",
        headers: {
          accept: "text/event-stream",
          ...(lastId === "" ? {} : { "last-event-id": lastId }),
        },
      });
  const client: Client = {
    async request(operation, ...[request, { signal } = {}]) {
      const [method = "", template = ""] = operation.split(" ");
      const parts = (request ?? {}) as Parts;
      const { path = {}, query = {}, body, attachment, idempotencyKey, ifMatch } = parts;
      const response = await send(`${fill(template, path)}${queryText(query)}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(attachment === undefined ? {} : { "content-type": "application/octet-stream" }),
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
          ...(ifMatch === undefined ? {} : { "if-match": `"${ifMatch}"` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(attachment === undefined ? {} : { body: attachment }),
        ...(signal === undefined ? {} : { signal }),
      });
      // The form of the gateway's reply follows from the table that the type is generated from.
      return (await response.json()) as never;
    },
    followRun: (runId, follow) => {
      const query = follow?.stopAtEnd === true ? "?follow=false" : "";
      return followRun(stream(`${fill("/runs/{runId}/events", { runId })}${query}`), follow);
    },
    followEvents: (about = {}, follow = {}) => {
      const stored = follow.stopAtEnd === true ? { follow: false } : {};
      const open = stream(`/events${queryText({ ...about, ...stored })}`);
      return followStream(open, follow, () => follow.stopAtEnd === true);
    },
    async waitForRun(runId, follow) {
      for await (const message of client.followRun(runId, follow)) {
        if (message.event === "rejected") throw rejected(message.data);
        if (message.event === "merged") return client.waitForRun(message.data.into, follow);
      }
      follow?.signal?.throwIfAborted();
      return (await client.request("GET /runs/{runId}", { path: { runId } })).run;
    },
  };
  return client;
}

function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? ""),
  );
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    // Lists are encoded as JSON: an element may contain the comma that would separate it from the next one.
    params.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return params.size === 0 ? "" : `?${params.toString()}`;
}

function unreachable(cause: unknown): ProblemError {
  const detail = "the gateway cannot be reached";
  const next = "look whether it runs, and send the same request again";
  return new ProblemError(
    { status: 0, code: "unreachable", detail, next, requestId: "" },
    { cause },
  );
}

function rejected({
  code,
  message,
  problems,
}: {
  code: string;
  message: string;
  problems: string[];
}) {
  const detail = [message, ...problems].join("; ");
  return new ProblemError({ status: 409, code: "rejected", detail, data: { code }, requestId: "" });
}

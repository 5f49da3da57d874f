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
  /** Rejects with a ProblemError. */
  request<Op extends Operation>(
    operation: Op,
    ...args: {} extends Request<Op>
      ? [request?: Request<Op>, options?: RequestOptions]
      : [request: Request<Op>, options?: RequestOptions]
  ): Promise<Reply<Op>>;
  /** The events of a run from its beginning to its end, with live text between them. After a cut the stream is resumed. */
  followRun(runId: string, options?: FollowOptions): AsyncGenerator<RunMessage>;
  /**
   * The events about everything that belongs to the caller, or about one noun or object of it, from now on. After a cut the stream is
   * resumed.
   */
  followEvents(
    about?: { readonly noun?: string; readonly id?: string },
    options?: FollowOptions,
  ): AsyncGenerator<StreamMessage>;
  /**
   * Resolves when the run has ended, with any `status`. Rejects with a ProblemError `rejected` for a command that became no run, and with
   * the signal's reason. A message that became part of another run of its session is answered by that run.
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

/** A client of one gateway. It stores nothing but its options. */
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
    followEvents: (about = {}, follow = {}) =>
      followStream(stream(`/events${queryText(about)}`), follow),
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

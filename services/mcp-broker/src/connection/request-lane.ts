import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type Progress,
} from "@modelcontextprotocol/client";

export interface RequestLimits {
  readonly timeoutMs: number;
  /** Aborting it notifies the server to stop. */
  readonly signal: AbortSignal;
  /** Without it the request has no progress token, and the server reports no progress. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface LaneRequest extends RequestLimits {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Pending {
  readonly request: LaneRequest;
  readonly end: (error: Error | null, result: unknown) => void;
}

/** Far above the ids that the protocol layer uses on one connection. */
const FIRST_ID = 1_000_000_000;

const PROGRESS = "notifications/progress";

const lengths = new WeakMap<object, number>();

/** The number of characters of the line that carried the result; null for a result that arrived in another way. */
export function lineLength(result: object): number | null {
  return lengths.get(result) ?? null;
}

/**
 * Requests beside the SDK's protocol layer, on the same connection: that layer costs more processor time for a call than all the
 * rest of it. The ranges of ids keep the two apart. Fails as the protocol layer does.
 */
export class RequestLane {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #pending = new Map<number, Pending>();
  #nextId = FIRST_ID;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  request(request: LaneRequest): Promise<unknown> {
    const { method, params, timeoutMs, signal, onProgress } = request;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (signal.aborted) return Promise.reject(asSdkError(signal.reason));
    const id = this.#nextId;
    this.#nextId += 1;
    const end: Pending["end"] = (error, result) => {
      this.#pending.delete(id);
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      if (error === null) resolve(result);
      else reject(error);
    };
    const cancel = (reason: unknown): void => {
      end(asSdkError(reason), null);
      const why = { requestId: id, reason: String(reason) };
      // A connection that is gone cancels by itself.
      this.#send({ jsonrpc: "2.0", method: "notifications/cancelled", params: why }).catch(
        () => undefined,
      );
    };
    const onAbort = (): void => cancel(signal.reason);
    const timer = setTimeout(() => cancel(timedOut()), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(id, { request, end });
    const message: JSONRPCRequest = {
      jsonrpc: "2.0",
      id,
      method,
      params: onProgress === undefined ? params : withProgress(params, id),
    };
    this.#send(message).catch((error: unknown) => end(asError(error), null));
    return promise;
  }

  /** True when the message was one of this lane's, also when its request has ended. */
  take(message: JSONRPCMessage, length: number): boolean {
    if ("method" in message) return this.#takeProgress(message);
    // Some servers write the id back as a text.
    const id = Number(message.id);
    if (!(id >= FIRST_ID)) return false;
    const pending = this.#pending.get(id);
    if (pending === undefined) return true;
    if ("error" in message) {
      const { code, message: text, data } = message.error;
      pending.end(ProtocolError.fromError(code, text, data), null);
    } else {
      lengths.set(message.result, length);
      pending.end(null, message.result);
    }
    return true;
  }

  /** The connection has ended. */
  close(): void {
    const error = new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed");
    for (const { end } of this.#pending.values()) end(error, null);
  }

  #takeProgress(message: JSONRPCMessage): boolean {
    if (!("method" in message) || message.method !== PROGRESS) return false;
    const { progressToken, ...progress } = message.params ?? {};
    const id = Number(progressToken);
    if (!(id >= FIRST_ID)) return false;
    const onProgress = this.#pending.get(id)?.request.onProgress;
    if (typeof progress["progress"] === "number") onProgress?.(progress as Progress); // the receiver checks the rest
    return true;
  }
}

function withProgress(params: LaneRequest["params"], progressToken: number) {
  return { ...params, _meta: { ...Object(params["_meta"]), progressToken } };
}

function timedOut(): SdkError {
  return new SdkError(SdkErrorCode.RequestTimeout, "Request timed out");
}

function asSdkError(reason: unknown): SdkError {
  return reason instanceof SdkError
    ? reason
    : new SdkError(SdkErrorCode.RequestTimeout, String(reason));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

import type { Rpc, Tokens } from "@switchyard/contracts/define";

export interface CallOptions<R extends Rpc = Rpc> {
  /** The tokens of the subject besides `caller`, which is always the bus's own user. */
  readonly tokens?: Omit<Tokens<R["subject"]>, "caller">;
  /** Default: the contract's. With a deadline too, the earlier of both applies. */
  readonly timeoutMs?: number;
  /** In milliseconds since the epoch; pass on the deadline of the request that is being served. */
  readonly deadline?: number;
  /** Ends the wait, with the signal's reason. A request that was sent is not cancelled. */
  readonly signal?: AbortSignal;
  readonly correlationId?: string;
  readonly traceparent?: string;
  /** The user token of the client that the gateway calls for; services accept it from the gateway only. */
  readonly userToken?: string;
  /**
   * Bytes that travel beside the request, for a contract that accepts some. They are stored as they arrive. The call rejects with
   * `payload_too_large` when they are more than the contract accepts.
   */
  readonly attachment?: Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined;
}

import type { Rpc, Tokens } from "@switchyard/contracts/define";
import type { Fail } from "@switchyard/contracts/errors";
import type { UserRole } from "@switchyard/contracts/user-roles";
import type { z } from "zod";
import type { PreparedReply } from "./prepared-reply.ts";

/** The facts of a call that a handler gets besides its request. */
export interface CallContext<R extends Rpc = Rpc> {
  /** The NATS user that called, which the server's permissions guarantee, or the user that the gateway called for. */
  readonly caller: string;
  /** The roles of the user that the gateway called for, among which the contract's is; empty for a NATS user that called directly. */
  readonly roles: readonly UserRole[];
  /** The verified user token with which the gateway called; undefined for a NATS user that called directly. */
  readonly userToken: string | undefined;
  readonly tokens: Tokens<R["subject"]>;
  /** The contract's errors: `throw fail.denied("…", decision)`. */
  readonly fail: Fail<R["errors"]>;
  /** The deadline in milliseconds since the epoch. */
  readonly deadline: number;
  /** Aborts at the deadline, and when a drain gives up waiting. */
  readonly signal: AbortSignal;
  readonly correlationId: string;
  /** A new span in the caller's trace. */
  readonly traceparent: string;
  /**
   * Reads the bytes that travel beside the request; null without any. Rejects when they are gone, were changed or are more than the
   * contract accepts, which is answered `invalid_request`.
   */
  attachment(): Promise<Uint8Array | null>;
}

export type Handler<R extends Rpc> = (
  request: z.output<R["request"]>,
  context: CallContext<R>,
) => Answer<R> | Promise<Answer<R>>;

/** A reply, or one that was prepared to be sent many times. */
type Answer<R extends Rpc> = z.input<R["reply"]> | PreparedReply<R>;

import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";
import type { CallOptions } from "./call-options.ts";
import type { CallContext } from "./handler.ts";

/** A request to a service before it is sent, with everything that decides how it is sent. */
export interface ClientCall<R extends Rpc = Rpc> {
  readonly contract: R;
  readonly request: z.input<R["request"]>;
  readonly options: CallOptions<R>;
}

/** A request that a service has received and checked, with its handler's context. */
export interface ServedCall<R extends Rpc = Rpc> {
  readonly contract: R;
  readonly request: z.output<R["request"]>;
  readonly context: CallContext<R>;
}

/** Forwards a call, and resolves with its reply. */
export type Next<C> = (call: C) => Promise<unknown>;

/**
 * Adds behaviour to calls: it may change a call before it forwards it, reply without forwarding it, forward it again, or
 * change its reply or its error. The first of a list is the outermost one, as in connect-es:
 * https://connectrpc.com/docs/web/interceptors/
 *
 * ```ts
 * const logging: Interceptor<ClientCall> = (next) => async (call) => {
 *   console.log(call.contract.name);
 *   return next(call);
 * };
 * ```
 */
export type Interceptor<C> = (next: Next<C>) => Next<C>;
export type ClientInterceptor = Interceptor<ClientCall>;
export type ServerInterceptor = Interceptor<ServedCall>;

/** Composes all interceptors and the last step into one function. */
export function chained<C>(interceptors: readonly Interceptor<C>[], last: Next<C>): Next<C> {
  return interceptors.reduceRight((next, interceptor) => interceptor(next), last);
}

/** Forwards a call; the contract's own schema has checked the reply. */
export type Send = <R extends Rpc>(call: ClientCall<R>) => Promise<z.output<R["reply"]>>;

/** An interceptor of the calls of one contract; all other calls pass unchanged. */
export function around<R extends Rpc>(
  contract: R,
  work: (call: ClientCall<R>, next: Send) => Promise<z.output<R["reply"]>>,
): ClientInterceptor {
  return (next) => (call) =>
    // The call is one of R's when its contract is; the end of every chain checks replies.
    call.contract === (contract as Rpc) ? work(call as ClientCall<R>, next as Send) : next(call);
}

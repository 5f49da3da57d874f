import type { CallOptions } from "./call-options.ts";
import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { chained, type ClientCall, type ClientInterceptor } from "./interceptor.ts";

export type Client<M extends Record<string, Rpc>> = {
  readonly [K in keyof M]: (
    request: z.input<M[K]["request"]>,
    options?: CallOptions<M[K]>,
  ) => Promise<z.output<M[K]["reply"]>>;
};

/**
 * Calls an rpc and returns its reply. Rejects with a ServiceError: a code that the contract
 * declares, or a standard one. A call while the bus reconnects fails at once and sends nothing, unless a service of this process answers it.
 */
export function call<R extends Rpc>(
  bus: Bus,
  contract: R,
  request: z.input<R["request"]>,
  options: CallOptions<R> = {},
): Promise<z.output<R["reply"]>> {
  if (bus.carrier !== undefined) return bus.carrier.call(contract, request, options);
  // The chain checks the reply with the contract's own schema; only its type is lost on the way.
  return connectionOf(bus).send({ contract, request, options }) as Promise<z.output<R["reply"]>>;
}

/**
 * One function per contract: `client(bus, { checkPolicy }).checkPolicy(request, options)`. The interceptors are around each of
 * its calls, the first one outermost.
 */
export function client<M extends Record<string, Rpc>>(
  bus: Bus,
  contracts: M,
  interceptors: readonly ClientInterceptor[] = [],
): Client<M> {
  const send = chained<ClientCall>(interceptors, ({ contract, request, options }) =>
    call(bus, contract, request, options),
  );
  const entries = Object.entries(contracts).map(([name, contract]) => [
    name,
    (request: unknown, options: CallOptions = {}) => send({ contract, request, options }),
  ]);
  // Object.fromEntries forgets which contract belongs to which name.
  return Object.fromEntries(entries) as Client<M>;
}

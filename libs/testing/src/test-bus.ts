import { after } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { connectBus, type BusOptions } from "@switchyard/bus/connect";

/** A bus for a test file or a test, as services open theirs; closed when it ends. */
export async function testBus(
  server: { readonly url: string },
  user: string,
  options: Partial<BusOptions> = {},
): Promise<Bus> {
  const bus = await connectBus({
    servers: server.url,
    user,
    delegation: DELEGATION,
    ...options,
  });
  after(() => bus.close());
  return bus;
}

/** A promise with its resolvers, to wait for a callback. */
export function signalled<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}

import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { HeldBytes } from "./bytes-in-work.ts";
import type { User } from "./user-cache.ts";

/** Facts about a request that the steps before its handler have determined. */
export interface GatewayEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** The address of the client, see `clientAddress`. */
    address: string;
    held: HeldBytes;
    user: User;
    /** The credential of the request, which is needed when a request outlives its token. */
    credential: string;
  };
}

/** Returns a header of the request, by its name in lower case. The framework's own method builds an object of all headers first. */
export function headerOf(c: Context<GatewayEnv>, name: string): string | undefined {
  const value = c.env.incoming.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

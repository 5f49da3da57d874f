import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { HeldBytes } from "./bytes-in-work.ts";
import type { User } from "./user-desk.ts";

/** What the steps before a handler found out about a request. */
export interface GatewayEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** Where the request comes from, see `clientAddress`. */
    address: string;
    held: HeldBytes;
    user: User;
    /** What was shown; needed where a request outlives its token. */
    credential: string;
  };
}

/** A header of the request, by its name in small letters. The framework's own way makes an object of all of them first. */
export function headerOf(c: Context<GatewayEnv>, name: string): string | undefined {
  const value = c.env.incoming.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

import type { HttpBindings } from "@hono/node-server";
import type { User } from "./user-desk.ts";

/** What the steps before a handler found out about a request. */
export interface GatewayEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    user: User;
    /** What was shown; needed where a request outlives its token. */
    credential: string;
  };
}

import type { ClientInterceptor } from "./interceptor.ts";
import { inSpan } from "./tracing.ts";

/** Makes each call of a NATS user a span in its caller's trace, and passes the span on as the call's parent. */
export function tracedCalls(user: string): ClientInterceptor {
  return (next) => (call) => {
    const { name } = call.contract;
    const attributes = { "rpc.system.name": "nats", "rpc.method": name };
    const parent = call.options.traceparent;
    return inSpan({ name, kind: "client", parent, user, attributes }, ({ traceparent }) =>
      next(
        traceparent === undefined ? call : { ...call, options: { ...call.options, traceparent } },
      ),
    );
  };
}

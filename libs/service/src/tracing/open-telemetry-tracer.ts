import {
  context,
  createContextKey,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer as OpenTelemetryTracer,
} from "@opentelemetry/api";
import { isTraceparent, unsampledTraceparent } from "@switchyard/bus/trace-context";
import type { SpanFacts, Tracer, WorkSpan } from "@switchyard/bus/tracing";

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const satisfies Record<SpanFacts["kind"], SpanKind>;

/** The NATS user of the service whose work is in progress. */
const USER = createContextKey("switchyard.user");

/** Makes OpenTelemetry spans of the work of the bus and the services. `tracers` are those of this process's services, by NATS user. */
export function openTelemetryTracer(tracers: ReadonlyMap<string, OpenTelemetryTracer>): Tracer {
  const [first] = tracers.values();
  if (first === undefined) throw new TypeError("there is no service to trace");
  return {
    inSpan({ name, kind, parent, user, attributes = {} }, work) {
      const own = user ?? context.active().getValue(USER);
      const cause = (parent === undefined ? within(kind) : remote(parent)).setValue(USER, own);
      const tracer = (typeof own === "string" ? tracers.get(own) : undefined) ?? first;
      const span = tracer.startSpan(
        name,
        { kind: KINDS[kind], attributes: { ...attributes } },
        cause,
      );
      return context.with(trace.setSpan(cause, span), () => toItsEnd(span, work));
    },
    active: () => traceparentOf(trace.getSpan(context.active())),
  };
}

async function toItsEnd<T>(span: Span, work: (span: WorkSpan) => Promise<T>): Promise<T> {
  const fail = (code: string): void => {
    // The message is left out: it may quote a tool or a model.
    span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", code);
  };
  try {
    return await work({
      traceparent: traceparentOf(span),
      set: (attributes) => void span.setAttributes({ ...attributes }),
      fail,
    });
  } catch (error) {
    fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** A request that no work caused is housekeeping, such as a lease that is renewed: it is not worth a trace. */
function within(kind: SpanFacts["kind"]): Context {
  const active = context.active();
  if (kind !== "client" || trace.getSpan(active) !== undefined) return active;
  return remote(unsampledTraceparent());
}

/** A parent that is not valid counts as none, as W3C Trace Context asks. */
function remote(traceparent: string): Context {
  if (!isTraceparent(traceparent)) return ROOT_CONTEXT;
  const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
  const traceFlags = Number.parseInt(flags, 16);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function traceparentOf(span: Span | undefined): string | undefined {
  const known = span?.spanContext();
  if (known === undefined || !isSpanContextValid(known)) return undefined;
  const flags = known.traceFlags.toString(16).padStart(2, "0");
  return `00-${known.traceId}-${known.spanId}-${flags}`;
}

/** The code that a ServiceError or a system error has, or the kind of error. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** As in OpenTelemetry: https://opentelemetry.io/docs/specs/otel/trace/api/#spankind */
export type SpanKind = "internal" | "server" | "client" | "consumer";

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | string[] | undefined>
>;

/** What is known of a piece of work before it begins. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  /** The `traceparent` of what caused it. Left out, it belongs to the work that it is begun in. */
  readonly parent?: string | undefined;
  /** The NATS user of the service that does it; by default the service in whose work it begins. */
  readonly user?: string;
  /** Never prompts, arguments or results: whoever reads traces may not read those. */
  readonly attributes?: SpanAttributes;
}

/** A piece of work that is told to whoever collects traces. */
export interface WorkSpan {
  /** What messages that it causes carry; undefined while nobody collects traces. */
  readonly traceparent: string | undefined;
  set(attributes: SpanAttributes): void;
  /** For work that ends as a failure without throwing. */
  fail(code: string): void;
}

/** Tells pieces of work to a collector. */
export interface Tracer {
  /** Begins `work` in this turn of the event loop. A rejection is told as a failure, and passed on. */
  inSpan<T>(facts: SpanFacts, work: (span: WorkSpan) => Promise<T>): Promise<T>;
  /** The `traceparent` of the work that is under way, if any. */
  active(): string | undefined;
}

const silent: WorkSpan = { traceparent: undefined, set() {}, fail() {} };

/** A process has one, like a log: a span's parent is found through all of its parts. */
let tracer: Tracer | null = null;

/** Sets who receives the spans of this process's work from now on; null for nobody, as at the start. */
export function useTracer(next: Tracer | null): void {
  tracer = next;
}

/** Does a piece of work, and tells it to the tracer if there is one. */
export function inSpan<T>(facts: SpanFacts, work: (span: WorkSpan) => Promise<T>): Promise<T> {
  return tracer === null ? work(silent) : tracer.inSpan(facts, work);
}

/** The `traceparent` of the work that is under way; undefined outside of any, and without a tracer. */
export function activeTraceparent(): string | undefined {
  return tracer?.active();
}

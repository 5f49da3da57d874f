/** The kinds of OpenTelemetry: https://opentelemetry.io/docs/specs/otel/trace/api/#spankind */
export type SpanKind = "internal" | "server" | "client" | "consumer";

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | string[] | undefined>
>;

/** The facts of a piece of work before it begins. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  /** The `traceparent` of its cause. Left out, the span is a child of the work that begins it. */
  readonly parent?: string | undefined;
  /** The NATS user of the service that does the work; by default the service in whose work it begins. */
  readonly user?: string;
  /** Attributes never hold prompts, arguments or results: readers of traces may not read those. */
  readonly attributes?: SpanAttributes;
}

/** A piece of work that is recorded by the trace collector. */
export interface WorkSpan {
  /** The `traceparent` for messages that it sends; undefined without a trace collector. */
  readonly traceparent: string | undefined;
  set(attributes: SpanAttributes): void;
  /** Marks work that fails without throwing. */
  fail(code: string): void;
}

/** Records pieces of work for a collector. */
export interface Tracer {
  /** Begins `work` in this turn of the event loop. A rejection is recorded as a failure, and passed on. */
  inSpan<T>(facts: SpanFacts, work: (span: WorkSpan) => Promise<T>): Promise<T>;
  /** The `traceparent` of the work in progress, if any. */
  active(): string | undefined;
}

const silent: WorkSpan = { traceparent: undefined, set() {}, fail() {} };

/** A process has one tracer, as it has one log: a span's parent is found through all parts of the process. */
let tracer: Tracer | null = null;

/** Sets the tracer that receives the spans of this process's work from now on; null for none, as at the start. */
export function useTracer(next: Tracer | null): void {
  tracer = next;
}

/** Does a piece of work, and records it with the tracer if there is one. */
export function inSpan<T>(facts: SpanFacts, work: (span: WorkSpan) => Promise<T>): Promise<T> {
  return tracer === null ? work(silent) : tracer.inSpan(facts, work);
}

/** The `traceparent` of the work in progress; undefined outside of any, and without a tracer. */
export function activeTraceparent(): string | undefined {
  return tracer?.active();
}

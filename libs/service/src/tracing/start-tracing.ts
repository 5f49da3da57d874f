import { within } from "@switchyard/contracts/timeouts";
import { context, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from "@opentelemetry/sdk-trace";
import { useTracer } from "@switchyard/bus/tracing";
import type { Log } from "../log.ts";
import { openTelemetryTracer } from "./open-telemetry-tracer.ts";

/** A service of this process. */
interface TracedService {
  /** `service.name`, such as `mcp-broker`. */
  readonly name: string;
  /** Its NATS user, such as `broker`. */
  readonly user: string;
  readonly version: string;
}

interface TracingOptions {
  readonly services: readonly TracedService[];
  readonly instance: string;
  /** Share of the traces that begin here, from 0 to 1. One that began elsewhere keeps its decision. */
  readonly sampled: number;
  /** The interval at which spans are sent, in milliseconds. */
  readonly everyMs: number;
  readonly log: Log;
}

interface Tracing {
  /** Sends the remaining spans, for at most `limitMs`. */
  stop(limitMs: number): Promise<void>;
}

/**
 * Sends the spans of this process's services to an OpenTelemetry collector by OTLP over HTTP (JSON), each under the name of its service. The
 * exporter reads the address of the collector and the headers from the environment:
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function startTracing(options: TracingOptions): Tracing {
  const { services, instance, sampled, everyMs, log } = options;
  const exporter = reportingExporter(new OTLPTraceExporter(), log);
  const spans = new BatchSpanProcessor({ exporter, scheduledDelayMillis: everyMs });
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampled) });
  const tracers = new Map<string, Tracer>();
  for (const { name, user, version } of services) {
    const resource = resourceFromAttributes({
      "service.name": name,
      "service.namespace": "switchyard",
      "service.version": version,
      "service.instance.id": instance,
    });
    const provider = new TracerProvider({ resource, sampler, spanProcessors: [spans] });
    tracers.set(user, provider.getTracer("switchyard", version));
  }
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  useTracer(openTelemetryTracer(tracers));
  return {
    async stop(limitMs) {
      useTracer(null);
      context.disable();
      // A collector that does not answer holds no process back.
      await within(spans.shutdown(), { ms: limitMs });
    },
  };
}

/** `ExportResultCode.SUCCESS` of the package behind the exporter. */
const SUCCESS = 0;

/** Logs when traces begin to be lost and when they arrive again, not every batch. */
function reportingExporter(exporter: SpanExporter, log: Log): SpanExporter {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const isSent = result.code.valueOf() === SUCCESS;
        if (!isSent && lost === 0)
          log.warn({ reason: result.error?.message }, "traces are being lost");
        if (isSent && lost > 0) log.info({ lost }, "traces arrive again");
        lost = isSent ? 0 : lost + spans.length;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { useTracer } from "@switchyard/bus/tracing";
import type { Log } from "../log.ts";
import { openTelemetryTracer } from "./open-telemetry-tracer.ts";
import { reportingExporter } from "./reporting-exporter.ts";

export interface TracingOptions {
  /** `service.name`, such as `mcp-broker`. */
  readonly service: string;
  readonly version: string;
  readonly instance: string;
  /** Share of the traces that begin here, from 0 to 1. One that began elsewhere keeps its decision. */
  readonly sampled: number;
  /** How often spans are sent, in milliseconds. */
  readonly everyMs: number;
  readonly log: Log;
}

export interface Tracing {
  /** Sends what is left, for at most `limitMs`. */
  stop(limitMs: number): Promise<void>;
}

/**
 * Tells this process's work to an OpenTelemetry collector by OTLP over HTTP (JSON). Where it is, and
 * with which headers it is asked, the exporter reads from the environment:
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/
 */
export function startTracing({ log, ...about }: TracingOptions): Tracing {
  const exporter = reportingExporter(new OTLPTraceExporter(), log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": about.service,
      "service.namespace": "switchyard",
      "service.version": about.version,
      "service.instance.id": about.instance,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(about.sampled) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: about.everyMs })],
  });
  const contexts = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contexts);
  useTracer(openTelemetryTracer(provider.getTracer("switchyard", about.version)));
  return {
    async stop(limitMs) {
      useTracer(null);
      context.disable();
      await Promise.race([provider.shutdown(), expiry(limitMs)]);
    },
  };
}

/** A collector that does not answer holds no process back. */
function expiry(limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, limitMs).unref();
  });
}

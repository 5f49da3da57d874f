import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "../log.ts";

/** `ExportResultCode.SUCCESS` of the package behind the exporter. */
const SUCCESS = 0;

/** Logs when traces begin to be lost and when they arrive again, not every batch. */
export function reportingExporter(exporter: SpanExporter, log: Log): SpanExporter {
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

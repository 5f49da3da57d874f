import { activeTraceparent } from "@switchyard/bus/tracing";
import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/**
 * The metrics of one service, with those that every service has. Labels must come from a fixed
 * small set: never a run, an agent, a path or an error text.
 */
export interface Metrics {
  readonly registry: Registry;
  setReady(ready: boolean): void;
  /** Reports how full Redis is, as its used share, whenever the metrics are read. */
  setRedisFill(read: () => number): void;
}

/**
 * A separate registry, so that two services of one process do not share counters. With `ofProcess` it has the metrics of
 * Node.js, too; one registry of a process has them.
 */
export function createMetrics(
  build: { service: string; version: string },
  { ofProcess }: { readonly ofProcess: boolean } = { ofProcess: true },
): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service: build.service });
  if (ofProcess) collectDefaultMetrics({ register: registry });
  const buildInfo = new Gauge({
    name: "yard_build_info",
    help: "Always 1; the labels name the versions.",
    labelNames: ["version", "node"],
    registers: [registry],
  });
  buildInfo.set({ version: build.version, node: process.versions.node }, 1);
  const ready = new Gauge({
    name: "yard_ready",
    help: "1 while the process takes work, 0 while it starts, stops or misses a dependency.",
    registers: [registry],
  });
  return {
    registry,
    setReady: (isReady) => ready.set(isReady ? 1 : 0),
    setRedisFill(read) {
      const fill: Gauge = new Gauge({
        name: "yard_redis_fill_ratio",
        help: "Share of Redis' maxmemory that is used, of the fullest primary; 0 where there is no limit.",
        registers: [registry],
        collect: () => fill.set(read()),
      });
    },
  };
}

/** The durations of work. */
export interface Durations<L extends string = never> {
  /** `seconds` of work that ends now. While traces are collected, its trace is the example of the bucket that it falls into. */
  observe(labels: Readonly<Record<L, string>>, seconds: number): void;
}

/** A histogram of seconds whose buckets have examples (exemplars of OpenMetrics), with `trace_id` and `span_id`. */
export function durations<L extends string = never>(
  registry: Registry,
  config: { name: string; help: string; labelNames?: readonly L[]; buckets: readonly number[] },
): Durations<L> {
  const { name, help, labelNames = [], buckets } = config;
  // Registered below, since the library takes histograms with examples for registries of OpenMetrics alone, and this one writes both
  // formats.
  const histogram = new Histogram<string>({
    name,
    help,
    labelNames: [...labelNames],
    buckets: [...buckets],
    enableExemplars: true,
    registers: [],
  });
  registry.registerMetric(histogram);
  return {
    observe: (labels, seconds) =>
      histogram.observe({ labels, value: seconds, exemplarLabels: exampleLabels() }),
  };
}

/** The ids of a trace that is recorded; none otherwise. */
function exampleLabels(): Record<string, string> {
  const [, traceId = "", spanId = "", flags = ""] = activeTraceparent()?.split("-") ?? [];
  return (Number.parseInt(flags, 16) & 1) === 1 ? { trace_id: traceId, span_id: spanId } : {};
}

/**
 * The metrics of all registries as one text: OpenMetrics, with examples, for clients that accept it, else the older format of Prometheus,
 * without them.
 */
export async function metricsText(
  registries: readonly Registry[],
  accept: string,
): Promise<{ readonly contentType: string; readonly text: string }> {
  // The library changes the names of counters when it writes OpenMetrics, so the other format is always made of that.
  const openMetrics = Registry.OPENMETRICS_CONTENT_TYPE;
  const texts = registries.map((registry) => {
    // The type of a registry names the format that it was made for.
    (registry as unknown as Registry<typeof openMetrics>).setContentType(openMetrics);
    return registry.metrics();
  });
  const text = joinedFamilies(await Promise.all(texts));
  return accept.includes("application/openmetrics-text")
    ? { contentType: openMetrics, text }
    : { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: withoutOpenMetrics(text) };
}

const END = "# EOF\n";
/** The comments of a metric, its name in the first of them, and its samples. */
const FAMILY = /^(# HELP (\S+).*\n(?:# (?!HELP ).*\n)*)((?:(?!# ).*\n)*)/gm;

/**
 * Several texts of OpenMetrics as one, in which the samples of a metric follow each other, as the format requires.
 * https://prometheus.io/docs/specs/om/open_metrics_spec/#metricfamily
 */
function joinedFamilies(texts: readonly string[]): string {
  const families = new Map<string, string>();
  for (const text of texts)
    for (const [, head = "", name = "", samples = ""] of text.replace(END, "").matchAll(FAMILY))
      families.set(name, (families.get(name) ?? head) + samples);
  return `${[...families.values()].join("")}${END}`;
}

/** Names of counters have `_total` in their comments, too, and there are no examples and no mark of the end. */
function withoutOpenMetrics(text: string): string {
  const counters = new Set(
    Array.from(text.matchAll(/^# TYPE (\S+) counter$/gm), ([, name]) => name),
  );
  return text
    .replaceAll(/^(# (?:HELP|TYPE) )(\S+)/gm, (line, words: string, name: string) =>
      counters.has(name) ? `${words}${name}_total` : line,
    )
    .replaceAll(/^([^#\n].*?) # \{[^}]*\} \S+ \S+$/gm, "$1")
    .replace(/# EOF\n$/, "");
}

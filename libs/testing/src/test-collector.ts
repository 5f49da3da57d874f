import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

/** One span as OTLP/JSON has it, with its service's name. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2 is an error. */
  readonly status: number;
}

export interface TestCollector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** All that was received, as text. */
  readonly text: () => string;
  /** Resolves when the spans so far are as awaited; rejects after 30 s with what there was. */
  until(isThere: (spans: readonly CollectedSpan[]) => boolean): Promise<void>;
  /** Refuses for good what comes from now on, or takes it again. */
  refuse(isRefusing: boolean): void;
  /** Returns the number of requests that it has refused. */
  refused(): number;
  stop(): Promise<void>;
}

const TIMEOUT_MS = 30_000;

/** A collector that speaks OTLP over HTTP with JSON bodies: https://opentelemetry.io/docs/specs/otlp/#otlphttp */
export async function startTestCollector(): Promise<TestCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const waiters = new Set<() => void>();
  let isRefusing = false;
  let refusals = 0;
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await textOf(request);
    if (isRefusing) {
      refusals += 1;
      response.writeHead(400).end("{}");
    } else {
      bodies.push(text);
      spans.push(...spansOf(JSON.parse(text) as OtlpRequest)); // the exporter's own format
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }
    for (const check of waiters) check();
  };
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server has an address with a port
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    text: () => bodies.join("\n"),
    refuse(value) {
      isRefusing = value;
    },
    refused: () => refusals,
    until: (isThere) =>
      new Promise((resolve, reject) => {
        const settle = (): void => {
          if (!isThere(spans)) return;
          clearTimeout(timer);
          waiters.delete(settle);
          resolve();
        };
        const timer = setTimeout(() => {
          waiters.delete(settle);
          reject(new Error(`only these spans came: ${spans.map(({ name }) => name).join(", ")}`));
        }, TIMEOUT_MS);
        waiters.add(settle);
        settle();
      }),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: number };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function spansOf({ resourceSpans }: OtlpRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)["service.name"]);
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentSpanId, attributes, status }) => {
        const known = {
          service,
          name,
          kind,
          traceId,
          spanId,
          parentSpanId: parentSpanId || undefined,
        };
        return { ...known, attributes: attributesOf(attributes), status: status.code ?? 0 };
      }),
    );
  });
}

/** An OTLP value has one field, named after its type. */
function attributesOf(list: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "@switchyard/bus/serve";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import fc from "fast-check";
import { startGatewayWorld } from "../../test/gateway-world.ts";
import { openApi } from "../openapi/openapi.ts";

/** The number of requests that are drawn from openapi.json; for a longer run by hand: `YARD_FUZZ_REQUESTS=20000`. */
const REQUESTS = Number(process.env["YARD_FUZZ_REQUESTS"] ?? 2_000);
const AT_ONCE = 20;

const world = await startGatewayWorld();
const { url } = await world.startGateway({ YARD_HTTP_REQUESTS_PER_MINUTE: "1000000" });
const runner = await world.connectAs("runner");
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
serve(runner, { name: "runner", version: "0.1.0", description: "", onFault }).handle(
  getRun,
  ({ runId }, { fail }) => {
    throw fail.unknown_run(`there is no run ${runId}`, { runId });
  },
);
await runner.flush();

const paths = openApi()["paths"] as Record<string, Record<string, { responses: object }>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    path,
    method: method.toUpperCase(),
    statuses: Object.keys(responses),
  })),
);
/** `fetch` removes these segments, so that the request would have another path. */
const DOTS = new Set([".", ".."]);
/** A draw from all operations would open a stream only once in a hundred times. */
const streams = operations.filter(({ path }) => path.endsWith("/events"));

const text = fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom("run", "policy", "*"));
const drawn = fc.record({
  operation: fc.oneof(
    { weight: 7, arbitrary: fc.constantFrom(...operations) },
    { weight: 3, arbitrary: fc.constantFrom(...streams) },
  ),
  segment: fc.oneof(
    fc.string({ minLength: 1, maxLength: 30 }),
    fc.constantFrom("a~b", "r1", "..", "%", "files"),
  ),
  body: fc.oneof(
    fc.json(),
    fc.string({ minLength: 1 }),
    fc.object().map((value) => JSON.stringify(value)),
  ),
  query: fc.dictionary(
    fc.constantFrom("limit", "cursor", "name", "id", "noun", "after", "since", "x"),
    text,
    { maxKeys: 3 },
  ),
  lastEventId: fc.option(text.map((value) => value.replaceAll(/[^\x20-\x7e]/g, "?"))),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

test(`whatever is sent to any operation of openapi.json, streams of events included, no answer is a fault, is undeclared or fails to come (${REQUESTS} requests)`, async () => {
  const { key } = await world.keyOf("cli", ["admin"]);
  const statuses = new Map<string, number>();
  const ask = async ({ operation, segment, body, query, lastEventId }: Drawn): Promise<void> => {
    const { path, method } = operation;
    const target = `${path.replaceAll(/\{\w+\}/g, encodeURIComponent(segment))}?${new URLSearchParams(query).toString()}`;
    const hasBody = method === "POST" || method === "PATCH";
    const leaving = new AbortController();
    const response = await fetch(`${url}/api/v1${target}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(hasBody && { "content-type": "application/json" }),
        ...(lastEventId !== null && { "last-event-id": lastEventId }),
      },
      ...(hasBody && { body }),
      signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(60_000)]),
    });
    const { status } = response;
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    if (path.endsWith("/events"))
      statuses.set(`${path} ${status}`, (statuses.get(`${path} ${status}`) ?? 0) + 1);
    const what = `${method} ${target} ${body}: ${status}`;
    assert.notEqual(status, 500, what);
    assert.ok(DOTS.has(segment) || operation.statuses.includes(String(status)), what);
    if (isStream) {
      leaving.abort();
      return;
    }
    const answer = await response.text();
    if (status >= 400)
      assert.equal(typeof (JSON.parse(answer) as Record<string, unknown>)["requestId"], "string");
    else if (type === "application/x-ndjson")
      for (const line of answer.split("\n")) assert.ok(line === "" || JSON.parse(line), what);
    else assert.ok(answer === "" || JSON.parse(answer) !== undefined, what);
  };
  const batch = fc.array(drawn, { minLength: AT_ONCE, maxLength: AT_ONCE });
  await fc.assert(
    fc.asyncProperty(batch, async (requests) => {
      await Promise.all(requests.map(ask));
    }),
    { numRuns: Math.ceil(REQUESTS / AT_ONCE) },
  );
  for (const { path } of streams)
    for (const status of [200, 400])
      assert.ok(statuses.has(`${path} ${status}`), `${path} never answered ${status}`);
  // Readers that disconnected have released their streams.
  await until(async () => {
    const system = await fetch(`${url}/api/v1/system`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return ((await system.json()) as { readers: number }).readers === 0;
  });
});

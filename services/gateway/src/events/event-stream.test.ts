import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "@switchyard/local-servers/until";
import { test, type TestContext } from "node:test";
import { createGunzip } from "node:zlib";
import { openEventStream, type EventStream } from "./event-stream.ts";

/** A packed stream, and the answer that its reader gets. */
async function opened(t: TestContext): Promise<{ stream: EventStream; answer: IncomingMessage }> {
  const begun = Promise.withResolvers<EventStream>();
  const server = createServer((_, outgoing) =>
    begun.resolve(openEventStream(outgoing, { isPacked: true })),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const request = get({ port: (server.address() as AddressInfo).port });
  request.on("error", () => {});
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return { stream: await begun.promise, answer };
}

const event = { event: "finished", data: { runId: "ann~run", text: "the same words".repeat(8) } };

test("each event of a packed stream arrives at once, and the stream ends whole", async (t) => {
  const { stream, answer } = await opened(t);
  assert.equal(answer.headers["content-encoding"], "gzip");
  let [packed, text] = [0, ""];
  answer.on("data", (bytes: Buffer) => (packed += bytes.length));
  const reader = answer.pipe(createGunzip()).setEncoding("utf8");
  for (let id = 1; id <= 50; id += 1) {
    stream.send({ ...event, id });
    while (!text.includes(`id: ${id}\n`) || !text.endsWith("\n\n")) {
      const [part] = (await once(reader, "data")) as [string];
      text += part;
    }
  }
  assert.ok(packed * 5 < text.length, `${packed} bytes for ${text.length}`);
  stream.end();
  await once(reader, "end");
  assert.equal(text.match(/^data: /gm)?.length, 50);
});

test("a reader of a packed stream that accepts nothing is cut, and one that reads again has room", async (t) => {
  const { stream, answer } = await opened(t);
  const noise = (): string => Array.from({ length: 4_000 }, () => Math.random()).join("");
  while (stream.hasRoom()) stream.send({ data: noise() });
  answer.resume();
  await stream.room();
  assert.ok(stream.hasRoom());
  answer.pause();
  await until(() => !stream.send({ data: noise() }));
  assert.ok(stream.isClosed);
});

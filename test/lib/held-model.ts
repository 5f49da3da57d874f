import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

const PIECE_MS = 200;

/**
 * A model of Chat Completions that writes on every answer, piece by piece, until the test releases them. A runner that is killed in the meantime is
 * in the middle of an answer, however slow the machine is.
 */
export async function startHeldModel() {
  const released = new AbortController();
  const release = (): void => released.abort();
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    requests += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (choice: object): void => {
      const choices = [{ index: 0, ...choice }];
      const chunk = {
        id: "1",
        object: "chat.completion.chunk",
        created: 1,
        model: "held",
        choices,
      };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    };
    void (async () => {
      do {
        write({ delta: { content: "and on " } });
        await delay(PIECE_MS);
      } while (!released.signal.aborted && !response.destroyed);
      write({ delta: {}, finish_reason: "stop" });
      response.end("data: [DONE]\n\n");
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    release();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // of TCP
  return { baseURL: `http://127.0.0.1:${port}/v1`, release, requests: () => requests };
}

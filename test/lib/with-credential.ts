import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after } from "node:test";

/**
 * A proxy on loopback that adds a credential to each request, for programs that cannot send one. Everything else passes unchanged,
 * except a body that `change` edits.
 */
export async function withCredential(
  target: string,
  key: string,
  change?: (body: string) => string,
): Promise<string> {
  const { hostname, port } = new URL(target);
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request(
      { hostname, port, method, path, headers: { ...headers, authorization: `Bearer ${key}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    if (change === undefined || method !== "POST") incoming.pipe(passed);
    else
      void buffer(incoming)
        .then((body) => Buffer.from(change(body.toString("utf8"))))
        .then((changed) => passed.setHeader("content-length", changed.length).end(changed))
        .catch(() => passed.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const { port: own } = proxy.address() as AddressInfo; // it listens on TCP
  return `http://127.0.0.1:${own}`;
}
